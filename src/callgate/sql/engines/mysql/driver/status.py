"""A session's status, as the server says it in the packet behind each result. Pure."""

from callgate.sql.engines.mysql.driver.packets import read_lenenc

_IN_TRANSACTION = 0x1
_AUTOCOMMIT = 0x2
_MORE_RESULTS = 0x8
_NO_BACKSLASH_ESCAPES = 0x200
IN_READ_ONLY = 0x2000  # in a read-only transaction
_STATE_CHANGED = 0x4000  # by this statement: a variable of the session, the default database, …
_ANSI_QUOTES = 0x8000  # MariaDB's
_STATUS_BYTES = 4  # with the number of warnings
_OF_TRANSACTIONS = (4, 5)  # kinds of changes: characteristics, state
_TELLING = (
    _IN_TRANSACTION
    | _AUTOCOMMIT
    | _MORE_RESULTS
    | _NO_BACKSLASH_ESCAPES
    | IN_READ_ONLY
    | _STATE_CHANGED
    | _ANSI_QUOTES
)


def read_status(data: bytes, *, is_eof: bool) -> int:
    """Of an OK packet, or of the EOF packet that older servers end rows with."""
    if data[0] == 0xFE and is_eof:
        return int.from_bytes(data[3:5], "little")
    _, at = read_lenenc(data, 1)
    _, at = read_lenenc(data, at)
    return int.from_bytes(data[at : at + 2], "little")


def has_changed_session(data: bytes, *, is_eof: bool) -> bool:
    """Whether the statement changed a variable, the database or the like. A transaction is no such change.

    `data`: the packet behind the result.
    """
    if is_eof or not read_status(data, is_eof=is_eof) & _STATE_CHANGED:
        return False
    _, at = read_lenenc(data, 1)
    _, at = read_lenenc(data, at)
    size, at = read_lenenc(data, at + _STATUS_BYTES)  # a text for people
    size, at = read_lenenc(data, at + size)
    end = at + size
    while at < end:
        kind = data[at]
        size, at = read_lenenc(data, at + 1)
        at += size
        if kind not in _OF_TRANSACTIONS:
            return True
    return False


def is_as_pinned(status: int) -> bool:
    """No transaction is open, autocommit is on, texts are read as before, and nothing was changed."""
    return status & _TELLING == _AUTOCOMMIT
