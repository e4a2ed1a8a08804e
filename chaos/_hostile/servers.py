"""Hostile MCP servers behind the gateway, over stdio and HTTP: every call ends, no neighbour notices."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from _hostile.attacker import Answer, ask, ask_modern, call, message
from _hostile.frames import CALLS, LISTS
from _hostile.http_server import RAW, http_server
from _hostile.scenario import Bound, Group, Scene, Upstream
from _hostile.shop import shop

STDIO, HTTP = Group("stdio"), Group("http")
_BAD = "/servers/bad/mcp"
_SCRIPT = Path(__file__).parent / "stdio_server.py"
_TIMEOUT_S = 2
_CALLS = 3
# CPU: the calls may last until their time limit, on one core, and the neighbour costs something too.
# Memory: most that the gateway may keep of what one server says, some frames of 16 MiB at once and copies.
_ORDINARY = Bound(cpu_s=_CALLS * _TIMEOUT_S + 2.0, memory_mib=160)
# 150,000 messages in three calls, passed on or answered one by one: at most 80 µs of the gateway's for each.
_FLOOD = Bound(cpu_s=12.0, memory_mib=160)


def over_stdio(behaviour: str) -> Upstream:
    def started(folder: Path, scale: float) -> Any:
        line = [str(_SCRIPT), behaviour, str(scale), str(folder / "bad.log")]
        how = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(line)}"
        return nullcontext((_config(how), None))

    return started


def over_http(behaviour: str) -> Upstream:
    @asynccontextmanager
    async def started(folder: Path, scale: float) -> AsyncIterator[tuple[str, Any]]:
        del folder
        async with http_server(behaviour, scale) as (server, address):
            yield _config(f"url = {json.dumps(address)}"), server

    return started


def _config(how: str) -> str:
    return f"[mcpServers.bad]\n{how}\ntimeout_s = {_TIMEOUT_S}\n"


async def call_it(scene: Scene) -> None:
    """A few calls, one after the other; each has one outcome, whatever it is."""
    for _ in range(_CALLS):
        answer = await _asked(scene, call("play", {}))
        scene.expect(answer is not None, "a call has no outcome")
        scene.expect(answer is None or b"poison" not in answer.body, "an answer of somebody else")


async def list_it(scene: Scene) -> None:
    for path in (_BAD, "/mcp"):
        answer = await _asked(scene, message("tools/list"), path)
        scene.expect(answer is not None, f"no list at {path}")
    await call_it(scene)


async def _asked(scene: Scene, body: bytes, path: str = _BAD) -> Answer | None:
    """A server that is down is no failure: that it is told so is the outcome."""
    try:
        return await ask(scene.gateway, body, path)
    except AssertionError as problem:
        return Answer(503, {}, str(problem).encode())


# What only a process can do: the acts of `stdio_server` that `call_it` is enough for.
_PROCESS = (
    "dies in every call",
    "writes a line without an end",
    "closes its stdin",
    "closes its stdout",
    "floods its stderr",
    "writes a stderr line without an end",
    "leaves children behind",
)
_IN_SHORT = {
    "speaks garbage",
    "lists in a loop",
    "floods its stderr",
    "sends a head without an end",
    "answers twice on one connection",
}
for _group, _over, _calls in ((STDIO, over_stdio, (*CALLS, *_PROCESS)), (HTTP, over_http, (*CALLS, *RAW))):
    for _attack, _names in ((call_it, _calls), (list_it, tuple(LISTS))):
        for _name in _names:
            _bound = _FLOOD if _name.startswith(("floods", "asks without", "pings without")) else _ORDINARY
            _group.add(_name, _attack, _bound, upstream=_over(_name), in_short=_name in _IN_SHORT)


# Forty clients, each with a process of its own and a megabyte under way to it: the body, the frame that waits
# for the pipe, and the recorder's copies. Forty interpreters start on the cores that the neighbour needs too.
_FORTY_MEGABYTES = Bound(cpu_s=4.0, memory_mib=208, wait_ms=1500)


@STDIO.scenario("stops reading", _FORTY_MEGABYTES, upstream=over_stdio("stops reading"))
async def call_at_length(scene: Scene) -> None:
    for _ in range(2):
        await _asked(scene, call("play", {}))
        waiting = [_asked(scene, call("play", {"text": "z" * 1_000_000})) for _ in range(scene.many(40))]
        answers = await asyncio.gather(*waiting)
        scene.expect(None not in answers, f"{answers.count(None)} calls have no outcome")


@STDIO.scenario(
    "dies at its start", Bound(cpu_s=2.0, memory_mib=32), upstream=over_stdio("dies at its start")
)
async def watch_it_die(scene: Scene) -> None:
    await asyncio.sleep(1 if scene.is_short else 5)
    await call_it(scene)
    starts = len((scene.folder / "bad.log").read_text().split())
    scene.expect(starts <= 20, f"it was started {starts} times")


@HTTP.scenario("is asked again at most now and then", _ORDINARY, upstream=over_http("breaks off each stream"))
async def count_its_streams(scene: Scene) -> None:
    await asyncio.sleep(1 if scene.is_short else 5)
    await call_it(scene)
    scene.expect(scene.served.asked.total() < 200, f"it was asked {dict(scene.served.asked)}")


@asynccontextmanager
async def _beside_a_shop(folder: Path, scale: float) -> AsyncIterator[tuple[str, Any]]:
    async with over_http("shadows resources")(folder, scale) as (config, server):
        yield config + shop(folder), server


@HTTP.scenario("shadows resources", _ORDINARY, upstream=_beside_a_shop, in_short=True)
async def read_resources(scene: Scene) -> None:
    for uri in ("sqlite://shop/orders", "sqlite://shop/nothing"):
        answer = await _asked(scene, message("resources/read", {"uri": uri}), "/mcp")
        scene.expect(answer is not None, f"no outcome for {uri}")
        scene.expect(answer is None or b"from the shadow" not in answer.body, f"it answers for {uri}")


# ---- forged and replayed states: a modern client, and a legacy server that asks


@STDIO.scenario("forged and replayed states", _ORDINARY, upstream=over_stdio("asks a name"), in_short=True)
async def forge_states(scene: Scene) -> None:
    parked = await ask_modern(scene.gateway, _BAD, "play", {"n": 1})
    result = parked.json().get("result", {}) if parked else {}
    if result.get("resultType") != "input_required":
        scene.expect(False, f"nothing was asked: {parked}")
        return
    state = result["requestState"]
    answers = {key: {"action": "accept", "content": {"name": "Ada"}} for key in result["inputRequests"]}

    async def retry(other: str, arguments: dict[str, int] | None = None) -> bytes:
        answer = await ask_modern(
            scene.gateway, _BAD, "play", arguments or {"n": 1}, inputResponses=answers, requestState=other
        )
        return answer.body if answer else b""

    for forged in _forgeries(scene, state):
        got = await retry(forged)
        scene.expect(b"hello" not in got and b'"error"' in got, f"a forged state was taken: {forged[:80]}")
    scene.expect(b"hello" not in await retry(state, {"n": 2}), "a state was taken for another request")
    scene.expect(b"hello Ada" in await retry(state), "the honest retry failed")
    replays = await asyncio.gather(*(retry(state) for _ in range(20)))
    scene.expect(not any(b"hello" in got for got in replays), "a state was taken twice")


def _forgeries(scene: Scene, state: str) -> list[str]:
    found = [
        "",
        "cg1.",
        "cg1..",
        "x" * 100_000,
        state + "A",
        state[:-1],
        state.upper(),
        state * 2,
        f" {state}",
    ]
    for _ in range(scene.many(300)):
        at = scene.random.randrange(len(state))
        other = scene.random.choice("ABCxyz019-_.")
        if other != state[at]:
            found.append(state[:at] + other + state[at + 1 :])
    return found
