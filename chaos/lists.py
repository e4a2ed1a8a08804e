"""The first list of a gateway whose servers start slowly or hang: at once, whole later, told when it changes.

The slow servers sleep before they read, as a cold `npx` does while it downloads; one never answers. A client
lists as soon as the gateway is ready, and again each time it is told that the list changed.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _gateway import Gateway, running_gateway
from _http import read_message, request
from _trial import TrialError, expect, run_trial

_COUNTING = Path(__file__).parent / "_counting_server.py"
_CHANGED = b"notifications/tools/list_changed"
_FIRST_LIST_S = 1.0
_ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Client:
    """Of the handshake era: it lists, listens, and lists again when it is told to."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._session: dict[str, str] = {}
        self._last_id = 0
        self.told = 0
        self.changed = asyncio.Event()

    async def come(self) -> None:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "trial", "version": "1"},
        }
        headers, _ = await self._post("initialize", hello)
        self._session = {"Mcp-Session-Id": headers["mcp-session-id"]}

    async def tools(self) -> list[str]:
        _, answer = await self._post("tools/list", {})
        return [tool["name"] for tool in answer["result"]["tools"]]

    async def listen(self) -> None:
        """Until it is cancelled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._gateway.port)
        writer.write(request("GET", "/mcp", b"", {"Accept": "text/event-stream", **self._session}))
        try:
            while line := await reader.readline():
                if _CHANGED in line:
                    self.told += 1
                    self.changed.set()
        finally:
            writer.transport.abort()

    async def _post(self, method: str, params: dict[str, Any]) -> tuple[dict[str, str], Any]:
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        reader, writer = await asyncio.open_connection("127.0.0.1", self._gateway.port)
        writer.write(request("POST", "/mcp", json.dumps(message).encode(), _ACCEPT | self._session))
        first, headers, answered = await read_message(reader)
        writer.close()
        if " 200 " not in first:
            raise TrialError(f"{method}: {first} {answered[:500]!r}")
        return headers, json.loads(answered)


def entry(name: str, before: str) -> str:
    """`before`: what its process does before it serves, in words of the shell."""
    serve = f"exec {sys.executable} -I -S {_COUNTING}"
    return f'[mcpServers.{name}]\ncommand = "/bin/sh"\nargs = {json.dumps(["-c", f"{before} {serve}"])}\n'


def configuration(options: argparse.Namespace) -> tuple[str, list[str]]:
    """And the names of the servers that come up."""
    quick = [f"quick{number}" for number in range(options.servers - options.slow - 1)]
    slow = [f"slow{number}" for number in range(options.slow)]
    delays = {name: options.slow_s * (1 + number / 4) for number, name in enumerate(slow)}
    entries = [entry(name, "") for name in quick] + [
        entry(name, f"sleep {delay:g};") for name, delay in delays.items()
    ]
    return "".join([*entries, entry("hanging", "sleep 3600;")]), quick + slow


async def trial(options: argparse.Namespace) -> None:
    extra, coming = configuration(options)
    with tempfile.TemporaryDirectory() as folder:
        async with running_gateway(Path(folder), None, extra=extra) as gateway:
            ready = time.monotonic()
            client = Client(gateway)
            await client.come()
            tools = await client.tools()
            first_s, first = time.monotonic() - ready, len(tools)
            listening = asyncio.create_task(client.listen())
            lists = 1
            async with asyncio.timeout(options.slow_s * 3 + 60):
                while len(tools) < len(coming):
                    await client.changed.wait()
                    client.changed.clear()
                    tools = await client.tools()
                    lists += 1
            whole_s = time.monotonic() - ready
            health = {one["name"]: one for one in (await gateway.get("/healthz"))["servers"]}
            listening.cancel()
            print(f"  first list {first_s:.2f} s after readiness, with {first} of {len(coming)} tools")
            print(f"  whole after {whole_s:.1f} s, {client.told} list_changed, {lists} lists")
            if not options.without_times:
                expect(first_s <= _FIRST_LIST_S, f"the first list came within {_FIRST_LIST_S:g} s")
            expect(set(tools) == {f"{name}__count" for name in coming}, "all that came up are in the list")
            expect(first < len(coming), "the first list did not wait for the slow ones")
            expect(client.told <= len(coming) - first, "nobody was told more often than a server came up")
            expect(lists <= client.told + 1, "each list but the first was asked because of a list_changed")
            expect(health["hanging"]["state"] == "starting", "health names the one that hangs")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/chaos lists", description=__doc__)
    parser.add_argument("--servers", type=int, default=20, help="in all")
    parser.add_argument("--slow", type=int, default=3, help="of them; one more hangs for ever")
    parser.add_argument("--slow-s", type=float, default=20.0, help="before the first of them answers")
    parser.add_argument("--without-times", action="store_true", help="judge counts only")
    run_trial(parser, trial)


if __name__ == "__main__":
    main()
