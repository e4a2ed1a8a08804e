"""Which rows of the record in ClickHouse are a principal's own."""

from pathlib import Path

from callgate.recorder.read import excerpt_limits
from callgate.recorder.read.pages import Where
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.clickhouse.connection import ClickhouseConnection
from callgate.recorder.stores.clickhouse.reader import ClickhouseReader, dump
from callgate.recorder.stores.clickhouse.schema import EVENTS, LEGS, RECORD, SESSIONS
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS
from callgate.recorder.stores.duckdb.wanted_rows import BODIES, Wanted
from callgate.recorder.stores.excerpts import DumpedExcerpts, has_calls, own_events

_SESSIONS = f"SELECT row_key FROM {RECORD} WHERE row_kind = 'session' AND principal = $1"  # noqa: S608
_OWN = f"(session_id IN ({_SESSIONS}) OR (session_id IS NULL AND principal = $1))"
_SIZE = "least(ifNull(request_bytes, 0), 262144) + least(ifNull(response_bytes, 0), 262144)"
_COUNT = f"SELECT count() AS total FROM {RECORD} WHERE {EVENTS} AND {_OWN}"  # noqa: S608
# Which events: by narrow columns first, so that no body is read for a row that is left out.
_OWN_EVENTS = f"""
SELECT id FROM (
    SELECT id, sum({{size}}) OVER (ORDER BY ts DESC, id DESC ROWS UNBOUNDED PRECEDING) AS total FROM (
        SELECT id, ts, request_bytes, response_bytes FROM {RECORD}
        WHERE {EVENTS} AND {_OWN} ORDER BY ts DESC, id DESC LIMIT {{most}}))
WHERE total <= {{most_bytes}}"""  # noqa: S608


def clickhouse_excerpts(reader: ClickhouseReader, folder: Path) -> DumpedExcerpts:
    async def dump_own(folder: Path, principal: str, wanted: Wanted) -> int:
        def read(connection: ClickhouseConnection) -> int:
            for table, select in _selects(wanted).items():
                dump(connection, folder / f"{table}.jsonl", Where(select, [principal]))
            if not has_calls(wanted):
                return 0
            with (folder / "rpc_events.jsonl").open("rb") as file:
                dumped = sum(1 for _ in file)
            return connection.fetch(_COUNT, [principal])[0]["total"] - dumped

        return await reader.read(read, ReadKind.SCAN, excerpt_limits.TIMEOUT_S)

    return DumpedExcerpts(folder, dump_own)


def _selects(wanted: Wanted) -> dict[str, str]:
    own = own_events(_OWN_EVENTS, _SIZE, wanted)
    legs = "" if "rpc_event_upstreams" in wanted.tables else " AND false"
    sessions = "" if "sessions" in wanted.tables else " AND false"
    return {
        "rpc_events": f"SELECT {_names(EVENT_COLUMNS, wanted)} FROM {RECORD}"  # noqa: S608
        f" WHERE {EVENTS} AND id IN ({own}) ORDER BY ts, id",
        "rpc_event_upstreams": f"SELECT {_names(HOP_COLUMNS, wanted)} FROM"  # noqa: S608
        f" ({LEGS.format(also=f'AND id IN ({own}){legs}')})",
        "sessions": f"SELECT * FROM ({SESSIONS}) WHERE principal = $1{sessions}"  # noqa: S608
        f" ORDER BY created_at DESC LIMIT {excerpt_limits.MAX_SESSIONS}",
    }


def _names(columns: dict[str, str], wanted: Wanted) -> str:
    return ", ".join(
        f"NULL AS `{name}`" if name in BODIES and not wanted.bodies else f"`{name}`" for name in columns
    )
