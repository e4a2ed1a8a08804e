"""Figures of whole gateways for `bench/replicas.py`: the relay, a hop, how late the record is, memory."""

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from _load import Sample, measure
from _processes import Cores, cpu_s, memory_kb
from _targets import STORED_S, Target, http_server, serving
from databases.database import Database

STATE_KEY = "5b0d9c1e7f2a48637a1c0e9d5b3f8246"
_RELAY_S = 12.0
_HEAD = (
    "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    "accept: application/json, text/event-stream\r\n{more}content-length: {size}\r\n\r\n"
)


@dataclass(frozen=True)
class Figure:
    """One line of the table. `is_met` None: there is no goal."""

    what: str
    goal: str
    found: str
    is_met: bool | None = None


@contextmanager
def gateway(
    cores: Cores, upstream: Target, state: Path, database: Database | None, *, is_replica: bool = False
) -> Iterator[Target]:
    """On DuckDB files without a database. A turn is over once its calls are stored: what a gateway stores
    later takes the core of the next one's turn."""
    text = f'version = 1\n[server]\nstate_key = "{STATE_KEY}"\ndrain = "0s"\n'
    if database is not None:
        text += f'[record]\nstore = "{database.dsn}"\n'
    if is_replica and database is not None:
        text += f'[replicas]\ndatabase = "{database.dsn}"\nlisten = "127.0.0.1:0"\n'
    with serving(cores, state, text + http_server("echo", upstream), {}) as (base, pid):
        yield Target(state.name, f"{base}/servers/echo/mcp", pid, quiet_s=STORED_S)


def relay(
    cores: Cores,
    upstream: Target,
    folder: Path,
    database: Database,
    postmaster: int,
    rounds: int,
    seconds: float,
) -> list[Figure]:
    """64 connections, in turns: as fast as they can, then at half of that. Each turn is longer than DuckDB
    puts its storing off; else it would be measured without. Both gateways have the same core."""
    turn_s = max(seconds, _RELAY_S)
    with ExitStack() as stack:
        files = stack.enter_context(gateway(cores, upstream, folder / "duckdb", None))
        rows = stack.enter_context(gateway(cores, upstream, folder / "postgres", database))
        targets = rows, files

        def turns(rate: float | None) -> list[tuple[Sample, Sample]]:
            found = [[measure(target, 64, turn_s, cores, rate) for target in targets] for _ in range(rounds)]
            return [(ours, theirs) for ours, theirs in found]

        before = cpu_s(postmaster)
        fast = turns(None)
        calls = sum(ours.rps for ours, _ in fast) * turn_s
        server_us = (cpu_s(postmaster) - before) / calls * 1e6
        rate = min(sample.rps for pair in fast for sample in pair) / 2
        half = turns(rate)

    def part(
        pairs: list[tuple[Sample, Sample]], of: Callable[[Sample], float], unit: str
    ) -> tuple[float, str]:
        found = statistics.median(of(ours) / of(theirs) for ours, theirs in pairs)
        ours, theirs = (statistics.median(of(pair[at]) for pair in pairs) for at in (0, 1))
        return found, f"{found:.2f} ({ours:,.4g} against {theirs:,.4g} {unit})"

    speed, told = part(fast, lambda one: one.rps, "req/s")
    late, told_late = part(fast, lambda one: one.p99_ms, "ms")
    of_half = [part(half, lambda one: one.p99_ms, "ms")[1], part(half, lambda one: one.cpu_us, "µs")[1]]
    return [
        Figure("relay throughput, store PostgreSQL : DuckDB", "≥ 0.95", told, speed >= 0.95),
        Figure("the same for p99", "≤ 1.2", told_late, late <= 1.2),
        Figure(
            "the same for the gateway's own CPU a call",
            "reported",
            f"{part(fast, lambda one: one.cpu_us, 'µs')[1]}; PostgreSQL's own {server_us:.0f} µs",
        ),
        Figure(
            f"at half of that rate ({rate:,.0f} req/s)", "reported", f"p99 {of_half[0]}; CPU {of_half[1]}"
        ),
    ]


