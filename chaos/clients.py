"""Clients that come and go without a goodbye, on stdio servers: processes and memory end as they began.

Each does as Claude Code does: initialize, open the GET stream, list, sometimes call, and hang up without a
DELETE. What a server's process remembers must be what this one client did in it.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _gateway import Gateway, running_gateway
from _hostile.meter import resident_mib
from _http import read_message, request
from _trial import TrialError, expect, run_trial

_COUNTING = Path(__file__).parent / "_counting_server.py"
_GRACE_S = 2.0
# Sessions are kept for a day, at most 2,000 of them; caches fill, and the record's day grows.
_GROWN_MIB = 48.0
_WARMING = 1 / 5  # of the time, before anything is measured
_LOOK_S = 0.1
_TELL_S = 30.0
_PATIENCE_S = 60.0


@dataclass
class Seen:
    """What came of all clients, and what was seen of the processes meanwhile."""

    answers: Counter[str] = field(default_factory=Counter[str])
    most: int = 0


class Client:
    def __init__(self, gateway: Gateway, declared: dict[str, Any]) -> None:
        self._gateway = gateway
        self._declared = declared
        self._writers: list[asyncio.StreamWriter] = []
        self._session: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._last_id = 0

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._gateway.port)
        self._writers.append(writer)
        return reader, writer

    async def come(self) -> None:
        self._reader, self._writer = await self._connect()
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": self._declared,
            "clientInfo": {"name": "claude-code", "version": "2"},
        }
        headers, _ = await self._post("initialize", hello)
        self._session = {"Mcp-Session-Id": headers["mcp-session-id"]}
        await self._post("notifications/initialized", None)
        _, listening = await self._connect()
        listening.write(request("GET", "/mcp", b"", {"Accept": "text/event-stream", **self._session}))

    async def list_tools(self) -> list[str]:
        _, answer = await self._post("tools/list", {})
        return [tool["name"] for tool in answer["result"]["tools"]]

    async def call(self, tool: str) -> str:
        """What came of it, in a word."""
        _, answer = await self._post("tools/call", {"name": tool, "arguments": {}})
        if "error" in answer:
            code = answer["error"].get("data", {}).get("code", answer["error"]["code"])
            return str(code)
        self._counts[tool] += 1
        said = int(answer["result"]["content"][0]["text"])
        is_mine = said == self._counts[tool]
        self._counts[tool] = said
        return "answered" if is_mine else "forgotten" if said == 1 else "somebody else's"

    def leave(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _post(self, method: str, params: Any) -> tuple[dict[str, str], Any]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if params is not None:
            self._last_id += 1
            message["id"] = self._last_id
        accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        body = json.dumps(message).encode()
        self._writer.write(request("POST", "/mcp", body, accepted | self._session))
        async with asyncio.timeout(_PATIENCE_S):
            first, headers, answered = await read_message(self._reader)
        if " 20" not in first:
            raise TrialError(f"{method}: {first} {answered[:500]!r}")
        return headers, json.loads(answered) if answered else None


async def come_and_go(gateway: Gateway, options: argparse.Namespace, seen: Seen, until: float) -> None:
    loop = asyncio.get_running_loop()
    dice = random.Random()
    while loop.time() < until:
        await asyncio.sleep(dice.uniform(0, 2) * options.pause_s)
        client = Client(gateway, options.declared)
        try:
            await client.come()
            tools = await client.list_tools()
            seen.answers[f"{len(tools)} tools"] += 1
            if dice.random() < options.calling:
                tool = dice.choice(tools)
                for _ in range(3):
                    seen.answers[await client.call(tool)] += 1
                    await asyncio.sleep(dice.uniform(0, 0.2) * options.pause_s)
        finally:
            client.leave()
            seen.answers["left"] += 1


def children(pid: int) -> list[int]:
    """Processes of servers: not the warden."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            found += [
                child
                for child in map(int, (task / "children").read_text().split())
                if _COUNTING.name.encode() in Path(f"/proc/{child}/cmdline").read_bytes()
            ]
    return found


async def watch(gateway: Gateway, seen: Seen) -> None:
    loop = asyncio.get_running_loop()
    told_at = loop.time()
    while True:
        seen.most = max(seen.most, len(children(gateway.process.pid)))
        if loop.time() - told_at >= _TELL_S:
            told_at = loop.time()
            print(
                f"  {seen.answers['left']} clients, {resident_mib(gateway.process.pid):.0f} MiB", flush=True
            )
        await asyncio.sleep(_LOOK_S)


