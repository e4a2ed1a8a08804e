"""Our own questions: which of several servers behind one address this is, and ending a session there."""

from contextlib import suppress

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.server import ServerError
from callgate.sql.drivers.network.way import Way
from callgate.sql.engines.mysql.driver import packets
from callgate.sql.engines.mysql.driver.result import read_result
from callgate.sql.engines.mysql.driver.wire import MySqlWire, connect
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits
from callgate.sql.settings import ServerAddress

_WHICH_SQL = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id), @@global.read_only"
# Proxies that go round reach each of so many servers.
_KILL_TRIES = 8
# No limit of the operator's may leave out one of the names that the guard has to know.
_LIMITS = Limits(max_rows=100_000, character_limit=10_000_000)


async def ask(wire: MySqlWire, sql: str) -> list[tuple[Cell, ...]]:
    """Raises `ServerError`, `ConnectionLost`."""
    wire.send(packets.query(sql))
    return (await read_result(wire, Statement(sql, "SELECT"), _LIMITS)).keeper.rows


async def which_server(wire: MySqlWire) -> tuple[Cell, bool]:
    """And whether it takes writes."""
    try:
        ((name, read_only),) = await ask(wire, _WHICH_SQL)
    except ServerError:  # another program that speaks MySQL's protocol
        return None, True
    return name, str(read_only) in ("0", "OFF")


async def kill(how: str, connection_id: int, server: Cell, address: ServerAddress, way: Way) -> None:
    """A proxy may pass us to another server than before, where that number is somebody else's session."""
    with suppress(Exception):  # the server may be gone; its own limit ends the statement otherwise
        for _ in range(_KILL_TRIES):
            wire = await connect(await way.prepared(address), way.open)
            try:
                if (await which_server(wire))[0] == server:
                    wire.send(packets.query(f"{how} {connection_id}"))
                    await wire.expect_ok()
                    return
            finally:
                wire.stream.close()
