"""What recording costs (relay, rows stored a second, steps), and finding calls in the record."""

import argparse
import asyncio
import os
import random
import string
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import product
from pathlib import Path

from _finding import finding
from _generated import machine
from _load import Sample, measure, median_of
from _processes import Cores, end_on_sigterm
from _targets import Target, build_tools, callgate, echo
from gateway import ratio

from callgate.model.envelope import Envelope, Era
from callgate.model.events import ExchangeSettled
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement
from callgate.model.identity import LOCAL, new_exchange_id
from callgate.model.session import Session
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Group, Grouper
from callgate.recorder.intake import Intake
from callgate.recorder.journal.journal import JournalWriter
from callgate.recorder.losses import Losses
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.redact.known_values import KnownValues
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact.vector_scan import WORTH_BYTES
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.sequence import Sequence
from callgate.recorder.stores.duckdb.reader import Reader
from callgate.recorder.stores.duckdb.record_store import DuckdbStore

_ENVELOPE = Envelope(Era.MODERN, "2026-07-28", "bench", "1")
_WORDS = ("alpha", "order", "customer", "select", "result", "value", "price", "shipment", "warehouse")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_FINDING_S = 120.0  # of reading; each is made once, whatever it takes
_MOST_BYTES = 160 * 1024 * 1024  # of bodies that are made up front


# ---- the relay


def relay(options: argparse.Namespace) -> None:
    build_tools()
    for free in (False, True):
        cores = Cores()
        where = str(cores)
        if free:  # the second core is the load's too, but whatever it leaves is the recorder's
            cores.on_target = lambda command: list(command)
            where = "the gateway on any core, load and upstream on core " + str(cores.load)
        with ExitStack() as stack:
            upstream = stack.enter_context(echo(cores))
            state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callgate-bench-")))

            def gateway(
                name: str, sync: str | None, *, stack: ExitStack = stack, cores: Cores = cores,
                upstream: Target = upstream, state: Path = state,
            ) -> Target:  # fmt: skip
                running = stack.enter_context(
                    callgate(
                        cores, upstream, state / name, recording=sync is not None, sync=sync, with_child=False
                    )
                )
                return running.over_http(name)

            targets = [gateway("off", None), gateway("interval", "interval"), gateway("reply", "reply")]
            samples: dict[str, list[Sample]] = {target.name: [] for target in targets}
            for _ in range(options.rounds):
                for target in targets:
                    samples[target.name].append(measure(target, options.connections, options.seconds, cores))
        print(f"\nThe relay at {options.connections} connections; {where}")
        print("| recording | req/s | of off | CPU µs/req | p50 ms | p99 ms |\n|---|---|---|---|---|---|")
        for name, found in samples.items():
            middle, part = median_of(found), ratio(found, samples["off"])
            print(
                f"| {name} | {middle.rps:,.0f} | {part:.2f} | {middle.cpu_us:.0f}"
                f" | {middle.p50_ms:.2f} | {middle.p99_ms:.2f} |"
            )


# ---- the store


