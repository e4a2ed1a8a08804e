"""The configuration with its secrets, and what our commands change in it and in clients' files."""
