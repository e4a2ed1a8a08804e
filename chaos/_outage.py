"""A trial of `scripts/chaos replicas`: what clients notice while the store is away. They should not."""

import argparse
import asyncio
import itertools
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from _http import read_message, request
from _load import Load
from _trial import expect
from _upstream import echo_upstream
from databases.postgres import postgres_server
from replicas.fleet import Fleet, running_fleet
from stores.postgres.way import Way, way_to
from waiting import until

_FSYNC = ("fsync=on", "synchronous_commit=on", "full_page_writes=on")
_ASK_EVERY_S = 0.25
_WINDOW_S = 5.0
_BURST = 20_000  # calls, as fast as 32 connections can
_IDS = itertools.count(1, 10_000_000)


async def outage(options: argparse.Namespace) -> None:
    """The same run before, during and after: paced calls for the p99, bursts for the throughput."""
    print(f"a gateway at {options.relay_rate:g} calls/s, its store away for {options.away_s:g} s")
    with postgres_server(*_FSYNC) as server, way_to(server.port) as way:
        async with echo_upstream() as upstream:
            reached = replace(server, port=way.port)
            entry = f'[mcpServers.echo]\nurl = "{upstream}"\n'
            async with running_fleet(server, reached, count=1, servers=entry) as fleet:
                await _Outage(fleet, way, options).run()


@dataclass(frozen=True)
class _Window:
    """What a few seconds of paced calls were like. Several, so that one disturbance does not decide."""

    p99_ms: float
    cpu_us: float  # of the gateway, a call


def _cpu_s(pid: int) -> float:
    """What clock_getcpuclockid(3) gives for a process: its clock."""
    return time.clock_gettime((~pid << 3) | 2)


def _median(windows: list[_Window], of: str) -> float:
    return statistics.median(getattr(window, of) for window in windows)


class _Outage:
    def __init__(self, fleet: Fleet, way: Way, options: argparse.Namespace) -> None:
        self._fleet, self._way, self._options = fleet, way, options
        self._port, self._pid = fleet.replicas[0].port, fleet.replicas[0].process.pid
        self._answered: set[int] = set()

    async def run(self) -> None:
        rate, away_s = self._options.relay_rate, self._options.away_s
        await self._paced(2)  # connections, tables and code are warm
        async with self._asking_readiness() as readiness:
            around = await self._paced(away_s / 2)
            self._way.cut()
            during = await self._paced(away_s)
            waiting = len(self._answered)
            before = self._stored().total()
            self._way.restore()
            begun = time.monotonic()
            await until(lambda: self._stored().total() > before, 60)
            tried = time.monotonic()
            await until(lambda: self._stored().total() >= waiting, 300)
            took_s = time.monotonic() - tried
            around += await self._paced(away_s / 2)
            bursts: dict[bool, list[float]] = {False: [], True: []}
            for is_away in (False, True, False, True, False):
                if is_away:
                    self._way.cut()
                bursts[is_away].append(await self._burst())
                self._way.restore()
                # What is still stored from one burst must not slow the next.
                await until(lambda: self._stored().total() >= len(self._answered), 300)
        late, dearer = (_median(during, of) / _median(around, of) for of in ("p99_ms", "cpu_us"))
        speed = statistics.mean(bursts[True]) / statistics.mean(bursts[False])
        expect(set(readiness) == {200}, f"/readyz said 200 {readiness[200]} times of {readiness.total()}")
        back_s = tried - begun
        expect(
            back_s <= 12, f"the store was tried again {back_s:.1f} s after it was back (pauses of up to 10 s)"
        )
        times = (waiting - before) / rate / max(took_s, 0.05)
        told = f"{waiting - before} calls that waited were stored within {took_s:.1f} s from then on"
        expect(times >= 5, f"{told}: {times:.0f} × real time")
        found = self._stored()
        lost = self._answered - found.keys()
        doubled = [number for number, count in found.items() if count > 1]
        expect(
            not lost and not doubled, f"{len(self._answered)} calls: {len(lost)} lost, {len(doubled)} doubled"
        )
        shown = " against ".join(f"{_median(windows, 'cpu_us'):.0f}" for windows in (during, around))
        expect(dearer <= 1.1, f"CPU of the gateway: {dearer:.2f} × that around it ({shown} µs a call)")
        shown = " against ".join(f"{_median(windows, 'p99_ms'):.1f}" for windows in (during, around))
        windows = f"medians of {len(during)} and {len(around)} windows"
        expect(late <= 1.1, f"p99 of the relay: {late:.2f} × that around it ({shown} ms, {windows})")
        told = " and ".join(f"{statistics.mean(bursts[is_away]):,.0f}" for is_away in (True, False))
        expect(speed >= 0.9, f"throughput: {speed:.2f} × ({told} calls/s)")

    async def _paced(self, seconds: float) -> list[_Window]:
        windows: list[_Window] = []
        for _ in range(max(1, round(seconds / _WINDOW_S))):
            load, before = self._load(), _cpu_s(self._pid)
            await load.run(self._options.relay_rate, min(seconds, _WINDOW_S))
            self._answered.update(load.answered)
            cpu_us = (_cpu_s(self._pid) - before) / len(load.answered) * 1e6
            windows.append(_Window(statistics.quantiles(load.waits_ms, n=100)[98], cpu_us))
        return windows

    async def _burst(self) -> float:
        """Calls a second."""
        load = self._load()
        begun = time.monotonic()
        await load.run(_BURST / 0.01, 0.01)
        self._answered.update(load.answered)
        return len(load.answered) / (time.monotonic() - begun)

    def _load(self) -> Load:
        return Load(f"http://127.0.0.1:{self._port}/servers/echo/mcp", next(_IDS))

    def _stored(self) -> Counter[int]:
        """How often each call is in the record, by its number."""
        rows = self._fleet.ask(
            "SELECT rpc_id, count(*) FROM callgate.rpc_events WHERE method = 'tools/call' GROUP BY 1"
        )
        return Counter({int(number): int(count) for number, count in rows})

    @asynccontextmanager
    async def _asking_readiness(self) -> AsyncIterator[Counter[int]]:
        found = Counter[int]()

        async def ask() -> None:
            while True:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                writer.write(request("GET", "/readyz", b"", {}))
                first, _, _ = await read_message(reader)
                found[int(first.split()[1])] += 1
                writer.close()
                await asyncio.sleep(_ASK_EVERY_S)

        asking = asyncio.create_task(ask())
        try:
            yield found
        finally:
            asking.cancel()
            await asyncio.wait([asking])
