"""The record in DuckDB files: written, swept, kept within their limits, and read."""
