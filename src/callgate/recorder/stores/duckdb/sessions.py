"""SQL over `sessions`: pages of them. Pure: text and parameters.

Ordered by when they began, which does not change: a page that follows another neither repeats nor skips one,
whoever calls meanwhile.
"""

from callgate.ports.record_reader import SESSION_CURSOR, SessionFilter
from callgate.recorder.read.pages import Where, page_of_sessions, read_cursor, sessions_where

ONE_SESSION = "SELECT * FROM sessions WHERE session_id = $1"
IDS = """
SELECT session_id FROM sessions WHERE starts_with(session_id, $1) OR suffix(session_id, $1)
ORDER BY created_at DESC, session_id DESC LIMIT $2
"""


def count(which: SessionFilter) -> Where:
    found = sessions_where(which)
    return Where(f"SELECT count(*) FROM sessions WHERE {found.sql}", found.params)  # noqa: S608


def page(which: SessionFilter, cursor: str | None, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more."""
    found = sessions_where(which)
    if cursor is not None:
        micros, session_id = read_cursor(cursor, SESSION_CURSOR)
        found = found.also("(created_at, session_id) < (make_timestamp({}::BIGINT), {})", micros, session_id)
    return page_of_sessions("sessions", found, limit, offset)
