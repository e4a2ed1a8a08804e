"""Which rows of the record in PostgreSQL are a principal's own.

The newest ones come first, up to `excerpt_limits`; how many are left out is counted.
"""

from pathlib import Path

from callgate.postgres_connection import Connection
from callgate.recorder.read import excerpt_limits
from callgate.recorder.read.pages import Where
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS
from callgate.recorder.stores.duckdb.wanted_rows import BODIES, Wanted
from callgate.recorder.stores.excerpts import DumpedExcerpts, has_calls, own_events
from callgate.recorder.stores.postgres.reader import PostgresReader, dump
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


def postgres_excerpts(reader: PostgresReader, folder: Path) -> DumpedExcerpts:
    async def dump_own(folder: Path, principal: str, wanted: Wanted) -> int:
        async def read(connection: Connection) -> int:
            left_out = 0
            for table, select in _selects(wanted).items():
                dumped = await dump(connection, folder / f"{table}.jsonl", Where(select, [principal]))
                if table == "rpc_events" and has_calls(wanted):
                    left_out = await connection.fetchval(_COUNT, principal) - dumped
            return left_out

        return await reader.read(read, ReadKind.SCAN, excerpt_limits.TIMEOUT_S)

    return DumpedExcerpts(folder, dump_own)


def _selects(wanted: Wanted) -> dict[str, str]:
    own = own_events(_OWN_EVENTS, _SIZE, wanted)
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
