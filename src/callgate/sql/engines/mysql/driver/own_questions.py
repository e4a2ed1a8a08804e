"""Our own questions: which of several servers behind an address this is, and the session's role there."""

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.server import ServerError
from callgate.sql.engines.mysql.driver import packets
from callgate.sql.engines.mysql.driver.result import read_result
from callgate.sql.engines.mysql.driver.wire import MySqlWire
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits

_WHICH_SQL = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id), @@global.read_only"
_ROLE_SQL = "SELECT CURRENT_ROLE()"
_FIRST_MYSQL_WITH_ROLES = (8, 0)
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
