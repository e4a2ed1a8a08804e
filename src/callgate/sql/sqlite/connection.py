"""Opening a SQLite file so that the session itself holds the policy: read-only file, authorizer, limits.

Order matters: everything that needs rights (ATTACH, PRAGMA) happens before the authorizer is set; after it,
nothing can loosen the session again. Counterpart: `authorizer` decides, `driver` runs statements.
"""

import sqlite3
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from callgate.model import error_codes as codes
from callgate.model.errors import SourceError
from callgate.sql.policy import MAX_QUERY_CHARS, Policy, quote_name
from callgate.sql.sqlite.authorizer import make_authorizer

# Another process may hold the write lock for a moment; longer, and the caller had better be told.
_BUSY_TIMEOUT_S = 2.0
_HEADER = b"SQLite format 3\0"

_LIMITS = {
    # No string or blob beyond 4 MiB, read or built: functions such as instr() and replace() cannot be
    # interrupted, and their time grows with the square of this.
    sqlite3.SQLITE_LIMIT_LENGTH: 4 * 1024 * 1024,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 4 * MAX_QUERY_CHARS,  # bytes, and UTF-8 takes up to 4 a character
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 100,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,  # the tool binds nothing, but FTS5 does inside
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class FileConnection(sqlite3.Connection):
    """Knows which file it holds: a path may lead to another one tomorrow (the demo is replaced by rename)."""

    identity: tuple[int, int] | None = None


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode; None when there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def check_file(path: Path) -> None:
    """Raises `SourceError` with the operator's next step when there is no such database file."""
    try:
        if path.is_dir():
            raise _unavailable(f"{path} is a folder, not a database file.", "Name the file itself.")
        with path.open("rb") as file:
            header = file.read(len(_HEADER))
    except FileNotFoundError:
        raise _unavailable(
            f"the file {path} does not exist.", "Check the path in the source's DSN."
        ) from None
    except OSError as error:
        raise _unavailable(
            f"the file {path} cannot be read ({error.strerror}).", "Check its permissions."
        ) from None
    # An empty file is an empty database to SQLite, and to us.
    if header not in (b"", _HEADER):
        raise _unavailable(f"the file {path} is not a SQLite database.", "It may be corrupt or encrypted.")


def open_connection(path: Path, policy: Policy) -> FileConnection:
    check_file(path)
    identity = identity_of(path)
    uri = f"file:{quote(str(path.absolute()))}?mode={'rw' if policy.may_write else 'ro'}"
    connection: FileConnection | None = None
    try:
        connection = sqlite3.connect(
            "file::memory:" if policy.schema else uri,
            uri=True,
            factory=FileConnection,
            isolation_level=None,  # transactions are the caller's own statements
            timeout=_BUSY_TIMEOUT_S,
            # Opened, used and closed by one worker; only interrupt() comes from outside.
            check_same_thread=True,
        )
        _confine(connection, uri, policy)
        connection.identity = identity
    except sqlite3.Error as error:
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
        raise _unavailable(
            f"the file {path} cannot be opened ({error}).", "It may be corrupt or locked."
        ) from error
    return connection


def _confine(connection: sqlite3.Connection, uri: str, policy: Policy) -> None:
    # Text that is not UTF-8 must not fail the row: cells decode it (results.cells). Blobs come as bytes.
    connection.text_factory = bytearray
    if policy.schema:
        connection.execute(f"ATTACH DATABASE ? AS {quote_name(policy.schema)}", (uri,))
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    if not policy.may_write:
        connection.execute("PRAGMA query_only = ON")
    # Reads the schema: a corrupt file says so here and not in the middle of a caller's statement.
    connection.execute(f"SELECT count(*) FROM {policy.catalogue}").fetchone()  # noqa: S608 - quoted by us
    for category, limit in _LIMITS.items():
        connection.setlimit(category, limit)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1 if policy.schema else 0)
    connection.set_authorizer(make_authorizer(policy))


def _unavailable(message: str, hint: str) -> SourceError:
    return SourceError(codes.SOURCE_UNAVAILABLE, message, hint=hint)
