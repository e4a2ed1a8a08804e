"""The record under kill -9, a full disk and a blocked store: nothing lost, nothing doubled, nobody waits.

Every trial drives whole gateways (`callgate serve`) with clients over HTTP.
"""

import argparse
import asyncio
import random
import signal
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from _calls import a_call, a_session, open_recorder
from _gateway import STUCK, Gateway, running_gateway
from _load import Load
from _trial import TrialError, expect, run_trials
from _upstream import echo_upstream

# Ids of one round's calls, apart from any other's.
_ROUND_IDS = 1_000_000
_CALLS = "SELECT rpc_id::BIGINT FROM rpc_events WHERE method = 'tools/call'"


async def recorded(gateway: Gateway, where: str = "") -> Counter[int]:
    """How often each call is in the record, by its id. By the page: an answer has at most 10,000 rows."""
    found: Counter[int] = Counter()
    while True:
        page = await gateway.ask(f"{_CALLS}{where} ORDER BY 1 OFFSET {found.total()}")
        found.update(int(row[0]) for row in page)
        if len(page) < 10_000:
            return found


def expect_all_once(answered: Sequence[int], found: Counter[int]) -> None:
    lost, doubled = set(answered) - found.keys(), [number for number, times in found.items() if times > 1]
    expect(not lost, f"{len(lost)} of {len(answered)} answered calls lost")
    expect(not doubled, f"{len(doubled)} of {found.total()} doubled")


# ---- kill -9


async def kill(options: argparse.Namespace) -> None:
    print(f"kill -9 of a gateway, {options.rounds} rounds at {options.rate:g} calls/s")
    chance = random.Random(options.seed)
    answered: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        async with echo_upstream() as upstream:
            for number in range(options.rounds):
                async with running_gateway(state, upstream) as gateway:
                    load = Load(gateway.echo, number * _ROUND_IDS)
                    running = asyncio.create_task(load.run(options.rate, 3600))
                    await asyncio.sleep(chance.uniform(0.1, options.longest))
                    await gateway.kill()
                    await running
                answered += load.answered
                print(f"\r  round {number + 1}: {len(answered)} answered", end="", flush=True)
            print()
            async with running_gateway(state, upstream) as gateway:
                begun = time.monotonic()
                found = await recorded(gateway, " AND ok")
                print(f"  last recovery and first read: {time.monotonic() - begun:.2f} s")
                expect_all_once(answered, found)
                (still_open,) = await gateway.ask("SELECT count(*) FROM rpc_events WHERE outcome IS NULL")
                expect(still_open == [0], f"{still_open[0]} calls still open")


async def recover(options: argparse.Namespace) -> None:
    print(f"{options.backlog} journalled calls that no store has seen")
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        writer = open_recorder(state / "record", keeps_store=False)  # it looks for the store once a minute
        session = a_session()
        for _ in range(options.backlog):
            writer.emit(a_call(session))
        written = writer.written()
        assert written is not None
        await written
        async with echo_upstream() as upstream, running_gateway(state, upstream) as gateway:
            begun = time.monotonic()
            (found,) = await gateway.ask("SELECT count(*) FROM rpc_events")
            took_s = time.monotonic() - begun
            expect(found[0] == options.backlog, f"{found[0]} of {options.backlog} recovered")
            per_10k_s = took_s * 10_000 / options.backlog
            print(f"  {took_s:.2f} s, or {per_10k_s:.2f} s for 10,000 (limit 2)")
        await writer.close()


