"""The live stream of a real gateway, cut again and again under traffic, of this process and another."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from edge.http_probe import INITIALIZE
from end_to_end.forked import Command, start_forked
from end_to_end.gateway_process import GatewayProcess, clean_environment, running_gateway
from end_to_end.raw_clients import LegacyClient
from end_to_end.record.test_record import rows

from callgate.wire.framing.sse import SseDecoder, SseEvent

PATIENCE_S = 60.0
CUTS = 25
CALLS_PER_CUT = 5  # of each caller: more than the reader gets to see before it is cut, so it is always behind


@dataclass
class CutReader:
    """Reads a few bytes, hangs up in the middle of wherever it is, and comes back."""

    port: int
    last_id: str = "0"
    cuts: int = 0
    settled: list[str] = field(default_factory=list[str])
    chance: Random = field(default_factory=lambda: Random(6))
    was_cut: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def read(self, max_bytes: int | None, until: int | None = None) -> None:
        """`until`: so many calls were told as settled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            head = f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {self.last_id}\r\n\r\n"
            writer.write(head.encode())
            assert b" 200 " in await reader.readline()
            await reader.readuntil(b"\r\n\r\n")
            decoder, left = SseDecoder(), max_bytes
            while (left is None or left > 0) and (until is None or len(self.settled) < until):
                size = int(await reader.readline(), 16)
                assert size, "the gateway ended the stream"
                chunk = (await reader.readexactly(size + 2))[:-2]
                self._note(decoder.feed(chunk[:left]))
                left = None if left is None else left - len(chunk)
        finally:
            writer.transport.abort()

    def _note(self, events: Iterable[SseEvent]) -> None:
        for event in events:
            assert event.event != "events.missed"
            if event.event == "tool_calls.settled":
                assert event.event_id is not None
                self.last_id = event.event_id
                self.settled.append(json.loads(event.data)["data"]["id"])

    async def read_and_be_cut(self) -> None:
        while self.cuts < CUTS:
            await self.read(self.chance.randint(1, 6_000))
            async with self.was_cut:
                self.cuts += 1
                self.was_cut.notify_all()

    async def is_enough(self, calls: int) -> bool:
        """Whether a caller who made so many can stop. Waits for the reader when far ahead of it."""
        async with self.was_cut:
            await self.was_cut.wait_for(lambda: self.cuts == CUTS or calls < (self.cuts + 1) * CALLS_PER_CUT)
            return self.cuts == CUTS


@asynccontextmanager
async def another_process(state: Path) -> AsyncIterator[Command]:
    """`callgate stdio` of a configuration of its own: it does not join, and journals for itself."""
    config = state / "other.toml"
    config.write_text('version = 1\n[record]\nredact_keys = ["other"]\n')
    process = await start_forked(
        "stdio", "--config", str(config),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=clean_environment(state), cwd=state,
    )  # fmt: skip
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def call_over_stdio(process: Command, is_enough: Callable[[int], Awaitable[bool]]) -> int:
    """One call after the other; how many."""
    assert process.stdin is not None
    assert process.stdout is not None
    call = {"name": "demo__query", "arguments": {"query": "SELECT 1"}}
    for rpc_id in itertools.count():
        method, params = ("tools/call", call) if rpc_id else ("initialize", INITIALIZE)
        frame = {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params}
        process.stdin.write(json.dumps(frame).encode() + b"\n")
        await process.stdin.drain()
        while "id" not in (answer := json.loads(await process.stdout.readline())):
            pass  # that a list changed
        assert "result" in answer
        if rpc_id and await is_enough(rpc_id):
            return rpc_id
    raise AssertionError("there is always another number")


async def call_over_http(gateway: GatewayProcess, is_enough: Callable[[int], Awaitable[bool]]) -> int:
    calls = 0
    async with LegacyClient(port_of(gateway), "/mcp") as client:
        while not await is_enough(calls):
            assert "result" in await client.call("demo__query", {"query": "SELECT 1"})
            calls += 1
    return calls


def port_of(gateway: GatewayProcess) -> int:
    return int(gateway.announced["url"].rpartition(":")[2])


async def test_a_stream_that_is_cut_in_the_middle_again_and_again_tells_every_call_once(
    tmp_path: Path,
) -> None:
    async with (
        running_gateway(tmp_path) as gateway,
        another_process(tmp_path) as other,
        asyncio.timeout(PATIENCE_S),
    ):
        reader = CutReader(port_of(gateway))
        _, *made = await asyncio.gather(
            reader.read_and_be_cut(),
            call_over_http(gateway, reader.is_enough),
            call_over_http(gateway, reader.is_enough),
            call_over_stdio(other, reader.is_enough),
        )
        calls = sum(made)
        await reader.read(None, until=calls)
    assert len(reader.settled) == len(set(reader.settled)) == calls
    assert all(count > 0 for count in made)
    recorded = rows(tmp_path, "SELECT id::VARCHAR FROM rpc_events WHERE method = 'tools/call'")
    assert sorted(event_id for (event_id,) in recorded) == sorted(reader.settled)


async def once(calls: int) -> bool:
    return calls == 1


async def test_a_call_of_another_process_reaches_the_live_stream_of_the_one_that_serves(
    tmp_path: Path,
) -> None:
    async with (
        running_gateway(tmp_path) as gateway,
        another_process(tmp_path) as other,
        asyncio.timeout(PATIENCE_S),
    ):
        reader = CutReader(port_of(gateway))
        reading = asyncio.create_task(reader.read(None, until=1))
        await call_over_stdio(other, once)
        await reading
        (row,) = (await gateway.get("/api/v1/tool-calls"))["tool_calls"]
    assert reader.settled == [row["id"]]
