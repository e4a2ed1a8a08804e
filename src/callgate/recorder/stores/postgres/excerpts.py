"""A principal's own rows as a DuckDB file by themselves; implements `ports.RecordExcerpts`.

The SQL of agents does not change with the operator's store, and no agent ever reaches the shared one.
"""

from collections.abc import Sequence
from pathlib import Path

from callgate.model.errors import CallerError
from callgate.ports.record_excerpts import Excerpt
from callgate.postgres_connection import Connection
from callgate.recorder.read import excerpt_limits
from callgate.recorder.read.pages import Where
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.duckdb.row_files import excerpt_of, wanted_by_all
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS
from callgate.recorder.stores.duckdb.wanted_rows import BODIES, Wanted
from callgate.recorder.stores.postgres.files import dump
from callgate.recorder.stores.postgres.reader import PostgresReader
from callgate.recorder.stores.postgres.schema import STORE, VIEWS

_OWN = f"""(session_id IN (SELECT session_id FROM {STORE}.session_parts WHERE principal = $1)
    OR (session_id IS NULL AND principal = $1))"""  # noqa: S608
_SIZE = "least(request_bytes, 262144) + least(response_bytes, 262144)"
_COUNT = f"SELECT count(*) FROM {VIEWS}.rpc_events WHERE {_OWN}"  # noqa: S608
# Which events: by narrow columns first, so that no body is read for a row that is left out.
_OWN_EVENTS = f"""(
    SELECT id, ts FROM (
        SELECT id, ts, sum({{size}}) OVER (ORDER BY ts DESC, id DESC) AS total FROM (
            SELECT id, ts, request_bytes, response_bytes FROM {VIEWS}.rpc_events
            WHERE {_OWN} ORDER BY ts DESC, id DESC LIMIT {{most}}) AS newest) AS summed
    WHERE total <= {{most_bytes}})"""  # noqa: S608


class PostgresExcerpts:
    def __init__(self, reader: PostgresReader, folder: Path) -> None:
        """`folder`: where excerpts lie until their reader removes them."""
        self._reader = reader
        self._folder = folder

    async def take(self, principal: str, statements: Sequence[str]) -> Excerpt:
        wanted = wanted_by_all(statements)
        return await excerpt_of(self._folder, wanted, lambda folder: self._dump(folder, principal, wanted))

    async def _dump(self, folder: Path, principal: str, wanted: Wanted) -> int:
        """How many events there was no room for."""

        async def read(connection: Connection) -> int:
            left_out = 0
            selects = _selects(wanted)
            for table, select in selects.items():
                dumped = await dump(connection, folder / f"{table}.jsonl", Where(select, [principal]))
                if table == "rpc_events" and wanted.tables - {"sessions"}:
                    left_out = await connection.fetchval(_COUNT, principal) - dumped
            return left_out

        try:
            return await self._reader.read(read, ReadKind.SCAN, excerpt_limits.TIMEOUT_S)
        except CallerError as problem:
            raise excerpt_limits.out_of_time() from problem


def _selects(wanted: Wanted) -> dict[str, str]:
    most = excerpt_limits.MAX_EVENTS if wanted.tables - {"sessions"} else 0
    size, most_bytes = (_SIZE, excerpt_limits.MAX_BODY_BYTES) if wanted.bodies else ("0", 0)
    own = _OWN_EVENTS.format(size=size, most=most, most_bytes=most_bytes)
    sessions = "$1" if "sessions" in wanted.tables else "$1 AND false"
    legs = "" if "rpc_event_upstreams" in wanted.tables else " AND false"
    return {
        "rpc_events": f"SELECT {_names(EVENT_COLUMNS, wanted)} FROM {VIEWS}.rpc_events"  # noqa: S608
        f" WHERE id IN (SELECT id FROM {own} AS own) ORDER BY ts, id",
        "rpc_event_upstreams": f"SELECT {_names(HOP_COLUMNS, wanted)} FROM {VIEWS}.rpc_event_upstreams"  # noqa: S608
        f" WHERE event_id IN (SELECT id FROM {own} AS own){legs}",
        "sessions": f"SELECT * FROM {VIEWS}.sessions WHERE principal = {sessions}"  # noqa: S608
        f" ORDER BY created_at DESC LIMIT {excerpt_limits.MAX_SESSIONS}",
    }


def _names(columns: dict[str, str], wanted: Wanted) -> str:
    return ", ".join(
        f'NULL::text AS "{name}"' if name in BODIES and not wanted.bodies else f'"{name}"' for name in columns
    )
