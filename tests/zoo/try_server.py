"""One server: directly twice, then on every way through the gateway, each in a gateway of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any

from zoo.compare import Comparison, Difference, compare
from zoo.manifest import Json
from zoo.observe import Plan, Seen, list_all, observe, survives
from zoo.results import Result
from zoo.stand import Stand, gateway_before, port_of, stdio_command
from zoo.talk import Talk, over_a_pipe, over_http, over_modern_http

WAYS = ("/mcp", "/servers/x/mcp", "stdio", "/mcp, modern")
# Through a gateway these are the gateway's own, on ways where it stands for all of its servers.
OURS = ("introduction",)
LEFT = "processes left behind"
FIRST = "the first lists"
KILLED = "a call after a kill"
SETTLE_TIMEOUT_S = 60.0  # for a server to start and be listed; what it lacks then is a difference


async def try_server(stand: Stand, ways: tuple[str, ...] = WAYS, *, is_steady: bool = False) -> Result:
    """`is_steady`: its answers are known to be the same every time, and it is asked directly only once."""
    result = Result(stand.server.name, stand.server.version)
    try:
        first = await _directly(stand)
        second = first if is_steady else await _directly(stand)
    except (OSError, TimeoutError) as problem:
        result.problem = f"does not work directly: {type(problem).__name__} {problem}; {_last_words(stand)}"
        return result
    result.counts, result.calls = first.counts, len(stand.server.calls)
    for way in ways:
        try:
            result.ways[way] = await _through(stand, way, first, second)
        except (OSError, TimeoutError, AssertionError) as problem:
            failed = Difference("all", "works", f"{type(problem).__name__}: {problem}"[:300])
            result.ways[way] = as_json(Comparison(0, 0, (failed,)), await stand.left_behind())
    return result


async def _directly(stand: Stand) -> Seen:
    stand.make_anew()
    try:
        async with over_a_pipe(stand.command, stand.environment, stand.cwd, stand.work, stand.said) as talk:
            return await observe(talk, plan(stand, ""))
    finally:
        stand.kill()


def plan(stand: Stand, prefix: str) -> Plan:
    server = stand.server
    return Plan(
        tuple(stand.filled(server.calls)), stand.filled(server.progress), stand.filled(server.cancel), prefix
    )


async def _through(stand: Stand, way: str, first: Seen, second: Seen) -> Json:
    stand.make_anew()
    planned = plan(stand, "" if way == "/servers/x/mcp" else f"{stand.server.name}__")
    async with _open(stand, way) as talk:
        at_once = await _first_lists(talk, planned.prefix, first.counts)
        seen = await observe(talk, planned)
        await stand.kill_and_see()
        after = await survives(talk, planned)
    steps = _comparable(seen.steps, way)
    steps |= {FIRST: at_once, KILLED: _kind(after)}
    told = {FIRST: "complete", KILLED: "answered"}
    wanted, again = (_comparable(each.steps, way) | told for each in (first, second))
    found = compare(wanted, again, steps, stand.server.scrub)
    return as_json(found, await stand.left_behind())


def _kind(told: Json) -> str:
    return "answered" if "result" in told else f"failed: {told['error']['message']}"


def _comparable(steps: dict[str, Any], way: str) -> dict[str, Any]:
    return {step: value for step, value in steps.items() if way == "/servers/x/mcp" or step not in OURS}


def as_json(found: Comparison, left: list[str]) -> Json:
    """Processes that nobody ended are a difference too."""
    more = (Difference(LEFT, "nothing", ", ".join(left)),) if left else ()
    differences = [asdict(each) for each in (*found.differences, *more)]
    return {"same": found.same, "alike": found.alike, "differences": differences}


@asynccontextmanager
async def _open(stand: Stand, way: str) -> AsyncIterator[Talk]:
    config = stand.config()
    if way == "stdio":
        command, environment = stdio_command(config, stand.folder / "stdio")
        async with over_a_pipe(command, environment, stand.work, stand.work, stand.said) as talk:
            yield talk
        return
    async with gateway_before(config, stand.folder / "gateway", stand.said) as gateway:
        port, own = port_of(gateway), f"/servers/{stand.server.name}/mcp"
        if way == "/mcp, modern":
            opened = over_modern_http(port, "/mcp", stand.work)
        else:
            opened = over_http(port, own if way == "/servers/x/mcp" else "/mcp", stand.work)
        async with opened as talk:
            yield talk


async def _first_lists(talk: Talk, prefix: str, counts: dict[str, int]) -> str:
    """Whether they were complete at once. What they lack then comes later, and is waited for."""
    lacking: list[str] = []
    for kind, count in counts.items():
        listed = len(await list_all(talk, kind, prefix))
        if listed != count:
            lacking.append(f"{kind} {listed} of {count}")
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_TIMEOUT_S):
                while len(await list_all(talk, kind, prefix)) != count:
                    await asyncio.sleep(0.2)
    return ", ".join(lacking) or "complete"


def _last_words(stand: Stand) -> str:
    text = stand.said.read_text(errors="replace") if stand.said.exists() else ""
    return " ".join(text.split())[-300:]
