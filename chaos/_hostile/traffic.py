"""Hostile clients of every kind, in turn, at a steady rate: traffic.py PORT TOKEN RATE

In a process of its own, until its stdin is closed; then it prints how many attacks of each kind there were.
Each is small: what is tried is whether honest clients notice a steady trickle of all of them.
"""

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script: the folder of chaos

from _hostile.attacker import (
    ECHO,
    HURT,
    Door,
    Wire,
    ask_modern,
    chunked_head,
    head,
    initialize,
    message,
    post,
    wire,
)
from _hostile.smuggling import LAST, TRICKS

_KIB = 1024
_CHANCE = Random(13)
_AT_ONCE = 50  # attacks under way: more are not begun


@dataclass(frozen=True)
class Gate:
    """The gateway under attack."""

    port: int
    token: str

    @property
    def credentials(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


async def smuggle(one: Wire, door: Door) -> None:
    await one.send_pieces(_CHANCE.choice(TRICKS).data[:2_000] + LAST, _CHANCE)


async def trailers(one: Wire, door: Door) -> None:
    await one.send(chunked_head(ECHO, door.credentials) + b"2\r\n{}\r\n0\r\n")
    await one.send(b"X-Trailer: y\r\n" * 40_000)


async def endless_head(one: Wire, door: Door) -> None:
    await one.send(b"GET /x HTTP/1.1\r\nX: " + b"y" * (512 * _KIB))


async def batch(one: Wire, door: Door) -> None:
    headers = await initialize(one, door, revision="2025-03-26")
    await one.send(post(ECHO, b"[" + b"0," * (256 * _KIB) + b"0]", headers))
    await one.answer()


async def aborted_upload(one: Wire, door: Door) -> None:
    await one.send(head("POST", ECHO, door.credentials | {"Content-Length": "4000000"}) + b"x" * 2_000_000)


async def wrong_upload(one: Wire, door: Door) -> None:
    await one.send(head("POST", ECHO, {"Authorization": "Bearer x", "Content-Length": "4000000"}))
    await one.send(b"x" * 2_000_000)


async def dripping_body(one: Wire, door: Door) -> None:
    await one.send(head("POST", ECHO, door.credentials | {"Content-Length": "1000"}))
    for _ in range(20):
        await one.send(b"x")
        await asyncio.sleep(0.1)


async def wrong_token(one: Wire, door: Door) -> None:
    await one.send(post(ECHO, message("ping"), {"Authorization": f"Bearer {_CHANCE.random()}"}))
    await one.answer()


async def deep_json(one: Wire, door: Door) -> None:
    headers = await initialize(one, door)
    await one.send(post(ECHO, b'{"jsonrpc":"2.0","id":1,"params":' + b"[" * 200_000, headers))
    await one.answer()


async def abandoned_session(one: Wire, door: Door) -> None:
    await initialize(one, door)


async def forged_state(one: Wire, door: Door) -> None:
    del one
    state = f"cg1.{_CHANCE.random()}.x"
    await ask_modern(door, ECHO, "echo", {"text": "x"}, requestState=state, inputResponses={})


async def unread_pipeline(one: Wire, door: Door) -> None:
    one.writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
    await one.send(post("/healthz", b"", {}) * 200)


KINDS: list[Callable[[Wire, Door], Awaitable[None]]] = [
    *(smuggle, trailers, endless_head, batch, aborted_upload, wrong_upload, dripping_body),
    *(wrong_token, deep_json, abandoned_session, forged_state, unread_pipeline),
]


async def _attack(kind: Callable[[Wire, Door], Awaitable[None]], door: Door) -> None:
    with suppress(AssertionError, *HURT):  # refused, or hung up on: as it should be
        async with wire(door) as one:
            await kind(one, door)


async def _run(door: Door, rate: float, stop: asyncio.Event) -> Counter[str]:
    made: Counter[str] = Counter()
    under_way: set[asyncio.Task[None]] = set()
    begun, first = time.monotonic(), os.getpid()  # not always the same ones in a short phase
    while not stop.is_set():
        if made.total() < (time.monotonic() - begun) * rate and len(under_way) < _AT_ONCE:
            kind = KINDS[(first + made.total()) % len(KINDS)]
            made[kind.__name__] += 1
            task = asyncio.create_task(_attack(kind, door))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        else:
            await asyncio.sleep(0.01)
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
    return made


async def _main() -> None:
    door, rate = Gate(int(sys.argv[1]), sys.argv[2]), float(sys.argv[3])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), stop.set)
    print("ready", flush=True)
    print(json.dumps(await _run(door, rate, stop)), flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
