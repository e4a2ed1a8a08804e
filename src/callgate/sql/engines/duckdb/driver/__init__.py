"""DuckDB's `Driver`: how we talk to it."""
