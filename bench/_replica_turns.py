"""What the relay gets of the interpreter while a batch is packed for PostgreSQL. For `bench/replicas.py`.

A thread stands for the relay: a small message through a socket, some Python, and again. It and the flush have
one core, as gateways have in the other benchmarks. Turns are counted, so a busy machine changes little.
"""

import asyncio
import os
import random
import socket
import statistics
import threading
import time
from pathlib import Path

from _replica_gateways import Figure
from record import _ENVELOPE, a_call, emit_all
from stores.kinds import DuckdbKind

from callgate.model.identity import LOCAL
from callgate.model.session import Session
from callgate.recorder.flush.batch import Batch
from callgate.recorder.folder import journals_in
from callgate.recorder.journal.frames import Frame
from callgate.recorder.journal.journal import read_frames, segments
from callgate.recorder.stores.postgres.write_batch import rows_of

_CALLS, _BODY_BYTES = 8192, 300
_PYTHON = range(400)  # some 20 µs


class _Relay:
    def __init__(self) -> None:
        self.turns = 0
        self._is_over = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            while not self._is_over:
                ours.send(b"x" * _BODY_BYTES)
                theirs.recv(_BODY_BYTES)
                for number in _PYTHON:
                    number * number  # pyright: ignore[reportUnusedExpression]
                self.turns += 1

    def close(self) -> None:
        self._is_over = True
        self._thread.join()


async def _journalled(folder: Path) -> list[Frame]:
    record = DuckdbKind().record(folder, waits_for_journal=False)
    session = Session("bench", LOCAL, "http", _ENVELOPE, time.time(), time.time())
    chance = random.Random(1)
    await emit_all(record.recorder, [a_call(session, _BODY_BYTES, chance) for _ in range(_CALLS)])
    await asyncio.sleep(0.2)  # the last group; the store waits longer
    frames = [frame for path in segments(journals_in(folder)) for frame in read_frames(path, 0)]
    await record.close()
    return frames


def turns(folder: Path, core: int, rounds: int) -> list[Figure]:
    frames = asyncio.run(_journalled(folder))
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    relay = _Relay()
    found: dict[bool | None, list[tuple[float, float, float]]] = {None: [], False: [], True: []}
    try:
        for _ in range(rounds):
            for gives_way, measured in found.items():
                batch = Batch(gives_way=bool(gives_way))
                for frame in frames:
                    batch.add("bench.1", frame)
                before, cpu_s, begun = relay.turns, time.thread_time(), time.perf_counter()
                if gives_way is None:
                    time.sleep(0.2)
                else:
                    rows_of(batch)
                took_s = time.perf_counter() - begun
                measured.append(((relay.turns - before) / took_s / 1e3, took_s, time.thread_time() - cpu_s))
    finally:
        relay.close()
        os.sched_setaffinity(0, every)
    alone, without, paused = (
        [statistics.median(column) for column in zip(*found[kind], strict=True)]
        for kind in (None, False, True)
    )
    told = (
        f"{paused[0] / alone[0]:.2f} in {paused[1] * 1e3:.0f} ms; without pauses {without[0] / alone[0]:.2f}"
        f" in {without[1] * 1e3:.0f} ms ({alone[0]:.0f} turns a ms alone; {paused[2] / _CALLS * 1e6:.1f} and"
        f" {without[2] / _CALLS * 1e6:.1f} µs of CPU a call)"
    )
    return [
        Figure(f"speed of a relay while {_CALLS:,} calls are packed for PostgreSQL : alone", "reported", told)
    ]
