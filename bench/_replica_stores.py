"""Figures of stores: what a flush costs, many writers, lists of many calls. For `bench/replicas.py`."""

import asyncio
import io
import os
import pickle
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
from _processes import cpu_s
from _replica_gateways import Figure
from databases.clickhouse import clickhouse_server
from databases.database import Database
from record import _ENVELOPE, a_call, cpu_us, emit_all
from stores.kinds import ClickhouseKind, DuckdbKind, KeptRecord, PostgresKind, StoreKind
from stores.test_flush import Writer, event

from callgate.model.identity import LOCAL, new_exchange_id
from callgate.model.session import Session
from callgate.ports.record_reader import EventFilter
from callgate.recorder.journal.frames import EVENTS
from callgate.recorder.rows import EventRow, HopRow

# Which rows of each table are of one batch.
_OF_BATCH = "IN (SELECT id FROM callgate_store.rpc_events WHERE batch = {0})"
_TABLES = {"rpc_events": "batch = {0}", "rpc_bodies": f"id {_OF_BATCH}"}
_TABLES["rpc_event_upstreams"] = f"event_id {_OF_BATCH}"
_BODY_BYTES = 2700
_BATCH, _FRAME = 8192, 512


def postmaster(database: Database) -> int:
    return int((Path(database.run("SHOW data_directory")) / "postmaster.pid").read_text().split()[0])


def _record(kind: StoreKind, folder: Path) -> KeptRecord:
    folder.mkdir(mode=0o700)
    return kind.record(folder, waits_for_journal=False)


async def _flushed(kind: StoreKind, folder: Path, calls: list[Any]) -> tuple[float, KeptRecord]:
    """CPU of this process's storing threads, µs a call."""
    record = _record(kind, folder)
    await record.reader.extent()
    before = cpu_us()
    await emit_all(record.recorder, calls)
    assert (await record.reader.extent()).events == len(calls)
    return (cpu_us()["store"] - before["store"]) / len(calls), record


async def flush(folder: Path, server: Database, events: int) -> tuple[list[Figure], dict[str, float]]:
    """Events of 2.7 KB; also what the model needs to know."""
    chance = random.Random(1)
    session = Session("bench", LOCAL, "http", _ENVELOPE, time.time(), time.time())
    calls = [a_call(session, _BODY_BYTES, chance) for _ in range(events)]
    files_us, record = await _flushed(DuckdbKind(), folder / "flush-duckdb", calls)
    await record.close()
    kind = PostgresKind(server)
    pid = postmaster(kind.database)
    wal = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"
    before, log_before = cpu_s(pid), float(kind.database.run(wal))
    ours_us, record = await _flushed(kind, folder / "flush-postgres", calls)
    theirs_us = (cpu_s(pid) - before) / events * 1e6
    log_bytes = (float(kind.database.run(wal)) - log_before) / events
    bare_us = await _bare_copy(kind.database, pid, events)
    size = float(kind.database.run("SELECT pg_database_size(current_database())")) / events
    await record.close()
    kind.close()
    part, over = ours_us / files_us, theirs_us / bare_us
    figures = [
        Figure(
            "gateway CPU an event in the flush, PostgreSQL : DuckDB (2.7 KB)", "≤ 1.0",
            f"{part:.2f} ({ours_us:.0f} against {files_us:.0f} µs)", part <= 1.0,
        ),
        Figure(
            "PostgreSQL's CPU an event : a bare `COPY` of the same rows, in the same batches", "≤ 1.3",
            f"{over:.2f} ({theirs_us:.0f} against {bare_us:.0f} µs; {log_bytes:,.0f} bytes of WAL)",
            over <= 1.3,
        ),
    ]  # fmt: skip
    return figures, {
        "ours_us": ours_us,
        "theirs_us": theirs_us,
        "log_bytes": log_bytes,
        "disk_bytes": size / 2,
    }


