"""Gateways that share a record in PostgreSQL, killed and cut off, and it crashes: no call lost or doubled.

Recorders run as processes of their own, each with a state folder, and their storing processes are killed too.
They reach the database through a proxy that resets, hangs, delays and cuts connections, and swallows answers
to COMMIT. The database writes to its disk (fsync). It is crashed by kill -9 of its WAL writer: it then ends
all sessions and recovers from its log.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
from _proxy import proxy_to
from _trial import expect, run_trials

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _gateways import Failover, full, parked
from _homes import deploy, homes
from _outage import outage
from databases.database import Database
from databases.postgres import postgres_server

_PROGRAM = Path(__file__).parent / "_recorder.py"
_FSYNC = ("fsync=on", "synchronous_commit=on", "full_page_writes=on", "max_connections=200")
# Numbers of one process's calls, apart from any other's.
_OF_A_PROCESS = 1_000_000
_MOST_WAIT_S = 180.0


class Writer:
    """One gateway's recorder, started again on its folder each time it is killed."""

    def __init__(self, folder: Path, place: int, rate: float, dsn: str) -> None:
        self._folder = folder
        self._rate = rate
        self._dsn = dsn
        self._first = place * 1000 * _OF_A_PROCESS
        self._process: asyncio.subprocess.Process | None = None
        self._hearing: asyncio.Task[None] | None = None
        self._is_answering = asyncio.Event()
        self.answered: list[int] = []

    async def start(self) -> None:
        self._is_answering.clear()
        self._first += _OF_A_PROCESS
        with (self._folder / "stderr.log").open("a") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, str(_PROGRAM), str(self._folder), str(self._first), str(self._rate),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write(f"{self._dsn}\n".encode())
        self._hearing = asyncio.create_task(self._hear(self._process))

    async def end(self, by: signal.Signals) -> None:
        """Once it has answered a call: a start takes longer than a round."""
        assert self._process is not None
        assert self._hearing is not None
        await asyncio.wait_for(self._is_answering.wait(), _MOST_WAIT_S)
        self._process.send_signal(by)
        await asyncio.wait_for(self._process.wait(), _MOST_WAIT_S)
        await self._hearing

    def kill_storing(self) -> bool:
        """Its storing process, if there is one now."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task").glob("*/children")
        pids = [int(pid) for listed in children for pid in listed.read_text().split()]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(pids)

    async def is_storing(self, database: Database) -> None:
        """Waits until one of its calls is in the record."""
        await asyncio.wait_for(self._is_answering.wait(), _MOST_WAIT_S)
        await until_stored(database, set(self.answered[:1]))

    async def _hear(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            if line.endswith(b"\n"):
                self.answered.append(int(line))
                self._is_answering.set()


@contextmanager
def database_of_its_own() -> Any:
    with postgres_server(*_FSYNC) as server:
        server.run("CREATE DATABASE chaos")
        yield replace(server, database="chaos")


async def stored(database: Database) -> Counter[int]:
    """How often each call is in the record, by its number. None while the database recovers, or has no tables
    yet."""
    try:
        connection = await asyncpg.connect(database.dsn)
        try:
            rows = await connection.fetch(
                "SELECT rpc_id::bigint AS number, count(*) AS times FROM callgate.rpc_events GROUP BY 1"
            )
        finally:
            connection.terminate()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return Counter[int]()
    return Counter({row["number"]: row["times"] for row in rows})


async def crash(database: Database) -> None:
    """Raises nothing where it is just recovering."""
    try:
        connection = await asyncpg.connect(database.dsn, timeout=5)
        pid = await connection.fetchval("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
        os.kill(pid, signal.SIGKILL)
        connection.terminate()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return


async def until_stored(database: Database, answered: set[int]) -> Counter[int]:
    deadline = time.monotonic() + _MOST_WAIT_S
    while True:
        found = await stored(database)
        if answered <= found.keys() or time.monotonic() > deadline:
            return found
        await asyncio.sleep(0.2)


def expect_all_once(answered: set[int], found: Counter[int]) -> None:
    lost = answered - found.keys()
    doubled = [number for number, times in found.items() if times > 1]
    expect(not lost, f"{len(lost)} of {len(answered)} answered calls lost")
    expect(not doubled, f"{len(doubled)} of {found.total()} stored calls doubled")


async def kill(options: argparse.Namespace) -> None:
    print(
        f"{options.writers} recorders at {options.rate:g} calls/s in all, {options.rounds} kills,"
        f" {options.crashes} crashes of PostgreSQL"
    )
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name, database_of_its_own() as database:
        async with proxy_to(database.port, chance) as (proxy, port):
            writers = await _started(Path(name), replace(database, port=port), options)
            for writer in writers:
                await writer.is_storing(database)
            crash_at = set(chance.sample(range(options.rounds), min(options.crashes, options.rounds)))
            storing = 0
            for number in range(options.rounds):
                for _ in range(3):
                    await asyncio.sleep(chance.uniform(0.05, options.longest / 3))
                    proxy.disturb()
                storing += chance.choice(writers).kill_storing()
                if number in crash_at:
                    await crash(database)
                victim = chance.choice(writers)
                await victim.end(signal.SIGKILL)
                await victim.start()
                told = sum(len(writer.answered) for writer in writers)
                print(f"\r  round {number + 1}: {told} answered", end="", flush=True)
            print(f"\n  to connections: {proxy.happened}; {storing} storing processes killed")
            expect(storing > 0, "a storing process was killed")
            proxy.calm()
            begun = time.monotonic()
            for writer in writers:
                await writer.end(signal.SIGTERM)
            answered = {number for writer in writers for number in writer.answered}
            # What a killed recorder left is drained by the next on its folder; a last flush may have failed.
            for writer in writers:
                await writer.start()
            found = await until_stored(database, answered)
            print(f"  all stored {time.monotonic() - begun:.1f} s after the last fault")
            for writer in writers:
                await writer.end(signal.SIGTERM)
            expect_all_once(answered, await stored(database))
            expect(answered <= found.keys(), "everything was stored by living recorders")


async def away(options: argparse.Namespace) -> None:
    print(f"the database away for {options.away_s:g} s at {options.rate:g} calls/s in all")
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name, database_of_its_own() as database:
        async with proxy_to(database.port, chance) as (proxy, port):
            writers = await _started(Path(name), replace(database, port=port), options)
            for writer in writers:
                await writer.is_storing(database)
            proxy.refuse()
            await asyncio.sleep(options.away_s)
            waited = {number for writer in writers for number in writer.answered}
            proxy.accept()
            begun = time.monotonic()
            await until_stored(database, waited)
            took_s = time.monotonic() - begun
            for writer in writers:
                await writer.end(signal.SIGTERM)
            answered = {number for writer in writers for number in writer.answered}
            expect_all_once(answered, await stored(database))
            print(
                f"  caught up {took_s:.1f} s after it was back: {options.away_s / took_s:.1f} times real time"
            )


async def _started(folder: Path, database: Database, options: argparse.Namespace) -> list[Writer]:
    writers: list[Writer] = []
    for place in range(options.writers):
        (folder / str(place)).mkdir(mode=0o700)
        rate = options.rate / options.writers
        writers.append(Writer(folder / str(place), place + 1, rate, database.dsn))
        await writers[-1].start()
    return writers


failover = Failover(_started, until_stored, expect_all_once, stored)
TRIALS = {
    "kill": kill,
    "away": away,
    "failover": failover,
    "full": full,
    "parked": parked,
    "homes": homes,
    "deploy": deploy,
    "outage": outage,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/chaos replicas", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="kills of a recorder")
    parser.add_argument("--crashes", type=int, default=10, help="of PostgreSQL, among these rounds")
    parser.add_argument("--writers", type=int, default=3, help="recorders")
    parser.add_argument("--rate", type=float, default=1000.0, help="calls a second, of all together")
    parser.add_argument("--longest", type=float, default=2.0, help="seconds of a round, at most")
    parser.add_argument("--away-s", type=float, default=60.0, help="how long the database is away")
    parser.add_argument("--relay-rate", type=float, default=200.0, help="calls a second, of `outage`")
    parser.add_argument("--lag-s", type=float, default=3.0, help="how much of its end the standby lacks")
    parser.add_argument(
        "--journal-mib", type=int, default=8, help="how much may wait while the store is away"
    )
    parser.add_argument("--parked", type=int, default=200, help="calls that wait for an answer at once")
    parser.add_argument("--homes", type=int, default=3, help="kills of a home, of each kind")
    parser.add_argument("--seed", type=int, default=17)
    run_trials(parser, TRIALS)


if __name__ == "__main__":
    main()
