"""DuckDB's SQL as a `Dialect`: pure knowledge, without a connection, a thread or a driver."""
