"""Closed days of the record as Parquet files in an object store: `archive` says in which order.

archive          a day is there once its manifest is
manifest         what it says
parquet_day      a day's DuckDB files as Parquet
object_folder    the object store, or a folder; the only module that knows the library
archive_keeper   a gateway's own thread: archives, and says what may be deleted
"""
