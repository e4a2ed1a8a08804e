"""Kills: what a source ends at its server, each by a KILL over a connection of its own.

Behind a proxy a new connection may reach another server, where the number of the session is somebody else's.
So each says first which server it is, and several are tried. Kills that come together share them, one after
the other: two at once, behind a proxy that goes round, would always get the server that the other one wants.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.server import ServerError
from callgate.sql.drivers.network.way import Way
from callgate.sql.engines.mysql.driver import packets
from callgate.sql.engines.mysql.driver.own_questions import which_server
from callgate.sql.engines.mysql.driver.wire import MySqlWire, connect
from callgate.sql.settings import ServerAddress

# Proxies that go round reach each of so many servers.
_TRIES = 8

_Place = tuple[str, int, Path | None]


@dataclass(slots=True, eq=False)
class _Wanted:
    place: _Place
    server: Cell  # as it calls itself
    command: str
    is_over: bool = False


class Kills:
    def __init__(self, way: Way) -> None:
        self._way = way
        self._wanted: set[_Wanted] = set()
        self._turns: dict[_Place, asyncio.Lock] = {}  # a server that is away holds up its own only

    async def kill(self, how: str, connection_id: int, server: Cell, address: ServerAddress) -> None:
        """`how`: KILL or KILL QUERY. If it cannot be done, the server's own limit ends the statement."""
        place = (address.host, address.port, address.socket)
        wanted = _Wanted(place, server, f"{how} {connection_id}")
        self._wanted.add(wanted)
        try:
            async with self._turns.setdefault(place, asyncio.Lock()):
                for _ in range(_TRIES):
                    if wanted.is_over:
                        return
                    await self._try(place, address)
        except Exception:  # noqa: BLE001 - the server may be gone: who waits for a turn would only find it again
            self._give_up(place)
        finally:
            self._wanted.discard(wanted)

    async def _try(self, place: _Place, address: ServerAddress) -> None:
        wire = await connect(await self._way.prepared(address), self._way.open)
        try:
            server = (await which_server(wire))[0]
            for wanted in [one for one in self._wanted if (one.place, one.server) == (place, server)]:
                await _send(wire, wanted)
        finally:
            wire.stream.close()

    def _give_up(self, place: _Place) -> None:
        for wanted in self._wanted:
            if wanted.place == place:
                wanted.is_over = True


async def _send(wire: MySqlWire, wanted: _Wanted) -> None:
    if wanted.is_over:
        return
    wanted.is_over = True
    wire.send(packets.query(wanted.command))
    with suppress(ServerError):  # most often: there is no such session any more
        await wire.expect_ok()