async def until_settled(gateway: Gateway, expected: int) -> int:
    """The number of processes once it is what it should be, or when it is not within a minute."""
    for _ in range(int(_PATIENCE_S / _LOOK_S)):
        if len(children(gateway.process.pid)) == expected:
            break
        await asyncio.sleep(_LOOK_S)
    return len(children(gateway.process.pid))


async def until_listed(gateway: Gateway, options: argparse.Namespace) -> None:
    """A process that has started need not have told its tools yet."""
    client = Client(gateway, options.declared)
    try:
        await client.come()
        for _ in range(int(_PATIENCE_S / _LOOK_S)):
            if len(await client.list_tools()) == options.servers:
                return
            await asyncio.sleep(_LOOK_S)
        raise TrialError("not every server told its tools")
    finally:
        client.leave()


def judge(seen: Seen, options: argparse.Namespace) -> None:
    print(f"  {dict(seen.answers.most_common())}")
    expect(seen.answers["left"] >= options.clients, f"{seen.answers['left']} clients came and went")
    expect(seen.answers["answered"] > 0, f"{seen.answers['answered']} calls were answered")
    whole = sum(count for word, count in seen.answers.items() if word == f"{options.servers} tools")
    partial = {word for word in seen.answers if word.endswith(" tools")} - {f"{options.servers} tools"}
    expect(not partial, f"each of {whole} lists was whole")
    expect(seen.answers["somebody else's"] == 0, "no client saw what another did")
    known = {"answered", "left", "upstream.busy", "forgotten", f"{options.servers} tools"}
    expect(not set(seen.answers) - known, "nothing else failed")
    if options.max_children >= options.clients + options.servers:
        forgotten, busy = seen.answers["forgotten"], seen.answers["upstream.busy"]
        expect(forgotten + busy == 0, "there was room for everybody: nothing was forgotten or refused")
    expect(seen.most <= options.max_children, f"at most {seen.most} processes, of {options.max_children}")


async def trial(options: argparse.Namespace) -> None:
    servers = "".join(
        f"[mcpServers.s{number}]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps(['-I', '-S', str(_COUNTING)])}\n"
        for number in range(options.servers)
    )
    limits = f"max_children = {options.max_children}\nchild_grace_s = {_GRACE_S}\n"
    with tempfile.TemporaryDirectory() as name:
        async with running_gateway(Path(name), None, extra=servers, server=limits) as gateway:
            pid = gateway.process.pid
            loop = asyncio.get_running_loop()
            expect(await until_settled(gateway, options.servers) == options.servers, "one process a server")
            await until_listed(gateway, options)
            seen = Seen()
            # The first clients load code, the tokenizer and the store's buffers: what they cost is no leak.
            warm_s = max(1.0, 60 * options.minutes * _WARMING)
            async with asyncio.TaskGroup() as group:
                for _ in range(options.clients):
                    group.create_task(come_and_go(gateway, options, Seen(), loop.time() + warm_s))
            before = await until_settled(gateway, options.servers), resident_mib(pid)
            print(f"  at the start: {before[0]} processes, {before[1]:.0f} MiB")
            watching = asyncio.create_task(watch(gateway, seen))
            async with asyncio.TaskGroup() as group:
                for _ in range(options.clients):
                    group.create_task(come_and_go(gateway, options, seen, loop.time() + 60 * options.minutes))
            watching.cancel()
            after = await until_settled(gateway, options.servers), resident_mib(pid)
            print(f"  at the end: {after[0]} processes, {after[1]:.0f} MiB")
            judge(seen, options)
            expect(after[0] == before[0], f"{after[0]} processes at the end as at the start")
            grown = after[1] - before[1]
            expect(grown <= _GROWN_MIB, f"the gateway's memory grew by {grown:.0f} MiB, limit {_GROWN_MIB:g}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/chaos clients", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--clients", type=int, default=50, help="at a time")
    parser.add_argument("--servers", type=int, default=5)
    parser.add_argument("--max-children", type=int, default=60)
    parser.add_argument("--pause-s", type=float, default=2.0, help="between two clients, on average")
    parser.add_argument("--calling", type=float, default=0.5, help="how many of the clients call")
    parser.add_argument("--declared", type=json.loads, default={"roots": {}}, help="their capabilities")
    run_trial(parser, trial)


if __name__ == "__main__":
    main()
