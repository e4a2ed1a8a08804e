"""The record by days: copied from one store to another, and read for an archive.

record_days                    what a store must be able to do for it, and rows as a copy has them
duckdb_days, duckdb_rows       DuckDB files
postgres_days                  PostgreSQL
copy_days                      from one to the other, and the comparison of both
"""
