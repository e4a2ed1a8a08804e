"""Opening a DuckDB file so that the session itself holds the policy. In the child process only.

With `lock_configuration` nothing that a caller says can loosen what is set here.
"""

import os

import duckdb

from callgate.sql.engines.duckdb.driver.check_file import MEMORY_PATH

# What all queries of a source share for sorting, joining and grouping; the limit of the process
# (`driver.DATA_BYTES`) leaves room for values, for Python and for DuckDB itself above it.
MEMORY_LIMIT = "768MiB"
# The gateway is a guest on its machine: one query must not take all cores of it.
THREADS = 2

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    # No spilling: a query that does not fit the memory says so instead of filling the disk.
    "temp_directory": "",
    "memory_limit": MEMORY_LIMIT,
    "threads": THREADS,
    # SELECT * FROM name must never find a Python variable of that name.
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
}


def open_database(path: str, *, read_only: bool, folder: str = "") -> duckdb.DuckDBPyConnection:
    """`folder`: whose files may be attached; no other."""
    # DuckDB has no read-only database in memory: it would be empty for ever.
    database = duckdb.connect(path, read_only=read_only and path != MEMORY_PATH, config=dict(_SETTINGS))
    if folder:  # in this order: DuckDB takes it from an open database only, and before access is switched off
        spelled = folder.replace("'", "''")
        database.execute(f"SET allowed_directories = ['{spelled}/']")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def identity_of(path: str) -> tuple[int, int] | None:
    """Device and inode: a path may lead to another file tomorrow. None when there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - ":memory:" is no path
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
