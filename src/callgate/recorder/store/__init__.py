"""The DuckDB files of the record: fed from the journals, swept, and kept within their limits."""
