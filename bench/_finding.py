"""What it costs to find calls in a large record: lists in every order, and facet counts.

The record is written by DuckDB itself, a file for each day as the store makes them, in pieces of a flush: a
million calls take seconds instead of minutes. It is read by the reader that the API uses.
"""

import asyncio
import math
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

from callgate.ports.record_reader import TOOL_CALL, Between, EventFilter, FacetCounts, Order, RecordPage
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.stores.duckdb.day_files import ATTACH, SETTINGS, Day, make_file, sql_text, today
from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.reader import Reader
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.duckdb.schema import bring_up_to_date

GOAL_MS = 300
_DAYS = 10
_FLUSH_ROWS = 8192
_PAGE = 100  # what the page asks for first
_TOOL_CALLS = EventFilter(only={"method": (TOOL_CALL,)})
_NARROWED = EventFilter(
    only={"method": (TOOL_CALL,), "server": ("server3",)},
    without={"outcome": ("refused",)},
    between={"duration": Between(100)},
)
_Read = Callable[[Reader], Awaitable[RecordPage | FacetCounts]]

# {0}: where the rows begin, {1}: where they end, {2}: the day, {3}: how many microseconds apart. Every hash
# is of the row's number: the same record each time. Durations are spread over four powers of ten.
_ROWS = """
INSERT INTO day.rpc_events BY NAME SELECT
    (left(at_hex, 8) || '-' || right(at_hex, 4) || '-7' || left(noise, 3) || '-8' || substr(noise, 4, 3)
        || '-' || substr(noise, 8, 12))::UUID AS id,
    ts, n AS seq, n::VARCHAR AS rpc_id, 'request' AS kind, 'client' AS sender, 'tools/call' AS method,
    'session-' || (n // 500) AS session_id, 'client-' || (hash(n // 500) % 12) || '/1.0' AS client,
    'server' || (hash(n + 1) % 8) AS server_name,
    'server' || (hash(n + 1) % 8) || '__tool' || (hash(n + 2) % 6) AS tool_name,
    10 ** (4 * (hash(n + 3) % 1000000) / 1000000.0) AS duration_ms,
    hash(n + 4) % 20 <> 0 AS ok,
    CASE WHEN hash(n + 4) % 20 = 0 THEN ['tool_error', 'refused', 'failed'][1 + (hash(n + 5) % 3)::INT]
        ELSE 'answered' END AS outcome,
    CASE WHEN hash(n + 4) % 20 = 0 THEN 'code.' || (hash(n + 6) % 5) END AS error_code,
    CASE WHEN hash(n + 4) % 20 = 0 THEN 'It did not work: ' || noise END AS error,
    'SELECT * FROM orders WHERE note = ''' || noise || '''' AS sql,
    '{{"name":"tool","arguments":{{"query":"SELECT ' || repeat(noise || ' ', 6) || '"}}}}' AS request_json,
    '{{"content":[{{"type":"text","text":"' || repeat(noise || ' ', 24) || '"}}]}}' AS response_json,
    (hash(n + 7) % 200)::BIGINT AS request_tokens, (hash(n + 8) % 5000)::BIGINT AS response_tokens,
    'allow' AS verdict, 'SELECT' AS statement_type,
    CASE WHEN hash(n + 2) % 6 < 5 THEN '{{"readOnlyHint":true}}' END AS annotations,
    (hash(n + 9) % 1000)::BIGINT AS rows, 'o200k' AS tokens_by, 250 AS request_bytes, 850 AS response_bytes
FROM (SELECT n, md5(n::VARCHAR) AS noise, ts, printf('%012x', epoch_ms(ts)) AS at_hex FROM (
    SELECT n, TIMESTAMP '{2}' + to_microseconds((n - {3}) * {4}) AS ts FROM range({0}, {1}) AS numbers(n)))
"""


def make_record(folder: Path, calls: int) -> None:
    folder.mkdir(mode=0o700, parents=True)
    each = math.ceil(calls / _DAYS)
    for back in range(_DAYS):
        day = Day(folder, today() - timedelta(days=back + 1))
        make_file(day)
        first = back * each
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            connection.execute(ATTACH.format(path=sql_text(day.path), name="day"))
            bring_up_to_date(connection, "day")
            for begin in range(first, min(first + each, calls), _FLUSH_ROWS):
                end = min(begin + _FLUSH_ROWS, first + each, calls)
                connection.execute(_ROWS.format(begin, end, day.day, first, 86_400_000_000 // each))
            connection.execute("CHECKPOINT day")


def page(order: Order, which: EventFilter = _TOOL_CALLS, *, is_second: bool = False) -> _Read:
    async def read(reader: Reader) -> RecordPage:
        cursor = (await reader.events(which, _PAGE, None, order)).next_cursor if is_second else None
        return await reader.events(which, _PAGE, cursor, order)

    return read


def facets(which: EventFilter) -> _Read:
    return lambda reader: reader.facets(which)


READS: dict[str, _Read] = {
    "newest first": page("newest"),
    "slowest first": page("slowest"),
    "slowest first, two pages": page("slowest", is_second=True),
    "most tokens first": page("most_tokens"),
    "fewest rows first": page("fewest_rows"),
    "slowest of one server, with three filters": page("slowest", _NARROWED),
    "facet counts": facets(_TOOL_CALLS),
    "facet counts with three filters": facets(_NARROWED),
}


async def finding(calls: int, rounds: int, most_s: float) -> bool:
    """Whether each is within the goal. CPU of the whole process, which does nothing else."""
    with tempfile.TemporaryDirectory(prefix="callgate-bench-") as name:
        begun = time.process_time()
        settings = RecorderSettings(Path(name) / "record", keeps_store=True, waits_for_journal=False)
        make_record(DuckdbStore(settings.folder).folder, calls)
        made_s = time.process_time() - begun
        store = DuckdbStore(settings.folder)
        recorder = Recorder(settings, RowRedactor(Redactor(), 256 * 1024), store)
        reader = Reader(recorder, store)
        try:
            extent = await reader.extent()
            assert extent.events == calls, extent
            print(
                f"\n{calls:,} calls in {_DAYS} days, {extent.size_bytes / 1e6:,.0f} MB, made in"
                f" {made_s:.0f} s of CPU; pages of {_PAGE}, goal {GOAL_MS} ms of CPU"
            )
            print("| read | CPU ms, median | fastest | within the goal |\n|---|---|---|---|")
            is_kept, ends = True, time.monotonic() + most_s
            for what, read in READS.items():
                took = await _measured(reader, read, rounds, ends)
                middle = statistics.median(took)
                goal_ms = GOAL_MS * (2 if what.endswith("two pages") else 1)
                is_kept = is_kept and middle <= goal_ms
                told = "yes" if middle <= goal_ms else "NO"
                print(f"| {what} | {middle:.0f} | {min(took):.0f} | {told} |")
            return is_kept
        finally:
            await recorder.close()
            reader.close()


async def _measured(reader: Reader, read: _Read, rounds: int, ends: float) -> list[float]:
    """At least once, and no more once the time is over."""
    took: list[float] = []
    while not took or (len(took) < rounds and time.monotonic() < ends):
        await asyncio.sleep(0)
        begun = time.process_time()
        await read(reader)
        took.append((time.process_time() - begun) * 1000)
    return took
