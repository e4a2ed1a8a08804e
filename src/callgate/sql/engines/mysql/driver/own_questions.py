"""Our own questions: which of several servers behind an address this is, ending a session there, its role."""

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
_ROLE_SQL = "SELECT CURRENT_ROLE()"
_FIRST_MYSQL_WITH_ROLES = (8, 0)
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


async def current_role(wire: MySqlWire) -> Cell:
    """None: it has none, or the server knows no roles (there the name could be that of a stored function)."""
    if not wire.greeting.is_mariadb and wire.greeting.version < _FIRST_MYSQL_WITH_ROLES:
        return None
    try:
        ((role,),) = await ask(wire, _ROLE_SQL)
    except ServerError:
        return None
    return role


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