class Caller:
    """One kept connection of a handshake client."""

    def __init__(self, url: str, session: str = "") -> None:
        split = urlsplit(url)
        self.port, self._path = split.port or 80, split.path
        self.session = session

    async def open(self) -> "Caller":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        if not self.session:
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            }
            head = await self._ask({"id": 0, "method": "initialize", "params": hello})
            self.session = _header(head, "mcp-session-id")
            await self._ask({"method": "notifications/initialized"})
        self._call = self._request(
            {"id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x" * 300}}}
        )
        return self

    async def call(self) -> None:
        self._writer.write(self._call)
        head = await self._answer()
        assert " 200 " in head.partition("\r\n")[0], head

    def close(self) -> None:
        self._writer.close()

    def _request(self, message: dict[str, object]) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        more = f"mcp-session-id: {self.session}\r\n" if self.session else ""
        return _HEAD.format(path=self._path, more=more, size=len(body)).encode() + body

    async def _ask(self, message: dict[str, object]) -> str:
        self._writer.write(self._request(message))
        return await self._answer()

    async def _answer(self) -> str:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        await self._reader.readexactly(int(_header(head, "content-length") or 0))
        return head


def _header(head: str, name: str) -> str:
    return next(
        (line.partition(": ")[2] for line in head.split("\r\n") if line.lower().startswith(f"{name}:")), ""
    )


async def hop(cores: Cores, upstream: Target, folder: Path, database: Database, calls: int) -> list[Figure]:
    """The same sessions' calls, at their home and at the other replica, in turns of `calls`: one after the
    other, and by 32 connections at once."""
    with ExitStack() as stack:
        home, other = (
            stack.enter_context(gateway(cores, upstream, folder / name, database, is_replica=True))
            for name in ("home", "other")
        )
        alone = await _hopped(home, other, calls, 1)
        busy = await _hopped(home, other, 4 * calls, 32)
    return [
        Figure("a hopped call : a direct one, p50", "≤ 2.0", alone.slower, alone.slower_by <= 2.0),
        Figure("the same, CPU of all gateways together", "≤ 1.8", alone.dearer, alone.dearer_by <= 1.8),
        Figure("the same two by 32 connections at once", "reported", f"p50 {busy.slower}; CPU {busy.dearer}"),
    ]


@dataclass(frozen=True)
class _Hopped:
    """p50 in ms and CPU in µs a call, direct and passed on."""

    p50_ms: tuple[float, float]
    cpu_us: tuple[float, float]

    @property
    def slower_by(self) -> float:
        return self.p50_ms[1] / self.p50_ms[0]

    @property
    def dearer_by(self) -> float:
        return self.cpu_us[1] / self.cpu_us[0]

    @property
    def slower(self) -> str:
        return f"{self.slower_by:.2f} ({self.p50_ms[1]:.2f} against {self.p50_ms[0]:.2f} ms)"

    @property
    def dearer(self) -> str:
        return f"{self.dearer_by:.2f} ({self.cpu_us[1]:.0f} against {self.cpu_us[0]:.0f} µs)"


