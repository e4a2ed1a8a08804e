"""SQL over the sessions: pages of them. Pure: text and parameters.

A session is the sum of what each batch knows of it. Conditions that hold for a session hold for the sum.
"""

from datetime import timedelta

from callgate.ports.record_reader import SESSION_CURSOR, SessionFilter
from callgate.recorder.read.pages import EPOCH, Where, read_cursor, sessions_where
from callgate.recorder.stores.clickhouse.schema import RECORD, SESSIONS

ONE_SESSION = SESSIONS.replace("GROUP BY", "AND row_key = $1 GROUP BY")
IDS = f"""
SELECT row_key AS session_id FROM {RECORD}
WHERE row_kind = 'session' AND (startsWith(row_key, $1) OR endsWith(row_key, $1))
GROUP BY row_key ORDER BY min(created_at) DESC, row_key DESC LIMIT $2
"""  # noqa: S608
_CONTAINS = "ifNull(positionCaseInsensitiveUTF8({}, {{0}}), 0) > 0"


def count(which: SessionFilter) -> Where:
    found = sessions_where(which, _CONTAINS)
    return Where(f"SELECT count() AS total FROM ({SESSIONS}) WHERE {found.sql}", found.params)  # noqa: S608


def page(which: SessionFilter, cursor: str | None, limit: int, offset: int) -> Where:
    """One more than `limit`, to know whether there are more."""
    found = sessions_where(which, _CONTAINS)
    if cursor is not None:
        micros, session_id = read_cursor(cursor, SESSION_CURSOR)
        moment = EPOCH + timedelta(microseconds=micros)
        found = found.also("(created_at, session_id) < ({}, {})", moment, session_id)
    return Where(
        f"SELECT * FROM ({SESSIONS}) WHERE {found.sql}"  # noqa: S608
        f" ORDER BY created_at DESC, session_id DESC LIMIT {int(limit) + 1} OFFSET {int(offset)}",
        found.params,
    )
