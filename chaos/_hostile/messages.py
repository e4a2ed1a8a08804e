"""Hostile clients whose HTTP is fine: what they upload, what their JSON says, how many sessions they open."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from _hostile.attacker import ECHO, HURT, ask, call, head, initialize, message, post, wire
from _hostile.meter import resident_mib
from _hostile.scenario import Bound, Group, Scene
from _hostile.shop import shop

MESSAGES = Group("messages")
_MIB = 1024 * 1024
# Well below what the gateway takes as a body (16 MiB).
_BODY_BYTES = 10 * _MIB
_SMALL_ANSWER_BYTES = 64 * 1024


# ---- uploads


async def _abort_uploads(scene: Scene, credentials: dict[str, str]) -> None:
    """Many bodies, each almost whole, then the client is gone."""
    before = resident_mib(scene.gateway.process.pid)

    async def upload() -> None:
        async with wire(scene.gateway) as one:
            whole = head("POST", ECHO, credentials | {"Content-Length": str(15 * _MIB)})
            await one.send(whole + b"x" * (15 * _MIB - 1))
            await asyncio.sleep(0.1)

    for _ in range(scene.many(100) // 5):
        await asyncio.gather(*(upload() for _ in range(5)), return_exceptions=True)
    left = resident_mib(scene.gateway.process.pid) - before
    scene.expect(left < 192, f"{left:.0f} MiB stay after the uploads are gone")


@MESSAGES.scenario("aborted uploads with a wrong token", Bound(cpu_s=2.0, memory_mib=64), in_short=True)
async def abort_as_a_stranger(scene: Scene) -> None:
    await _abort_uploads(scene, {"Authorization": "Bearer wrong"})


@MESSAGES.scenario("aborted uploads of a client", Bound(cpu_s=6.0, memory_mib=192))
async def abort_as_a_client(scene: Scene) -> None:
    await _abort_uploads(scene, scene.gateway.credentials)


@MESSAGES.scenario("uploads that stay almost whole", Bound(cpu_s=4.0, memory_mib=256))
async def hold_uploads(scene: Scene) -> None:
    """As many bodies as possible at once: a budget over all connections is what bounds them."""
    async with AsyncExitStack() as stack:
        for _ in range(scene.many(100)):
            one = await stack.enter_async_context(wire(scene.gateway))
            whole = head("POST", ECHO, scene.gateway.credentials | {"Content-Length": str(15 * _MIB)})
            await one.send(whole + b"x" * (15 * _MIB - 1))
        await asyncio.sleep(0.5)


# ---- batches


async def _batch(scene: Scene, body: bytes, revision: str = "2025-03-26") -> None:
    async with wire(scene.gateway) as one:
        headers = await initialize(one, scene.gateway, revision=revision)
        await one.send(post(ECHO, body, headers))
        answer = await one.answer()
        scene.expect(answer is not None, "no answer")
        size = len(answer.body) if answer else 0
        scene.expect(size <= _SMALL_ANSWER_BYTES, f"a batch of {len(body):,} bytes is answered with {size:,}")


@MESSAGES.scenario("a batch of nothings", Bound(cpu_s=1.5, memory_mib=96), in_short=True)
async def batch_of_zeros(scene: Scene) -> None:
    body = b"[" + b"0," * (scene.many(_BODY_BYTES) // 2) + b"0]"
    await _batch(scene, body)
    await _batch(scene, body, "2025-06-18")
    async with wire(scene.gateway) as one:  # without a session
        await one.send(post(ECHO, body, scene.gateway.credentials))
        scene.expect(await one.answer() is not None, "no answer without a session")


@MESSAGES.scenario("a batch of pings", Bound(cpu_s=1.5, memory_mib=96))
async def batch_of_pings(scene: Scene) -> None:
    ping = message("ping")
    await _batch(scene, b"[" + b",".join([ping] * (scene.many(_BODY_BYTES) // len(ping))) + b"]")


@MESSAGES.scenario("a batch of calls", Bound(cpu_s=1.5, memory_mib=96))
async def batch_of_calls(scene: Scene) -> None:
    calls = [call("echo", {"text": "x"}, number) for number in range(scene.many(20_000))]
    await _batch(scene, b"[" + b",".join(calls) + b"]")


# ---- JSON


def _nested(deep: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":%b%b}}' % (b"[" * deep, b"]" * deep)


@MESSAGES.scenario("JSON that is large in every way", Bound(cpu_s=4.0, memory_mib=160), in_short=True)
async def json_bombs(scene: Scene) -> None:
    digits = b"9" * scene.many(1_000_000)
    texts = {
        "deep arrays": _nested(scene.many(2_000_000)),
        "an id of a million digits": b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % digits,
        "an id of a megabyte": message("ping", rpc_id="i" * scene.many(_MIB)),
        "a method of a megabyte": message("m" * scene.many(_MIB)),
        "a tool's name of a megabyte": call("n" * scene.many(_MIB), {}),
        "a number of a million digits": b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"name":"echo","arguments":{"text":%b}}}' % digits,
        "a million members": call("echo", {"text": "x"} | {str(n): 0 for n in range(scene.many(500_000))}),
        "one key a million times": b'{"jsonrpc":"2.0","id":1%b}' % (b',"id":1' * scene.many(500_000)),
        "not UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
        "half a surrogate": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}',
    }
    for what, text in texts.items():
        scene.expect(await ask(scene.gateway, text) is not None, f"{what}: no answer")


@asynccontextmanager
async def _with_shop(folder: Path, scale: float) -> AsyncIterator[tuple[str, Any]]:
    del scale
    yield shop(folder), None


@MESSAGES.scenario("800,000 unknown arguments", Bound(cpu_s=4.0, memory_mib=256), upstream=_with_shop)
async def unknown_arguments(scene: Scene) -> None:
    arguments = {f"a{number}": 0 for number in range(scene.many(800_000))}
    tools = await ask(scene.gateway, message("tools/list"), "/mcp")
    names = [tool["name"] for tool in tools.json()["result"]["tools"]] if tools else []
    asked = [name for name in names if name.startswith("shop")][:3]
    scene.expect(bool(asked), f"no tool of the shop: {names}")
    for name in asked:
        answer = await ask(scene.gateway, call(name, arguments), "/mcp")
        size = len(answer.body) if answer else 0
        scene.expect(answer is not None and size < _SMALL_ANSWER_BYTES, f"{name} answers with {size:,} bytes")


# ---- sessions and streams


@MESSAGES.scenario("sessions without number", Bound(cpu_s=8.0, memory_mib=128))
async def many_sessions(scene: Scene) -> None:
    async def open_sessions(count: int) -> None:
        async with wire(scene.gateway) as one:
            for _ in range(count):
                with suppress(AssertionError):  # refused is fine
                    await initialize(one, scene.gateway)

    await asyncio.gather(*(open_sessions(scene.many(1_000)) for _ in range(5)))


@MESSAGES.scenario("event streams that nobody reads", Bound(cpu_s=3.0, memory_mib=128))
async def many_streams(scene: Scene) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(scene.many(400)):
            one = await stack.enter_async_context(wire(scene.gateway))
            with suppress(AssertionError):
                headers = await initialize(one, scene.gateway)
                await one.send(head("GET", ECHO, headers | {"Accept": "text/event-stream"}))
        await asyncio.sleep(0.5)


# ---- the record


@MESSAGES.scenario("queries that eat memory", Bound(cpu_s=4.0, memory_mib=1500))
async def hungry_queries(scene: Scene) -> None:
    sql = "SELECT max(length(repeat('x', 10000000 + i::INT))) FROM range(2000) t(i)"
    asked = json.dumps({"sql": sql, "timeout_s": 2}).encode()

    async def query() -> bool:
        async with wire(scene.gateway) as one:
            await one.send(post("/api/v1/query", asked, scene.gateway.credentials))
            return await one.answer() is not None

    waiting = [asyncio.create_task(query()) for _ in range(2 if scene.is_short else 8)]
    await asyncio.sleep(0.5)
    try:
        async with asyncio.timeout(15):
            await scene.gateway.get("/api/v1/sessions?limit=1")
    except (TimeoutError, AssertionError, *HURT) as problem:
        scene.expect(False, f"the read API does not answer meanwhile: {type(problem).__name__} {problem}")
    answered = await asyncio.gather(*waiting)
    scene.expect(all(answered), f"{answered.count(False)} queries have no answer")
