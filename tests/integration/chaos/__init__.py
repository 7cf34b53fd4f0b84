"""Faults and drills on real processes; one whole lab serves the folder, and ends with it."""