async def _bare_copy(database: Database, pid: int, events: int) -> float:
    """The rows of each batch into the same tables once more, and nothing else. PostgreSQL's µs an event."""
    connection = await asyncpg.connect(database.dsn)
    try:
        columns = {table: await _columns(connection, table) for table in _TABLES}
        batches = await connection.fetch("SELECT DISTINCT batch FROM callgate_store.rpc_events ORDER BY 1")
        pieces: list[list[tuple[str, bytes]]] = []
        for (batch,) in batches:
            of_batch: list[tuple[str, bytes]] = []
            for table, of_batch_words in _TABLES.items():
                held = io.BytesIO()
                where = of_batch_words.format(batch)
                chosen = ", ".join(f'"{column}"' for column in columns[table])
                sql = f"SELECT {chosen} FROM callgate_store.{table} WHERE {where}"
                await connection.copy_from_query(sql, output=held, format="binary")
                of_batch.append((table, held.getvalue()))
            pieces.append(of_batch)
        before = cpu_s(pid)
        for of_batch in pieces:
            async with connection.transaction():
                for table, data in of_batch:
                    await connection.copy_to_table(
                        table,
                        schema_name="callgate_store",
                        source=io.BytesIO(data),
                        columns=columns[table],
                        format="binary",
                    )
        return (cpu_s(pid) - before) / events * 1e6
    finally:
        await connection.close()


async def _columns(connection: Any, table: str) -> list[str]:
    rows = await connection.fetch(
        "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0"
        " AND NOT attisdropped ORDER BY attnum",
        f"callgate_store.{table}",
    )
    return [row[0] for row in rows]


def writers(folder: Path, server: Database, count: int, seconds: float) -> list[Figure]:
    """Stores that flush small batches as fast as they can, in turns with and without three live readers."""
    kind = PostgresKind(server)
    rates: dict[bool, list[float]] = {False: [], True: []}
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(count))
        stores = [kind.store(folder) for _ in range(count)]
        list(pool.map(lambda store: (store.open(), store.begin_round()), stores))
        made = [Writer(store, f"{place}-w") for place, store in enumerate(stores)]
        for _ in range(3):
            for is_read in (False, True):
                rates[is_read].append(asyncio.run(_commits(kind, folder, pool, made, seconds, is_read)))
        list(pool.map(lambda store: store.close(), stores))
    kind.close()
    part = statistics.median(a / b for a, b in zip(rates[True], rates[False], strict=True))
    read, unread = (statistics.median(rates[is_read]) for is_read in (True, False))
    told = f"{part:.2f} ({read:,.0f} against {unread:,.0f} a second)"
    what = f"commits/s of {count} flushing writers, with three live readers : without"
    return [Figure(what, "≥ 0.9", told, part >= 0.9)]


async def _commits(
    kind: PostgresKind,
    folder: Path,
    pool: ThreadPoolExecutor,
    made: list[Writer],
    seconds: float,
    is_read: bool,
) -> float:
    records = [kind.record(folder / f"reader-{time.monotonic_ns()}-{n}") for n in range(3)] if is_read else []
    hearing: list[asyncio.Task[None]] = []
    for record in records:
        await record.reader.extent()
        hearing.append(asyncio.create_task(_hear(record)))
    until = time.monotonic() + seconds

    def write(writer: Writer) -> int:
        done = 0
        while time.monotonic() < until:
            first = random.randrange(10**9) * 100
            writer.write((EVENTS, [event(first + row) for row in range(4)]))
            done += 1
        return done

    loop = asyncio.get_running_loop()
    done = sum(await asyncio.gather(*(loop.run_in_executor(pool, write, writer) for writer in made)))
    for task in hearing:
        task.cancel()
    for record in records:
        await record.close()
    return done / seconds


async def _hear(record: KeptRecord) -> None:
    async for _ in record.feed.listen():
        pass


def processes(folder: Path, server: Database, pooler: Database, count: int, batches: int) -> list[Figure]:
    """Forks, each with a store of its own through the pooler."""
    kind = PostgresKind(server, pooler)
    kind.store(folder).open()
    pipes: list[int] = []
    children: list[int] = []
    for place in range(count):
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os._exit(_flush_in_child(kind, folder, place, batches, theirs))
        os.close(theirs)
        pipes.append(ours)
        children.append(child)
    took: list[float] = []
    for pipe in pipes:
        with os.fdopen(pipe, "rb") as read:
            took += pickle.loads(read.read() or pickle.dumps([]))
    for child in children:
        os.waitpid(child, 0)
    stored = int(kind.database.run("SELECT count(*) FROM callgate.rpc_events"))
    kind.close()
    wanted = count * batches * 20
    p99 = statistics.quantiles(took, n=100)[98] if len(took) > 1 else float("inf")
    p50 = statistics.median(took)
    told = f"{stored:,} of {wanted:,} rows; p50 {p50 * 1e3:.0f}, p99 {p99 * 1e3:.0f} ms a flush"
    return [
        Figure(
            f"{count} flushing processes through PgBouncer with 4 connections",
            "every row",
            told,
            stored == wanted,
        )
    ]


