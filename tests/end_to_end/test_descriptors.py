"""Few descriptors and many strangers: who is in is served, strangers are turned away, nothing is lost."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from edge.http_probe import Answer, HttpProbe
from end_to_end.gateway_process import CALLGATE, GatewayProcess, running_gateway

LIMIT = 128
FEW_DESCRIPTORS = ["prlimit", f"--nofile={LIMIT}:{LIMIT}", "--", *CALLGATE]
QUERY = {"name": "demo__query", "arguments": {"query": "SELECT count(*) FROM shop.orders"}}
DEADLINE_S = 30.0  # only against a hang


def port_of(gateway: GatewayProcess) -> int:
    return int(gateway.announced["url"].rpartition(":")[2])


async def stranger(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def turned_away(port: int) -> Answer | None:
    """None: the connection was closed without a word."""
    try:
        async with HttpProbe(port) as probe:
            return await probe.request("GET", "/healthz")
    except (ConnectionError, asyncio.IncompleteReadError):
        return None


async def test_a_crowd_is_turned_away_and_the_record_misses_no_call(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(DEADLINE_S),
        running_gateway(tmp_path, command=FEW_DESCRIPTORS) as gateway,
        HttpProbe(port_of(gateway)) as neighbour,
        AsyncExitStack() as crowd,
    ):
        calls = 0

        async def call() -> None:
            nonlocal calls
            answer = await neighbour.modern("tools/call", QUERY)
            assert answer.status == 200, answer.body
            assert not answer.json()["result"].get("isError"), answer.body
            calls += 1

        await call()
        for _ in range(2 * LIMIT):
            _, writer = await stranger(port_of(gateway))
            crowd.callback(writer.close)
        answers = [await turned_away(port_of(gateway)) for _ in range(5)]
        for _ in range(20):
            await call()
        # While they stay, what the store has to do is done: a reader in the crowd's midst sees every call.
        reading = await neighbour.request("GET", "/api/requests")
        assert reading.status == 200, reading.body
        assert reading.json()["total"] == calls

        told = [answer for answer in answers if answer is not None]
        assert told, "nobody was told why"
        for answer in told:
            assert answer.status == 503
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json()["code"] == "refused.overloaded"

        await crowd.aclose()
        while (again := await turned_away(port_of(gateway))) is None or again.status != 200:
            await asyncio.sleep(0.01)
        assert again.json()["status"] == "ok"
        await call()
        assert (await gateway.get("/api/requests"))["total"] == calls


async def test_a_connection_that_never_asked_gives_way_when_all_places_are_taken(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(DEADLINE_S),
        running_gateway(tmp_path, command=FEW_DESCRIPTORS) as gateway,
        AsyncExitStack() as crowd,
    ):
        for _ in range(2 * LIMIT):
            _, writer = await stranger(port_of(gateway))
            crowd.callback(writer.close)
        # The strangers stay connected and say nothing. Who asks is let in before they leave.
        while (answer := await turned_away(port_of(gateway))) is None or answer.status != 200:
            await asyncio.sleep(0.1)


async def test_connections_that_asked_once_and_stay_give_way_too(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(DEADLINE_S),
        running_gateway(tmp_path, command=FEW_DESCRIPTORS) as gateway,
        AsyncExitStack() as crowd,
    ):
        answer: Answer | None = None
        while answer is None or answer.status == 200:
            _, writer = await _kept(port_of(gateway))
            crowd.callback(writer.close)
            answer = await turned_away(port_of(gateway))
        while (answer := await turned_away(port_of(gateway))) is None or answer.status != 200:
            await asyncio.sleep(0.1)


async def _kept(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that was answered once, and stays."""
    reader, writer = await stranger(port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await reader.readline()
    return reader, writer
