"""The way to a database, and what can happen to it: a TCP forwarder in our own event loop."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal

Fault = Literal["reset", "hang", "delay", "cut", "lose_commit"]
FAULTS: tuple[Fault, ...] = ("reset", "hang", "delay", "cut", "lose_commit")
_COMMIT = b"COMMIT\x00"
_PIECE_BYTES = 65536


class Proxy:
    def __init__(self, target_port: int, chance: random.Random) -> None:
        self._target_port = target_port
        self._chance = chance
        self._links: set[_Link] = set()
        self._loses_commits = 0
        self._server: asyncio.Server | None = None
        self.is_open = True
        self.happened: dict[str, int] = {}

    async def start(self) -> int:
        """Its port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for link in list(self._links):
            link.reset()
        await asyncio.sleep(0)

    def refuse(self) -> None:
        """Whoever is connected is reset, whoever comes too, until `accept`."""
        self.is_open = False
        for link in list(self._links):
            link.reset()

    def accept(self) -> None:
        self.is_open = True

    def disturb(self) -> None:
        """One fault, to one connection that there is."""
        fault = self._chance.choice(FAULTS)
        if fault == "lose_commit":
            self._loses_commits += 1  # of the next one, whoever's it is
            return
        if self._links:
            link = self._chance.choice(sorted(self._links, key=id))
            link.meet(fault, self._chance)
            self._count(fault)

    def calm(self) -> None:
        """No further fault, and none that lasts."""
        self._loses_commits = 0
        for link in list(self._links):
            if link.is_hung:
                link.reset()

    def _count(self, fault: Fault) -> None:
        self.happened[fault] = self.happened.get(fault, 0) + 1

    def is_commit_lost(self, data: bytes) -> bool:
        if not self._loses_commits or _COMMIT not in data:
            return False
        self._loses_commits -= 1
        self._count("lose_commit")
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.is_open:
            writer.transport.abort()
            return
        try:
            to_server = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(self, (reader, writer), to_server)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)


_Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Link:
    """One connection of a client, and ours to the server for it."""

    def __init__(self, proxy: Proxy, client: _Side, server: _Side) -> None:
        self._proxy = proxy
        self._client, self._server = client, server
        self._flows = asyncio.Event()
        self._flows.set()
        self._delay_s = 0.0
        self._left_bytes: int | None = None  # until it is cut

    @property
    def is_hung(self) -> bool:
        return not self._flows.is_set()

    def meet(self, fault: Fault, chance: random.Random) -> None:
        match fault:
            case "reset":
                self.reset()
            case "hang":  # without an end of the connection, on either side
                self._flows.clear()
            case "delay":
                self._delay_s = chance.uniform(0.01, 0.2)
            case _:
                self._left_bytes = chance.randint(0, 20_000)

    def reset(self) -> None:
        for _, writer in (self._client, self._server):
            writer.transport.abort()
        self._flows.set()

    async def run(self) -> None:
        up = asyncio.create_task(self._pass(self._client[0], self._server[1], is_up=True))
        down = asyncio.create_task(self._pass(self._server[0], self._client[1], is_up=False))
        await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        self.reset()
        await asyncio.gather(up, down, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_up: bool) -> None:
        with suppress(OSError):
            while data := await reader.read(_PIECE_BYTES):
                await self._flows.wait()
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                if is_up and self._proxy.is_commit_lost(data):
                    self._client[1].transport.abort()  # the client hears no answer
                    writer.write(data)  # and the server commits
                    await writer.drain()
                    await self._server[0].read(_PIECE_BYTES)
                    return
                if self._left_bytes is not None:
                    data, self._left_bytes = data[: self._left_bytes], self._left_bytes - len(data)
                writer.write(data)
                await writer.drain()
                if self._left_bytes is not None and self._left_bytes <= 0:
                    return


@asynccontextmanager
async def proxy_to(port: int, chance: random.Random) -> AsyncIterator[tuple[Proxy, int]]:
    """The proxy, and where it listens."""
    proxy = Proxy(port, chance)
    try:
        yield proxy, await proxy.start()
    finally:
        await proxy.close()
