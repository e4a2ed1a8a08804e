"""How many Python functions one warm tool call goes through: a path that can be read in one sitting."""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import pytest
from edge.http_probe import INITIALIZE, JSON_HEADERS, MODERN_META, HttpProbe
from end_to_end.upstream_stage import ACTOR
from waiting import until

import callgate
from callgate.app.build import build_gateway
from callgate.app.record import Record
from callgate.config.load import load_config
from callgate.config.sources.flags import Flags
from callgate.recorder.group_writer import GroupWriter
from callgate.recorder.read.caught_up import caught_up

SOURCE = str(Path(callgate.__file__).parent)
# Seen over HTTP and stdio, at /mcp, with `sync = "reply"`. They may only fall. General: a task answers.
MOST_PLAIN, MOST_PROGRESS, MOST_NEW_HEAD, MOST_GENERAL = 44, 58, 78, 91
MOST_BRIDGED = {"modern client": 57, "legacy client": 57}
# Of one group of calls in the recorder: as many whether it has one or hundreds, but for three of each call.
MOST_OF_GROUP = 43
CALLS_OF_ROUND = 500
# There is one of each for a call; of connections and sessions there are few.
CALL_TYPES = {
    "Exchange",
    "Hop",
    "Call",
    "BegunToolCall",
    "AnsweredRequest",
    "LegacyAnswer",
    "Responder",
    "Pending",
}
RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "one", "version": "1"},
    },
    "tools/list": {
        "tools": [{"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]
    },
    "tools/call": {"content": [{"type": "text", "text": "hi"}], "isError": False},
}


COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


class KeptAlive(asyncio.Protocol):
    """An HTTP server that answers as most do: plain JSON, on a connection that stays."""

    results = RESULTS

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        asked = json.loads(body) if head.startswith(b"POST") else {}
        method = asked.get("method", "")
        if method in self.results:
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": self.results[method]}
            self._send(b"200 OK", json.dumps(answer).encode())
        elif method.startswith("notifications/"):
            self._send(b"202 Accepted", b"")
        elif method:
            self._send(b"400 Bad Request", b"")
        else:
            self._send(b"405 Method Not Allowed", b"")

    def _send(self, status: bytes, body: bytes) -> None:
        lines = b"content-type: application/json\r\ncontent-length: %d" % len(body)
        self._transport.write(b"HTTP/1.1 %b\r\n%b\r\n\r\n%b" % (status, lines, body))


class ModernKeptAlive(KeptAlive):
    results = {method: RESULTS[method] | COMPLETE for method in ("tools/list", "tools/call")} | {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}} | COMPLETE
    }


@asynccontextmanager
async def configured(
    transport: str, folder: Path, era: Literal["legacy", "modern"] = "legacy"
) -> AsyncIterator[str]:
    if transport == "http":
        kind = KeptAlive if era == "legacy" else ModernKeptAlive
        server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0)
        async with server:
            yield f'url = "http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"'
        return
    args = ["-E", "-S", str(ACTOR), "--log", str(folder / "log"), "--name", "one", "--era", era]
    yield f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(args)}"


@pytest.fixture(autouse=True)
def _no_slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a write may take so long that the recorder's thread does all of them for a while."""
    monkeypatch.setattr("callgate.recorder.group_writer._SLOW_S", 1000.0)


@asynccontextmanager
async def gateway_before(server: str, folder: Path) -> AsyncIterator[int]:
    async with record_before(server, folder) as (port, _):
        yield port


@asynccontextmanager
async def record_before(server: str, folder: Path) -> AsyncIterator[tuple[int, Record]]:
    (folder / "callgate.toml").write_text(f"version = 1\n[mcpServers.one]\n{server}\n")
    loaded = load_config(
        Flags(config=folder / "callgate.toml"), {"CALLGATE_STATE_DIR": str(folder / "state")}
    )
    gateway = await build_gateway(loaded, keeps_store=True)
    try:
        port = await gateway.listener.start("127.0.0.1", 0)
        await until(
            lambda: all(one.state.value == "up" for one in gateway.relay.health() if one.kind == "mcp")
        )
        assert gateway.record is not None
        yield port, gateway.record
    finally:
        await gateway.close()


async def functions_called(
    port: int, params: dict[str, Any], *further: str, is_modern: bool = False
) -> list[str]:
    """By one warm call, on the event loop's thread. Of several calls the least: timers run beside them. Those
    that write its group to the journal are apart, since all calls of a turn share them.

    `further`: headers that are others in each call, so that its head was not sent before.
    """
    called: list[str] = []
    of_group: list[str] = []
    is_in_group = False

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal is_in_group
        code = frame.f_code
        if code is GroupWriter.write_short.__code__:
            is_in_group = event != "return"
        if event == "call" and code.co_filename.startswith(SOURCE):
            if is_in_group:
                of_group.append(code.co_qualname)
                return
            called.append(f"{code.co_filename.removeprefix(SOURCE)[1:]}:{code.co_qualname}")

    least: list[str] = []
    least_of_group: list[str] = []
    async with HttpProbe(port) as probe:
        if is_modern:
            head = JSON_HEADERS | MODERN_HEADERS | {"mcp-name": params["name"]}
            params = {"_meta": MODERN_META, **params}
        else:
            opened = await probe.legacy("initialize", INITIALIZE)
            head = JSON_HEADERS | {"mcp-session-id": opened.headers["mcp-session-id"]}
        for number in range(1, 16):
            body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            sent = head | {name: str(number) for name in further}
            called.clear()
            of_group.clear()
            sys.setprofile(note)
            compact = json.dumps(body, separators=(",", ":")).encode()  # as SDKs write it
            answer = await probe.request("POST", "/mcp", sent, compact)
            sys.setprofile(None)
            assert answer.status == 200, answer.body
            if number > 10 and (not least or len(called) < len(least)):
                least = list(called)
            # What a timer told of, or a call before left, may be in the same group.
            if number > 10 and (not least_of_group or len(of_group) < len(least_of_group)):
                least_of_group = list(of_group)
            await asyncio.sleep(0.01)
    assert len(least_of_group) <= MOST_OF_GROUP, [len(least_of_group), *least_of_group]
    return least


