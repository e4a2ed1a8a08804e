"""Opening a SQLite file so that the session itself holds the policy: read-only file, authorizer, limits.

Order matters: everything that needs rights (ATTACH, PRAGMA) happens before the authorizer is set; after it,
nothing can loosen the session again. Counterpart: `authorizer` decides, `driver` runs statements.
"""

import sqlite3
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from callgate.sql.drivers.workers.database_file import read_header, unavailable
from callgate.sql.engines.sqlite.driver.authorizer import make_authorizer
from callgate.sql.engines.sqlite.session_limits import limit_memory, limit_sizes, read_schema, starve
from callgate.sql.guard.policy import Policy, quote_name

# Another process may hold the write lock for a moment; longer, and the caller had better be told.
_BUSY_TIMEOUT_S = 2.0
_HEADER = b"SQLite format 3\0"


class FileConnection(sqlite3.Connection):
    """Knows which file it holds: a path may lead to another one tomorrow (the demo is replaced by rename)."""

    identity: tuple[int, int] | None = None
    is_spent = False  # interrupted once: not to be used for another statement

    def interrupt(self) -> None:
        """The one method that other threads may call. What cannot be interrupted is starved."""
        self.is_spent = True
        super().interrupt()
        starve(self)


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode; None when there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def check_file(path: Path) -> None:
    """Raises `SourceError` with the operator's next step when there is no such database file."""
    header = read_header(path, len(_HEADER))
    # An empty file is an empty database to SQLite, and to us.
    if header not in (b"", _HEADER):
        raise unavailable(f"the file {path} is not a SQLite database.", "It may be corrupt or encrypted.")


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
            # Opened, used and closed by one worker. Only `interrupt` comes from outside, and what it does
            # there (a flag, two numbers) SQLite allows from any thread.
            check_same_thread=False,
        )
        _confine(connection, uri, policy)
        connection.identity = identity
    except sqlite3.Error as error:
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
        raise unavailable(
            f"the file {path} cannot be opened ({error}).", "It may be corrupt or locked."
        ) from error
    except MemoryError:
        if connection is not None:
            connection.close()
        raise
    return connection


def _confine(connection: sqlite3.Connection, uri: str, policy: Policy) -> None:
    # Text that is not UTF-8 must not fail the row: cells decode it (results.cells). Blobs come as bytes.
    connection.text_factory = bytearray
    if policy.schema:
        connection.execute(f"ATTACH DATABASE ? AS {quote_name(policy.schema)}", (uri,))
    limit_memory(connection)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    if not policy.may_write:
        connection.execute("PRAGMA query_only = ON")
    limit_sizes(connection)
    # A corrupt file says so here and not in the middle of a caller's statement.
    read_schema(connection, policy.table_list)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1 if policy.schema else 0)
    connection.set_authorizer(make_authorizer(policy))
