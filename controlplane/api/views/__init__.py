"""What the API shows, where a record alone does not say it: records put together, and what is sent in."""