MODERN_HEADERS = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}
PLAIN: dict[str, Any] = {"name": "one__echo", "arguments": {}}
WITH_PROGRESS = PLAIN | {"_meta": {"progressToken": 1}}


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize(
    ("params", "further", "most"),
    [
        (PLAIN, [], MOST_PLAIN),
        (WITH_PROGRESS, [], MOST_PROGRESS),
        (PLAIN, ["x-number"], MOST_NEW_HEAD),
        (PLAIN, ["trailer"], MOST_GENERAL),  # whatever announces one is for the general path
    ],
    ids=["plain", "progress", "new head", "general"],
)
async def test_a_warm_call_goes_through_few_functions(
    tmp_path: Path, transport: str, params: dict[str, Any], further: list[str], most: int
) -> None:
    async with configured(transport, tmp_path) as server, gateway_before(server, tmp_path) as port:
        called = await functions_called(port, params, *further)
    assert len(called) <= most, "\n".join([f"{len(called)} of {most}:", *called])


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("client", ["modern client", "legacy client"])
async def test_a_call_that_is_bridged_between_eras_goes_through_few_functions(
    tmp_path: Path, transport: str, client: str
) -> None:
    era = "modern" if client == "legacy client" else "legacy"
    async with configured(transport, tmp_path, era) as server, gateway_before(server, tmp_path) as port:
        called = await functions_called(port, PLAIN, is_modern=client == "modern client")
    most = MOST_BRIDGED[client]
    assert len(called) <= most, "\n".join([f"{len(called)} of {most}:", *called])


async def test_a_warm_call_leaves_nothing_for_the_collector(tmp_path: Path) -> None:
    """What holds itself is freed late, after thousands of calls: memory that is cold, and a pause for all."""
    async with configured("http", tmp_path) as server, gateway_before(server, tmp_path) as port:
        for further in ([], ["trailer"]):
            await functions_called(port, PLAIN, *further)
            gc.collect()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                await functions_called(port, PLAIN, *further)
                gc.collect()
                left = [
                    type(one).__qualname__
                    for one in gc.garbage
                    if type(one).__module__.startswith("callgate")
                ]
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
            of_calls = [name for name in left if name in CALL_TYPES]
            assert not of_calls, left


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_calls_that_were_made_and_stored_keep_no_memory(tmp_path: Path, transport: str) -> None:
    """The short form of `scripts/bench memory --soak 600`: what Python keeps is counted. Each call has
    another id and other arguments. One object for each call would be 500 more in each round."""
    kept: list[int] = []
    async with (
        configured(transport, tmp_path) as server,
        record_before(server, tmp_path) as (port, record),
        HttpProbe(port) as probe,
    ):
        opened = await probe.legacy("initialize", INITIALIZE)
        head = JSON_HEADERS | {"mcp-session-id": opened.headers["mcp-session-id"]}
        for number in range(1, 6 * CALLS_OF_ROUND + 1):
            params = PLAIN | {"arguments": {"n": number}}
            body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            answer = await probe.request("POST", "/mcp", head, json.dumps(body).encode())
            assert answer.status == 200, answer.body
            if number % CALLS_OF_ROUND == 0:
                await caught_up(record.recorder)
                gc.collect()
                kept.append(sys.getallocatedblocks())
    # Two rounds may fill what is bounded. Timers and threads make single rounds differ by a hundred.
    assert min(kept[4:]) - min(kept[2:4]) < CALLS_OF_ROUND // 2, kept


async def test_further_servers_add_nothing_to_a_call(tmp_path: Path) -> None:
    async with configured("http", tmp_path) as server:
        async with gateway_before(server, tmp_path) as port:
            alone = await functions_called(port, PLAIN)
        others = "".join(f"\n[mcpServers.other{number}]\n{server}" for number in range(12))
        async with gateway_before(server + others, tmp_path) as port:
            among_others = await functions_called(port, PLAIN)
    assert among_others == alone


async def test_a_policy_a_search_and_a_choice_of_tools_add_nothing_to_a_call(tmp_path: Path) -> None:
    rules = '\ntools = { leave_out = ["x*"] }\n[policy]\ndestructive = "deny"\n[server]\ntool_search = true'
    async with configured("http", tmp_path) as server:
        async with gateway_before(server, tmp_path) as port:
            without = await functions_called(port, PLAIN)
        async with gateway_before(server + rules, tmp_path) as port:
            assert await functions_called(port, PLAIN) == without