async def _hopped(home: Target, other: Target, calls: int, connections: int) -> _Hopped:
    direct = [await Caller(home.url).open() for _ in range(connections)]
    passed = [await Caller(other.url, caller.session).open() for caller in direct]
    waits: tuple[list[float], list[float]] = ([], [])
    spent = [0.0, 0.0]

    async def call(caller: Caller, took: list[float]) -> None:
        for _ in range(calls // connections):
            begun = time.perf_counter()
            await caller.call()
            took.append(time.perf_counter() - begun)

    for place in range(8):
        for at, callers in enumerate((direct, passed)):
            before = cpu_s(home.pid) + cpu_s(other.pid)
            took: list[float] = []
            await asyncio.gather(*(call(caller, took) for caller in callers))
            if place:  # the first turn is to warm up
                waits[at].extend(took)
                spent[at] += cpu_s(home.pid) + cpu_s(other.pid) - before
    for caller in (*direct, *passed):
        caller.close()
    p50_ms = tuple(statistics.median(took) * 1e3 for took in waits)
    cpu_us = tuple(used / len(took) * 1e6 for used, took in zip(spent, waits, strict=True))
    return _Hopped((p50_ms[0], p50_ms[1]), (cpu_us[0], cpu_us[1]))


async def staleness(
    cores: Cores, upstream: Target, folder: Path, database: Database, rate: float, seconds: float
) -> list[Figure]:
    """Three replicas at `rate` calls a second each. The database must keep commit times."""
    with ExitStack() as stack:
        running = [
            stack.enter_context(gateway(cores, upstream, folder / f"stale-{n}", database, is_replica=True))
            for n in range(3)
        ]
        callers = [await Caller(target.url).open() for target in running]
        async with _calling(callers, rate):
            await asyncio.sleep(3)  # the first flushes open connections
            since = datetime.now().astimezone()
            await asyncio.sleep(seconds)
        await asyncio.sleep(3)
        stored = _until_stored(database, since)
        heard: list[float] = []
        async with _listening(running[0].url, heard):
            async with _calling(callers, rate):
                await asyncio.sleep(3)
                heard.clear()
                since = datetime.now().astimezone()
                await asyncio.sleep(seconds)
            await asyncio.sleep(2)
        stored_soon = _until_stored(database, since)
        for caller in callers:
            caller.close()
    kept, live = _p99(stored), _p99(heard)
    parts = (
        f"p50 {_p50(heard):.2f}; until it is stored p50 {_p50(stored_soon):.2f}, p99 {_p99(stored_soon):.2f}"
    )
    return [
        Figure(
            f"staleness p99, three replicas at {rate:g} ev/s each", "≤ 2 s",
            f"{kept:.2f} s (p50 {_p50(stored):.2f}, {len(stored):,} calls)", kept <= 2,
        ),
        Figure(
            "the same while watched, at one replica's live stream", "≤ 0.8 s",
            f"{live:.2f} s ({parts}; {len(heard):,} calls)", live <= 0.8,
        ),
    ]  # fmt: skip


def _until_stored(database: Database, since: datetime) -> list[float]:
    """How long after its end each call was committed, in seconds."""
    lag = "extract(epoch FROM pg_xact_commit_timestamp(xmin) - (ts AT TIME ZONE 'UTC'))::float8"
    found = database.run(
        f"SELECT {lag} - coalesce(duration_ms, 0) / 1e3 FROM callgate_store.rpc_events"
        f" WHERE tool_name IS NOT NULL AND ts > '{since.isoformat()}'::timestamptz AT TIME ZONE 'UTC'"
    )
    return [float(value) for value in found.split()]


@asynccontextmanager
async def _calling(callers: list[Caller], rate: float) -> AsyncIterator[None]:
    async def call_at_rate(caller: Caller) -> None:
        begun, made = time.monotonic(), 0
        while True:
            await caller.call()
            made += 1
            await asyncio.sleep(max(0.0, begun + made / rate - time.monotonic()))

    tasks = [asyncio.create_task(call_at_rate(caller)) for caller in callers]
    try:
        yield
        failed = [task.exception() for task in tasks if task.done()]
        assert not failed, failed
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for caller in callers:  # an answer may have been under way
            caller.close()
            await caller.open()


@asynccontextmanager
async def _listening(url: str, heard: list[float]) -> AsyncIterator[None]:
    """How late each settled call was told, in seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port or 80)
    writer.write(b"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n")

    async def hear() -> None:
        async for line in reader:
            if not line.startswith(b"data: "):
                continue
            now = time.time()
            found = json.loads(line[6:])
            if found.get("type") == "tool_calls.settled":
                row = found["data"]
                began = datetime.fromisoformat(row["timestamp"]).timestamp()
                heard.append(now - began - (row["duration_ms"] or 0) / 1e3)

    task = asyncio.create_task(hear())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        writer.close()


def _p50(values: list[float]) -> float:
    return statistics.median(values) if values else float("inf")


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98] if len(values) > 1 else float("inf")


def memory(cores: Cores, upstream: Target, folder: Path, database: Database) -> list[Figure]:
    with ExitStack() as stack:
        alone = stack.enter_context(gateway(cores, upstream, folder / "alone", None))
        stored = stack.enter_context(gateway(cores, upstream, folder / "stored", database))
        joined = stack.enter_context(gateway(cores, upstream, folder / "joined", database, is_replica=True))
        time.sleep(8)  # each has beaten, flushed and met its server
        mb = {target.name: memory_kb(target.pid)[0] / 1024 for target in (alone, stored, joined)}
    part = mb["joined"] / mb["alone"]
    sizes = (
        f"{mb['joined']:.1f} against {mb['alone']:.1f} MB; {mb['stored']:.1f} with PostgreSQL as store alone"
    )
    told = f"{part:.2f} ({sizes})"
    return [Figure("idle memory with `[replicas]` : without, on DuckDB files", "≤ 1.15", told, part <= 1.15)]


def with_database(server: Database, name: str) -> Database:
    server.run(f"CREATE DATABASE {name}")
    return replace(server, database=name)
