"""What one session may use: memory, sizes, steps. Every number carries the measurement it comes from.

Three dangers, three answers. Memory and disk: a heap limit, and no temporary files. One long call into a
built-in function, which no interrupt ends: short values. Many such calls in a row: a cap on the program's
length, and `starve`. What no limit can reach, the guard refuses (`guard.calls`).
"""

import sqlite3

from callgate.sql.guard.policy import MAX_QUERY_CHARS

# For the whole process, not for one connection: SQLite keeps one account for all that it allocates, and the
# pragma can only lower it. DuckDB allocates on its own account and does not notice. Measured on a million
# rows: eight at once may sort 50,000 rows each or count 200,000 distinct values; of eight that group all rows
# without an index (60 MiB each) three are told to try again.
HEAP_BYTES = 256 * 1024 * 1024

# Time inside one call grows with the square of this. At 256 KiB the slowest call that the guard lets through
# takes 0.3 s (replace; LIKE and GLOB nearly as much), at 1 MiB 5 s, at 4 MiB more than a minute.
VALUE_BYTES = 256 * 1024
# A row is built in Python, where the heap limit does not count: 200 values of 256 KiB are 50 MiB.
COLUMNS = 200

_SIZES = {
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_COLUMN: COLUMNS,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 4 * MAX_QUERY_CHARS,  # bytes, and UTF-8 takes up to 4 a character
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 100,
    # LIKE and GLOB take value times pattern: 0.3 s at worst for 500 bytes.
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,  # the tool binds nothing, but FTS5 does inside
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    # `c1 AS (SELECT v + v AS v FROM c0), c2 AS …` doubles at each step and runs without a look at the
    # interrupt. The longest honest text (4,900 values after IN) needs 15,000; SQLite counts in doublings.
    sqlite3.SQLITE_LIMIT_VDBE_OP: 25_000,
}
# Those that SQLite also applies to CREATE statements when it reads the schema again.
_OF_SCHEMA = (sqlite3.SQLITE_LIMIT_COLUMN, sqlite3.SQLITE_LIMIT_SQL_LENGTH, sqlite3.SQLITE_LIMIT_EXPR_DEPTH)
_UNLIMITED = 2**31 - 1  # SQLite takes its own compiled-in maximum


def limit_memory(connection: sqlite3.Connection) -> None:
    """Before the authorizer is set: these are PRAGMAs, and no caller may say them."""
    connection.execute(f"PRAGMA hard_heap_limit = {HEAP_BYTES}")
    # A sort spills into files otherwise, gigabytes of them. In memory, the heap limit holds it.
    connection.execute("PRAGMA temp_store = MEMORY")


def limit_sizes(connection: sqlite3.Connection) -> None:
    for category, limit in _SIZES.items():
        connection.setlimit(category, limit)


def read_schema(connection: sqlite3.Connection, table_list: str) -> None:
    """Read the schema if it is new or has changed, without the limits that are meant for callers.

    Under them, one table of 300 columns would make the whole file "malformed" as soon as somebody else
    changes the schema. With nothing changed this costs a few microseconds.
    """
    for category in _OF_SCHEMA:
        connection.setlimit(category, _UNLIMITED)
    try:
        connection.execute(f"SELECT 1 FROM {table_list} LIMIT 1").fetchone()  # noqa: S608 - quoted by us
    finally:
        for category in _OF_SCHEMA:
            connection.setlimit(category, _SIZES[category])


def starve(connection: sqlite3.Connection) -> None:
    """From any thread: let the running statement fail at the next value it makes or reads.

    SQLite looks at its interrupt flag where a loop turns, not between the calls of
    `length(replace(x, y, '')) + length(replace(x, y, '')) + …`; limits are looked at in every call.
    The connection is of no use afterwards.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 0)
