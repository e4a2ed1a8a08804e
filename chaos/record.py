"""The record under kill -9, a full disk and a blocked store: nothing lost, nothing doubled, nobody waits."""

import argparse
import asyncio
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _calls import a_call, a_session, open_recorder

from callgate.ports.record_reader import Query
from callgate.recorder.reader import Reader
from callgate.recorder.recorder import Recorder
from callgate.recorder.store import Store

VICTIM = Path(__file__).parent / "_victim.py"


class TrialError(Exception):
    """What should have held did not."""


async def ask(recorder: Recorder, sql: str) -> list[Any]:
    return list((await Reader(recorder).query(Query(sql, max_rows=10_000_000, timeout_s=120))).rows)


def expect(held: bool, sentence: str) -> None:
    print(f"  {'ok  ' if held else 'FAIL'} {sentence}")
    if not held:
        raise TrialError(sentence)


# ---- kill -9


def answered_until_killed(folder: Path, rate: float, after_s: float) -> list[str]:
    command = [sys.executable, str(VICTIM), str(folder), str(rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        victim.stdout.readline()
        time.sleep(after_s)
        victim.send_signal(signal.SIGKILL)
        said = victim.stdout.read().decode().split("\n")
    return said[:-1]  # the last line may be cut: that one was not answered yet


async def kill(options: argparse.Namespace) -> None:
    print(f"kill -9, {options.rounds} rounds at {options.rate:g} calls/s")
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "record"
        answered: list[str] = []
        for number in range(options.rounds):
            some = answered_until_killed(folder, options.rate, chance.uniform(0.05, options.longest))
            answered += some
            print(f"\r  round {number + 1}: {len(answered)} answered", end="", flush=True)
        print()
        recorder = open_recorder(folder)
        begun = time.monotonic()
        stored = [row[0] for row in await ask(recorder, "SELECT id::VARCHAR FROM rpc_events WHERE ok")]
        took_s = time.monotonic() - begun
        lost, doubled = set(answered) - set(stored), len(stored) - len(set(stored))
        expect(not lost, f"{len(lost)} of {len(answered)} answered calls lost")
        expect(not doubled, f"{doubled} of {len(stored)} doubled")
        (still_open,) = await ask(recorder, "SELECT count(*) FROM rpc_events WHERE outcome IS NULL")
        expect(still_open == (0,), f"{still_open[0]} calls still open")
        print(f"  last recovery and first read: {took_s:.2f} s")
        await recorder.close()
    await recover(options)


async def recover(options: argparse.Namespace) -> None:
    """Ten thousand journalled calls that no store has seen."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "record"
        writer = open_recorder(folder, keeps_store=False)  # it looks for the store once a minute
        session = a_session()
        for _ in range(options.backlog):
            writer.emit(a_call(session))
        written = writer.written()
        assert written is not None
        await written
        recorder = open_recorder(folder)
        begun = time.monotonic()
        (found,) = await ask(recorder, "SELECT count(*) FROM rpc_events")
        took_s = time.monotonic() - begun
        expect(found[0] == options.backlog, f"{found[0]} of {options.backlog} recovered")
        per_10k_s = took_s * 10_000 / options.backlog
        print(f"  {took_s:.2f} s, or {per_10k_s:.2f} s for 10,000 (limit 2)")
        await recorder.close()
        await writer.close()


# ---- a full disk


@contextmanager
def small_disk(size_mib: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", name],
            capture_output=True,
            check=False,
        )
        if mounted.returncode != 0:
            raise TrialError(f"a small disk needs root: {mounted.stderr.decode().strip()}")
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=False)


async def disk(options: argparse.Namespace) -> None:
    print(f"disk full for {options.full_s:g} s at {options.rate:g} calls/s")
    with small_disk(48) as folder:
        recorder = open_recorder(folder / "record")
        await ask(recorder, "SELECT 1")  # the store is open: it meets the full disk too
        session = a_session()
        emitted: list[str] = []

        async def emit_for(seconds: float) -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                for _ in range(max(1, int(options.rate * 0.01))):
                    event = a_call(session)
                    emitted.append(event.exchange.exchange_id)
                    recorder.emit(event)
                await asyncio.sleep(0.01)

        await emit_for(1.0)
        filler = folder / "filler"
        fill(filler)
        troubled = False
        until = time.monotonic() + options.full_s
        while time.monotonic() < until:
            await emit_for(0.5)
            troubled = troubled or recorder.problem() is not None
        expect(troubled, "the trouble was told")
        filler.unlink()
        await emit_for(1.0)
        for _ in range(20):  # back without a restart, at its own next try
            if recorder.problem() is None:
                break
            await asyncio.sleep(0.5)
        expect(recorder.problem() is None, "it came back by itself")
        stored = [row[0] for row in await ask(recorder, "SELECT id::VARCHAR FROM rpc_events")]
        gaps = await ask(
            recorder, "SELECT coalesce(sum(count), 0) FROM gaps WHERE reason LIKE 'not recorded%'"
        )
        missing = len(set(emitted) - set(stored))
        expect(len(stored) == len(set(stored)), f"{len(stored) - len(set(stored))} doubled")
        expect(missing == gaps[0][0], f"{missing} of {len(emitted)} missing, the record says {gaps[0][0]}")
        await recorder.close()


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            return


# ---- a blocked store


async def blocked(options: argparse.Namespace) -> None:
    print(f"store blocked for {options.blocked_s:g} s at {options.rate:g} calls/s")
    with tempfile.TemporaryDirectory() as name:
        recorder = open_recorder(Path(name) / "record")
        session = a_session()
        made = 0

        async def one(waits: list[float]) -> None:
            nonlocal made
            made += 1
            begun = time.perf_counter()
            recorder.emit(a_call(session))
            written = recorder.written()
            assert written is not None
            await written
            waits.append((time.perf_counter() - begun) * 1000)

        async def run_for(seconds: float) -> float:
            waits: list[float] = []
            tasks: list[asyncio.Task[None]] = []
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                tasks += [asyncio.create_task(one(waits)) for _ in range(max(1, int(options.rate * 0.005)))]
                await asyncio.sleep(0.005)
            await asyncio.gather(*tasks)
            return statistics.quantiles(waits, n=100)[98]

        await ask(recorder, "SELECT 1")  # the store is open
        before = await run_for(options.blocked_s)
        genuine = Store.write
        try:
            Store.write = lambda self, batch: (time.sleep(options.blocked_s), genuine(self, batch))[1]
            during = await run_for(options.blocked_s)
        finally:
            Store.write = genuine
        after = await run_for(options.blocked_s)
        print(f"  p99 until written: {before:.2f} ms before, {during:.2f} ms blocked, {after:.2f} ms after")
        print(f"  blocked is {during / max(before, after):.2f} times the usual")
        expect(during < options.blocked_s * 500, "no reply waited for the store")
        (found,) = await ask(recorder, "SELECT count(*) FROM rpc_events")
        expect(found[0] == made, f"{found[0]} of {made} stored")
        await recorder.close()


TRIALS = {"kill": kill, "disk": disk, "blocked": blocked}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/chaos record", description=__doc__)
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"{', '.join(TRIALS)}; all if none")
    parser.add_argument("--rounds", type=int, default=100, help="of kill -9")
    parser.add_argument("--rate", type=float, default=1000.0, help="calls a second")
    parser.add_argument("--longest", type=float, default=1.0, help="seconds until a kill at most")
    parser.add_argument("--backlog", type=int, default=10_000, help="journalled calls to recover")
    parser.add_argument("--full-s", type=float, default=10.0, help="how long the disk is full")
    parser.add_argument("--blocked-s", type=float, default=5.0, help="how long the store is blocked")
    parser.add_argument("--seed", type=int, default=6)
    options = parser.parse_args()
    if unknown := set(options.trials) - TRIALS.keys():
        parser.error(f"no such trial: {', '.join(sorted(unknown))}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in options.trials or TRIALS:
        try:
            asyncio.run(TRIALS[name](options))
        except TrialError:
            sys.exit(1)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"done; {used.ru_utime + used.ru_stime:.0f} s of CPU")


if __name__ == "__main__":
    main()
