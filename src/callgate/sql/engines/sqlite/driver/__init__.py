"""SQLite's `Driver`: how we talk to it."""
