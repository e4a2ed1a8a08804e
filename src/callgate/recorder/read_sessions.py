"""SQL over `sessions`: pages of them. Pure: text and parameters.

Ordered by when they began, which does not change: a page that follows another neither repeats nor skips one,
whoever calls meanwhile.
"""

from callgate.ports.record_reader import Row
from callgate.recorder.read_events import Where, cursor_of, read_cursor

ONE_SESSION = "SELECT * FROM sessions WHERE session_id = $1"


def count(principal: str | None) -> Where:
    found = _of(principal)
    return Where(f"SELECT count(*) FROM sessions WHERE {found.sql}", found.params)  # noqa: S608


def page(principal: str | None, cursor: str | None, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more."""
    found = _of(principal)
    if cursor is not None:
        micros, session_id = read_cursor(cursor)
        found = found.also("(created_at, session_id) < (make_timestamp({}::BIGINT), {})", micros, session_id)
    return Where(
        f"SELECT * FROM sessions WHERE {found.sql}"  # noqa: S608
        f" ORDER BY created_at DESC, session_id DESC LIMIT {int(limit) + 1} OFFSET {int(offset)}",
        found.params,
    )


def cursor_after(row: Row) -> str:
    return cursor_of(row["created_at"], row["session_id"])


def _of(principal: str | None) -> Where:
    found = Where("true", [])
    return found if principal is None else found.also("principal = {}", principal)
