"""SQL over `sessions`: pages of them. Pure: text and parameters.

Ordered by when they began, which does not change: a page that follows another neither repeats nor skips one,
whoever calls meanwhile.
"""

from callgate.ports.record_reader import SESSION_CURSOR, Row, SessionFilter
from callgate.recorder.read.events import Where, cursor_of, read_cursor

ONE_SESSION = "SELECT * FROM sessions WHERE session_id = $1"
IDS = """
SELECT session_id FROM sessions WHERE starts_with(session_id, $1) OR suffix(session_id, $1)
ORDER BY created_at DESC, session_id DESC LIMIT $2
"""
_TEXTS = ("session_id", "client_name", "client_version", "workspace", "principal")


def count(which: SessionFilter) -> Where:
    found = _where(which)
    return Where(f"SELECT count(*) FROM sessions WHERE {found.sql}", found.params)  # noqa: S608


def page(which: SessionFilter, cursor: str | None, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more."""
    found = _where(which)
    if cursor is not None:
        micros, session_id = read_cursor(cursor, SESSION_CURSOR)
        found = found.also("(created_at, session_id) < (make_timestamp({}::BIGINT), {})", micros, session_id)
    return Where(
        f"SELECT * FROM sessions WHERE {found.sql}"  # noqa: S608
        f" ORDER BY created_at DESC, session_id DESC LIMIT {int(limit) + 1} OFFSET {int(offset)}",
        found.params,
    )


def cursor_after(row: Row) -> str:
    return cursor_of(row["created_at"], row["session_id"])


def _where(which: SessionFilter) -> Where:
    found = Where("true", [])
    for column, value in (
        ("client_name", which.client),
        ("era", which.era),
        ("principal", which.principal),
    ):
        if value is not None:
            found = found.also(f"{column} = {{}}", value)
    if which.is_open is not None:
        found = found.also("(ended_at IS NULL) = {}", which.is_open)
    if which.since is not None:
        found = found.also("last_seen_at >= {}", which.since)
    if which.until is not None:
        found = found.also("created_at < {}", which.until)
    if which.text:
        looked_at = " OR ".join(f"contains(lower({text}), {{}})" for text in _TEXTS)
        found = found.also(f"({looked_at})", *[which.text.lower()] * len(_TEXTS))
    return found
