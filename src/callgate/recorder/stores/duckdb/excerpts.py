"""A principal's own rows as a file by themselves; implements `ports.RecordExcerpts`.

Why a copy and not a view: a view hides nothing by promise. Which condition is evaluated first, the caller's
or the view's, is the optimizer's choice, and an error in the first quotes what the second would have hidden.
A file that does not hold a row cannot show it, whatever is asked; and it can be read in a process of its
own, which may be killed. (docs/decisions/0016)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

from callgate.model.error_codes import SOURCE_TIMEOUT
from callgate.model.errors import SourceError
from callgate.ports.record_queries import Excerpt
from callgate.recorder.read import excerpt_limits
from callgate.recorder.stores.duckdb.day_files import passing_file, remove_passing, sql_text
from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.reader import Reader
from callgate.recorder.stores.duckdb.wanted_rows import BODIES, Wanted, wanted_by

# A row without a session was refused before there was one; it says by itself whose it is.
_OWN = """(session_id IN (SELECT session_id FROM memory.main.sessions WHERE principal = $1)
    OR (session_id IS NULL AND principal = $1))"""
_OWN_SESSIONS = """
SELECT * FROM memory.main.sessions WHERE principal = $1 ORDER BY created_at DESC LIMIT {most}
"""
# Which events: by narrow columns first, so that no body is unpacked for a row that is left out.
_OWN_EVENTS = """
CREATE OR REPLACE TEMP TABLE own_events AS
SELECT id, ts FROM (
    SELECT id, ts, sum({size}) OVER (ORDER BY ts DESC, id DESC) AS total FROM (
        SELECT id, ts, request_bytes, response_bytes FROM memory.main.rpc_events
        WHERE {own}
        ORDER BY ts DESC, id DESC LIMIT {most}))
WHERE total <= {most_bytes}
"""
_COUNT = """
SELECT count(*) FROM memory.main.rpc_events
WHERE {own}
"""
_BODY_SIZE = "least(request_bytes, 262144) + least(response_bytes, 262144)"
_EVENTS = """
SELECT {columns} FROM memory.main.rpc_events
WHERE ts >= (SELECT min(ts) FROM own_events) AND id IN (SELECT id FROM own_events)
"""
_HOPS = """
SELECT {columns} FROM memory.main.rpc_event_upstreams WHERE event_id IN (SELECT id FROM own_events)
"""
# What others lost is no affair of theirs; what is left out here is.
_GAPS = """
SELECT NULL::TIMESTAMP AS "from", min(ts) AS "to", {left_out}::BIGINT AS count,
    'older calls are left out' AS reason
FROM own_events HAVING {left_out} > 0
"""
_ALL = "*"
_WITHOUT_BODIES = "* REPLACE ({})".format(", ".join(f"NULL::VARCHAR AS {body}" for body in sorted(BODIES)))


class Excerpts:
    def __init__(self, reader: Reader, folder: Path) -> None:
        """`folder`: where the days are, the one place that the store's DuckDB may write to."""
        self._reader = reader
        self._folder = folder

    async def take(self, principal: str, statements: Sequence[str]) -> Excerpt:
        path = passing_file(self._folder, "excerpt")
        filling = asyncio.create_task(
            self._reader.with_cursor(lambda cursor: self._fill(cursor, path, principal, statements))
        )
        try:
            return await asyncio.shield(filling)
        except BaseException:
            # A thread cannot be stopped: its file is removed once it is there.
            await asyncio.gather(filling, return_exceptions=True)
            remove_passing(self._folder, path.name)
            raise

    def _fill(
        self, cursor: duckdb.DuckDBPyConnection, path: Path, principal: str, statements: Sequence[str]
    ) -> Excerpt:
        name = f'"{path.stem}"'
        timer = threading.Timer(excerpt_limits.TIMEOUT_S, cursor.interrupt)
        timer.start()
        try:
            cursor.execute(f"ATTACH '{sql_text(path.resolve())}' AS {name}")
            try:
                left_out = _copy(cursor, name, principal, wanted_by(cursor, statements))
            finally:
                timer.cancel()
                cursor.execute(f"DETACH {name}")
        except duckdb.InterruptException as problem:
            raise SourceError(
                SOURCE_TIMEOUT,
                f"Your calls could not be read within {excerpt_limits.TIMEOUT_S:g} s.",
                hint="Ask for fewer columns, without request_json and response_json.",
            ) from problem
        finally:
            timer.cancel()
        path.chmod(0o600)
        return Excerpt(path, left_out)


def _copy(cursor: duckdb.DuckDBPyConnection, name: str, principal: str, wanted: Wanted) -> int:
    """How many events there was no room for."""
    reads_events = bool(wanted.tables - {"sessions"})
    most = excerpt_limits.MAX_EVENTS if reads_events else 0
    size, most_bytes = (_BODY_SIZE, excerpt_limits.MAX_BODY_BYTES) if wanted.bodies else ("0", 0)
    cursor.execute(_OWN_EVENTS.format(own=_OWN, size=size, most=most, most_bytes=most_bytes), [principal])
    left_out = 0
    if reads_events:
        left_out = _number(cursor, _COUNT.format(own=_OWN), [principal]) - _number(
            cursor, "SELECT count(*) FROM own_events", []
        )
    columns = _ALL if wanted.bodies else _WITHOUT_BODIES
    selects = {
        "sessions": _OWN_SESSIONS.format(most=excerpt_limits.MAX_SESSIONS),
        "rpc_events": _EVENTS.format(columns=columns),
        "rpc_event_upstreams": _HOPS.format(columns=columns),
        "gaps": _GAPS.format(left_out=left_out),
    }
    for table, select in selects.items():
        rows = select if table in wanted.tables else f"SELECT * FROM ({select}) LIMIT 0"  # noqa: S608
        cursor.execute(
            f"CREATE TABLE {name}.main.{table} AS {rows}", [principal] if table == "sessions" else []
        )
    cursor.execute("DROP TABLE own_events")
    return left_out


def _number(cursor: duckdb.DuckDBPyConnection, sql: str, params: list[str]) -> int:
    found = cursor.execute(sql, params).fetchone()
    return int(found[0]) if found is not None else 0