def a_call(session: Session, body_bytes: int, chance: random.Random) -> ExchangeSettled:
    def body(size: int) -> bytes:
        words = " ".join(f"{chance.choice(_WORDS)}{chance.randrange(1000)}" for _ in range(size // 9))
        return b'{"content":[{"type":"text","text":"%b"}]}' % words.encode()

    params, reply = body(body_bytes // 4), body(body_bytes - body_bytes // 4)
    now_s, now = time.time(), time.monotonic()
    arrival = Arrival("tools/call", b"1", params, _ENVELOPE, LOCAL, "http", "bench/1", session)
    exchange = Exchange(
        new_exchange_id(now_s), arrival, session, now_s, now, server_name="echo", tool_name="echo"
    )
    exchange.hops.append(Hop("echo", "tools/call", params, now, ended_mono=now, result=reply))
    exchange.settle(Settlement(Outcome.ANSWERED, EndedBy.UPSTREAM, reply), now)
    return ExchangeSettled(exchange)


def cpu_us() -> dict[str, float]:
    """Of the threads that live as long as the recorder; the rest is the store's, whose own come and go."""
    used: dict[str, float] = {}
    for thread in threading.enumerate():
        stat = Path(f"/proc/self/task/{thread.native_id}/stat").read_text().rpartition(")")[2].split()
        used[thread.name] = (int(stat[11]) + int(stat[12])) * _TICK_S * 1e6
    lasting = used.get("MainThread", 0.0) + used.get("recorder", 0.0) + used.get("journal sync", 0.0)
    return {
        "loop": used.get("MainThread", 0.0),
        "recorder": used.get("recorder", 0.0) + used.get("journal sync", 0.0),
        "store": time.process_time() * 1e6 - lasting,
    }


async def emit_all(recorder: Recorder, calls: Iterable[ExchangeSettled]) -> None:
    """As fast as the recorder takes them."""
    for number, call in enumerate(calls):
        if number % 500 == 0:
            while recorder.waiting_bytes > 16 * 1024 * 1024:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.001)
        recorder.emit(call)


async def fill(state: Path, events: int) -> None:
    """So many small calls in the record of a gateway that is not running yet."""
    chance = random.Random(1)
    session = Session("bench", LOCAL, "http", _ENVELOPE, time.time(), time.time())
    settings = RecorderSettings(state / "record", keeps_store=True, waits_for_journal=False)
    store = DuckdbStore(settings.folder)
    recorder = Recorder(settings, RowRedactor(Redactor(), 256 * 1024), store)
    reader = Reader(recorder, store)
    await emit_all(recorder, (a_call(session, 40, chance) for _ in range(events)))
    extent = await reader.extent()
    await recorder.close()
    assert extent.events == events, extent


async def ingest(options: argparse.Namespace, body_bytes: int) -> None:
    """As fast as the store takes them: it is never out of work, and rows on disk are what counts."""
    chance = random.Random(1)
    session = Session("bench", LOCAL, "http", _ENVELOPE, time.time(), time.time())
    count = min(options.events, _MOST_BYTES // body_bytes)
    calls = [a_call(session, body_bytes, chance) for _ in range(count)]
    with tempfile.TemporaryDirectory(prefix="callgate-bench-") as name:
        settings = RecorderSettings(Path(name) / "record", keeps_store=True, waits_for_journal=False)
        store = DuckdbStore(settings.folder)
        recorder = Recorder(settings, RowRedactor(Redactor(), 256 * 1024), store)
        reader = Reader(recorder, store)
        await reader.extent()  # the store is open
        before, begun = cpu_us(), time.monotonic()
        await emit_all(recorder, calls)
        extent = await reader.extent()
        took_s, after = time.monotonic() - begun, cpu_us()
        size = sum(day.size_bytes for day in store.opened.days) if store.opened else 0
        await recorder.close()
    assert extent.events == len(calls), extent
    used = {name: (after[name] - before.get(name, 0)) / len(calls) for name in after}
    spent = ", ".join(f"{name} {us:.1f}" for name, us in used.items() if us >= 0.1)
    print(
        f"{len(calls):,} calls of {body_bytes:,} bytes: {len(calls) / took_s:,.0f} a second on disk;"
        f" CPU µs a call: {spent}; {size / len(calls):,.0f} bytes a call on disk"
    )


# ---- the steps of a group


def fastest_us(step: Callable[[], object], calls: int) -> float:
    """Of a call, in the fastest of many groups: what else the machine does is not counted."""
    fastest_s = float("inf")
    for _ in range(max(200, 5_000 // calls)):
        begun = time.perf_counter()
        step()
        fastest_s = min(fastest_s, time.perf_counter() - begun)
    return fastest_s / calls * 1e6


def steps(body_bytes: int) -> None:
    """What the event loop does with a group of calls, by its size, with warm caches."""
    chance = random.Random(1)
    session = Session("bench", LOCAL, "http", _ENVELOPE, time.time(), time.time())
    calls = [a_call(session, body_bytes, chance) for _ in range(256)]
    redactor = Redactor()
    assert redactor.is_clean(b"x" * WORTH_BYTES)
    redactor.prepare()  # as after that much
    rows_of, intake = RowRedactor(redactor, 256 * 1024), Intake()
    print(f"\nCalls of {body_bytes} bytes, CPU µs a call in a group")
    print("| calls in the group | queue | rows | search, encode, frame | write(2) | all |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="callgate-bench-") as name:
        journal = JournalWriter(Path(name))
        for count in (1, 8, 32, 256):
            some, framer, grouper = calls[:count], Framer(rows_of), Grouper(Sequence(), "bench")
            group = grouper.group(some, Losses())
            group = grouper.group(some, Losses())  # its session is known by now

            def queued(some: list[ExchangeSettled] = some) -> None:
                for call in some:
                    intake.put(call)
                intake.take(512, _MOST_BYTES)

            def framed(framer: Framer = framer, group: Group = group) -> list[bytearray]:
                framer.room_rows = 2048
                frames = framer.clean_frames_of(group)
                assert frames is not None
                return frames

            frames = framed()
            took = [
                fastest_us(queued, count),
                fastest_us(lambda some=some, grouper=grouper: grouper.group(some, Losses()), count),
                fastest_us(framed, count),
                fastest_us(lambda frames=frames: journal.append(frames), count),
            ]
            print(f"| {count} | {' | '.join(f'{us:.1f}' for us in (*took, sum(took)))} |")
        journal.close()


def known_secrets(rounds: int) -> None:
    """What it costs to look for configured secrets, of which none is there: the same groups, in turns."""
    chance = random.Random(1)
    session = Session("bench", LOCAL, "http", _ENVELOPE, time.time(), time.time())
    signs = string.ascii_letters + string.digits
    print("\nSearch, encode and frame a group, µs a call, by the number of configured secrets")
    print("| library | bytes of a call | calls in the group | 0 | 10 | 1,000 |\n|---|---|---|---|---|---|")
    redactors: list[dict[int, Redactor]] = [{}, {}]
    for is_prepared, by_count in enumerate(redactors):
        for count in (0, 10, 1_000):
            known = KnownValues("".join(chance.choices(signs, k=32)) for _ in range(count))
            by_count[count] = Redactor(known=known)
            if is_prepared:
                assert by_count[count].is_clean(b"x" * WORTH_BYTES)
                by_count[count].prepare()
    for library, by_count in zip(("RE2", "Vectorscan"), redactors, strict=True):
        for body_bytes, size in product((200, 2700, 20_000), (1, 32)):
            group = Grouper(Sequence(), "bench").group(
                [a_call(session, body_bytes, chance) for _ in range(size)], Losses()
            )
            group.sessions.clear()
            framers = {count: Framer(RowRedactor(one, 256 * 1024)) for count, one in by_count.items()}
            took = dict.fromkeys(framers, float("inf"))
            for _ in range(rounds * 400 // size):
                for count, framer in framers.items():
                    framer.room_rows = 2048
                    begun = time.perf_counter()
                    frames = framer.clean_frames_of(group)
                    took[count] = min(took[count], time.perf_counter() - begun)
                    assert frames is not None
            cells = " | ".join(f"{one / size * 1e6:.2f}" for one in took.values())
            print(f"| {library} | {body_bytes} | {size} | {cells} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench record", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", help="relay, ingest, steps, secrets, finding; the first two if none is named"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--calls", type=int, default=1_000_000, help="in the record of finding")
    options = parser.parse_args()
    end_on_sigterm()
    print(machine(), f"load {os.getloadavg()[0]:.1f}")
    if "finding" in options.parts:
        is_kept = asyncio.run(finding(options.calls, options.rounds, _FINDING_S))
        if options.parts == ["finding"]:
            sys.exit(0 if is_kept else 1)
    if "steps" in options.parts:
        steps(200)
    if "secrets" in options.parts:
        known_secrets(options.rounds)
    if "ingest" in (options.parts or ["ingest"]):
        cores = Cores()
        if cores.pinned:
            os.sched_setaffinity(0, {cores.target})
            print(f"ingest: everything on core {cores.target}")
        for body_bytes in (200, 2700, 20_000):
            asyncio.run(ingest(options, body_bytes))
        os.sched_setaffinity(0, {cores.load, cores.target})
    if "relay" in (options.parts or ["relay"]):
        relay(options)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
