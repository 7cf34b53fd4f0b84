"""The lab as its users see it; one whole lab serves the folder, and ends with it."""
