"""SQL over the sessions: pages of them. Pure: text and parameters.

A session is the sum of what each writer knows of it. Conditions that hold for a session hold for the sum.
"""

from datetime import timedelta

from callgate.ports.record_reader import SESSION_CURSOR, SessionFilter
from callgate.recorder.read.pages import EPOCH, Where, page_of_sessions, read_cursor, sessions_where
from callgate.recorder.stores.postgres.schema import SESSIONS, STORE

_SESSIONS = f"({SESSIONS}) AS s"
ONE_SESSION = SESSIONS.replace("GROUP BY", "WHERE session_id = $1 GROUP BY")
IDS = f"""
SELECT session_id FROM {STORE}.session_parts
WHERE starts_with(session_id, $1) OR right(session_id, length($1)) = $1
GROUP BY session_id ORDER BY min(created_at) DESC, session_id DESC LIMIT $2
"""  # noqa: S608


def count(which: SessionFilter, most: int) -> Where:
    """As far as `most`; one more: there are more."""
    found = sessions_where(which)
    return Where(
        f"SELECT count(*) FROM (SELECT FROM {_SESSIONS} WHERE {found.sql} LIMIT {most + 1}) AS counted",  # noqa: S608
        found.params,
    )


def page(which: SessionFilter, cursor: str | None, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more."""
    found = sessions_where(which)
    if cursor is not None:
        micros, session_id = read_cursor(cursor, SESSION_CURSOR)
        moment = EPOCH + timedelta(microseconds=micros)
        found = found.also("(created_at, session_id) < ({}::timestamp, {}::text)", moment, session_id)
    return page_of_sessions(_SESSIONS, found, limit, offset)