def _flush_in_child(kind: PostgresKind, folder: Path, place: int, batches: int, pipe: int) -> int:
    took: list[float] = []
    store = kind.store(folder)
    store.open()
    store.begin_round()
    writer = Writer(store, f"{place}-c")
    for number in range(batches):
        rows = [event((place * batches + number) * 20 + row) for row in range(20)]
        begun = time.monotonic()
        writer.write((EVENTS, rows))
        took.append(time.monotonic() - begun)
        time.sleep(random.uniform(0, 0.2))
    store.end()
    with os.fdopen(pipe, "wb") as out:
        out.write(pickle.dumps(took))
    return 0


async def reads(folder: Path, server: Database, events: int) -> list[Figure]:
    """The same calls in all three; each question five times, medians."""
    found: dict[str, dict[str, float]] = {}
    with clickhouse_server() as clickhouse:
        kinds: dict[str, StoreKind] = {"DuckDB": DuckdbKind(), "PostgreSQL": PostgresKind(server)}
        kinds["ClickHouse"] = ClickhouseKind(clickhouse)
        for name, kind in kinds.items():
            found[name] = await _asked(kind, folder / f"reads-{name}", events)
            kind.close()
    figures: list[Figure] = []
    for question in found["DuckDB"]:
        base = found["DuckDB"][question]
        parts = {name: found[name][question] / base for name in ("PostgreSQL", "ClickHouse")}
        told = ", ".join(
            f"{name} {part:.2f} ({found[name][question] * 1e3:.0f} ms)" for name, part in parts.items()
        )
        is_list = question == "a list"
        goal, is_met = ("≤ 3 ×", all(part <= 3 for part in parts.values())) if is_list else ("reported", None)
        figures.append(
            Figure(f"{question} of {events:,} calls, : DuckDB ({base * 1e3:.0f} ms)", goal, told, is_met)
        )
    return figures


def _fill(kind: StoreKind, folder: Path, events: int) -> None:
    """Straight into the store, in batches as large as those of a backlog: a recorder would take ten times as
    long. Calls of the last three quarters of an hour, in fifty sessions, with small bodies."""
    folder.mkdir(mode=0o700)
    store = kind.store(folder)
    store.open()
    store.begin_round()
    writer = Writer(store)
    begun_s, step_s = time.time() - 2700, 2700 / events
    body = b'{"content":[{"type":"text","text":"alpha71 order402"}]}'
    for first in range(0, events, _BATCH):
        rows: list[EventRow] = []
        for number in range(first, min(first + _BATCH, events)):
            ts_s = begun_s + number * step_s
            rows.append(
                event(
                    0, id=new_exchange_id(ts_s), ts=int(ts_s * 1e6), session_id=f"bench-{number % 50}",
                    tool_name="echo", server_name="echo", request_json=body, response_json=body,
                    request_bytes=len(body), response_bytes=len(body), duration_ms=(number % 97) / 7,
                    hops=[HopRow("echo", True, 1.0)],
                )
            )  # fmt: skip
        writer.write(*((EVENTS, rows[at : at + _FRAME]) for at in range(0, len(rows), _FRAME)))
    store.close()


async def _asked(kind: StoreKind, folder: Path, events: int) -> dict[str, float]:
    begun = time.monotonic()
    await asyncio.to_thread(_fill, kind, folder, events)
    print(f"    {folder.name}: {events:,} calls stored in {time.monotonic() - begun:.0f} s", flush=True)
    record = kind.record(folder)
    assert (await record.reader.extent()).events == events
    reader = record.reader
    page = await reader.events(EventFilter(), 50)
    one = page.rows[0]["id"]
    now = datetime.now(UTC).replace(tzinfo=None)
    hour = EventFilter(since=now - timedelta(hours=1), until=now)
    questions: dict[str, Any] = {
        "a list": lambda: reader.events(EventFilter(), 50),
        "one session": lambda: reader.events(EventFilter(only={"session_id": ("bench-7",)}), 50),
        "one call": lambda: reader.event(one),
        "sums of an hour": lambda: reader.stats(hour),
    }
    took: dict[str, float] = {}
    for name, ask in questions.items():
        times: list[float] = []
        for _ in range(5):
            begun = time.perf_counter()
            await ask()
            times.append(time.perf_counter() - begun)
        took[name] = statistics.median(times)
    await record.close()
    return took