async def three(options: argparse.Namespace) -> None:
    rounds = max(1, options.rounds // 10)
    print(f"three gateways on one folder, killed in turn, {rounds} rounds at {options.rate:g} calls/s")
    answered: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        async with echo_upstream() as upstream:
            for number in range(rounds):
                loads = await _three_killed(state, upstream, 3 * number * _ROUND_IDS, options)
                answered += [call for load in loads for call in load.answered]
                print(f"\r  round {number + 1}: {len(answered)} answered", end="", flush=True)
            print()
            async with running_gateway(state, upstream) as gateway:
                expect_all_once(answered, await recorded(gateway, " AND ok"))


async def _three_killed(state: Path, upstream: str, first_id: int, options: argparse.Namespace) -> list[Load]:
    async with AsyncExitStack() as stack:
        gateways = [await stack.enter_async_context(running_gateway(state, upstream)) for _ in range(3)]
        loads = [Load(one.echo, first_id + place * _ROUND_IDS) for place, one in enumerate(gateways)]
        running = [asyncio.create_task(load.run(options.rate / 3, 3600)) for load in loads]
        for gateway in gateways:
            await asyncio.sleep(options.longest / 2)
            await gateway.kill()
        await asyncio.gather(*running)
        return loads


# ---- a full disk


@contextmanager
def small_disk(size_mib: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m,mode=0700", "tmpfs", name]
        mounted = subprocess.run(mount, capture_output=True, check=False)
        if mounted.returncode != 0:
            raise TrialError(f"a small disk needs root: {mounted.stderr.decode().strip()}")
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=False)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            return


async def disk(options: argparse.Namespace) -> None:
    print(f"disk full for {options.full_s:g} s at {options.rate:g} calls/s")
    with small_disk(64) as state:
        async with echo_upstream() as upstream, running_gateway(state, upstream) as gateway:
            # Long enough that ten seconds of it are more than a gateway keeps in mind.
            load = Load(gateway.echo, 0, "alpha order customer price " * 80)
            before_s, after_s = 1.0, 1.0
            seconds = before_s + options.full_s + after_s
            running = asyncio.create_task(load.run(options.rate, seconds))
            await asyncio.sleep(before_s)
            filler = state / "filler"
            fill(filler)
            troubled = False
            until = time.monotonic() + options.full_s
            while time.monotonic() < until:
                await asyncio.sleep(0.25)
                troubled = troubled or await _problem(gateway) is not None
            filler.unlink()
            expect(troubled, "the trouble was told")
            await running
            for _ in range(40):  # back without a restart, at its own next try
                if await _problem(gateway) is None:
                    break
                await asyncio.sleep(0.5)
            expect(await _problem(gateway) is None, "it came back by itself")
            found = await recorded(gateway)
            (gap,) = await gateway.ask(
                "SELECT coalesce(sum(count), 0)::BIGINT FROM gaps WHERE reason LIKE 'not recorded%'"
            )
            (bare,) = await gateway.ask(
                "SELECT count(*), (SELECT coalesce(sum(count), 0)::BIGINT FROM gaps"
                " WHERE reason LIKE 'recorded without bodies%')"
                " FROM rpc_events WHERE is_cut AND method = 'tools/call'"
            )
            missing = len(set(load.answered) - found.keys())
            expect(found.total() == len(found), f"{found.total() - len(found)} doubled")
            expect(
                missing == int(gap[0]),
                f"{missing} of {len(load.answered)} answered are missing, the record says {gap[0]}",
            )
            expect(int(bare[0]) == int(bare[1]), f"{bare[0]} without bodies, the record says {bare[1]}")


async def _problem(gateway: Gateway) -> str | None:
    return (await gateway.get("/healthz")).get("record")


# ---- a blocked store


async def blocked(options: argparse.Namespace) -> None:
    print(f"store blocked for {options.blocked_s:g} s at {options.rate:g} calls/s")
    with tempfile.TemporaryDirectory() as name:
        async with echo_upstream() as upstream, running_gateway(Path(name), upstream, str(STUCK)) as gateway:
            await gateway.ask("SELECT 1")  # the store is open
            answered: list[int] = []
            p99s: list[list[float]] = [
                [],
                [],
            ]  # by whether it is blocked; in turns, since the machine has moods
            for place in range(2 * options.turns):
                is_blocked = place % 2
                gateway.process.send_signal(signal.SIGUSR1 if is_blocked else signal.SIGUSR2)
                load = Load(gateway.echo, place * _ROUND_IDS)
                await load.run(options.rate, options.blocked_s)
                answered += load.answered
                p99s[is_blocked].append(statistics.quantiles(load.waits_ms, n=100)[98])
            gateway.process.send_signal(signal.SIGUSR2)
            free, blocked = map(statistics.median, p99s)
            print(
                f"  p99 of a call: {blocked:.2f} ms blocked, {free:.2f} ms free: {blocked / free:.2f} times"
            )
            expect(max(p99s[1]) < options.blocked_s * 500, "no reply waited for the store")
            expect_all_once(answered, await recorded(gateway))


TRIALS = {"kill": kill, "recover": recover, "three": three, "disk": disk, "blocked": blocked}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/chaos record", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="of kill -9; of three a tenth")
    parser.add_argument("--rate", type=float, default=1000.0, help="calls a second")
    parser.add_argument("--longest", type=float, default=1.0, help="seconds until a kill at most")
    parser.add_argument("--backlog", type=int, default=10_000, help="journalled calls to recover")
    parser.add_argument("--full-s", type=float, default=10.0, help="how long the disk is full")
    parser.add_argument("--blocked-s", type=float, default=5.0, help="how long the store is blocked")
    parser.add_argument("--turns", type=int, default=3, help="blocked and not")
    parser.add_argument("--seed", type=int, default=6)
    run_trials(parser, TRIALS)


if __name__ == "__main__":
    main()
