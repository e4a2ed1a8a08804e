"""MySqlConnection: one session, and how a call's statements run in it. Implements `ServerConnection`.

One write per call: `START TRANSACTION READ ONLY`, the statement, COM_RESET_CONNECTION and the pins go out
together, each a command of its own, and the answers are read one by one. The session's own READ ONLY (a pin)
stops writes and DDL. The explicit transaction holds when one of several statements changes that setting; it
is set again before the next one, for DDL leaves the transaction by itself. If a statement ends the
transaction, the server's answer says so, and the rest is not sent.
Counterpart: `result` reads rows, `session` says what is pinned.
"""

import time
from collections.abc import Sequence
from contextlib import suppress

from callgate.sql.drivers.driver import Cell, StatementResult
from callgate.sql.drivers.network.server import DatabaseFault, ServerError, StatementFailed
from callgate.sql.drivers.network.stream import ConnectionLost
from callgate.sql.drivers.network.way import Way
from callgate.sql.engines.mysql.driver import packets
from callgate.sql.engines.mysql.driver.result import Rows, read_columns, read_rows, skip_rows
from callgate.sql.engines.mysql.driver.session import (
    AURORA_SQL,
    BEGIN_PLAN,
    BEGIN_READ_ONLY,
    READ_MODES_SQL,
    STAY_READ_ONLY,
    WHICH_SERVER_SQL,
    Pins,
    pins_of,
)
from callgate.sql.engines.mysql.driver.wire import MySqlWire, connect
from callgate.sql.engines.mysql.own_functions import CALLS_OWN_FUNCTION, OwnFunctions
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress

_LOCAL_INFILE = 0xFB
_OK = 0x00
_ERR = 0xFF
_WRONG_ARGUMENTS = DatabaseFault(
    "1210", "HY000", "The number of bound values is not that of the placeholders"
)
# The text of error 1792. Here we noticed it ourselves, before the next statement was sent.
_LEFT_READ_ONLY = DatabaseFault("1792", "25006", "The statement before it ended the read-only transaction")
# A connection's number is longer than what the greeting has room for.
_GREETING_BITS = 0xFFFFFFFF
_WRONG_PARAMETERS_OF_STORED = "1584"
# Proxies that go round reach each of so many servers.
_KILL_TRIES = 8
_NOT_UTF8 = DatabaseFault("1300", "HY000", "Invalid utf8mb4 character string")


class MySqlConnection:
    def __init__(
        self,
        wire: MySqlWire,
        address: ServerAddress,
        policy: Policy,
        way: Way,
        own_functions: OwnFunctions,
    ) -> None:
        self._wire = wire
        self._address = address
        self._way = way
        self._policy = policy
        self._own_functions = own_functions
        self._begin = b"" if policy.may_write else packets.query(BEGIN_READ_ONLY)
        self._again = b"" if policy.may_write else packets.query(STAY_READ_ONLY)
        self._restore: tuple[bytes, ...] = ()
        # What the server last said to them, packet for packet: most often it says the same again.
        self._began_by = b""
        self._restored_by = b""
        self._is_clean = True
        self._version = version_of(wire.greeting.server_version)
        self._connection_id = wire.greeting.connection_id
        self._server: Cell = None
        self.takes_writes = True

    @property
    def version(self) -> str:
        return self._version

    @property
    def is_mariadb(self) -> bool:
        return self._wire.greeting.is_mariadb

    @property
    def is_usable(self) -> bool:
        return self._is_clean and not self._wire.stream.is_lost

    async def pin(self) -> None:
        """Raises `ServerError`, `session.PinFailed`."""
        modes, connection_id = (await self._rows(READ_MODES_SQL))[0]
        self._connection_id = int(str(connection_id))
        # MySQL Router, which greets with a number of its own, loses commands that come behind another one.
        is_direct = self._connection_id & _GREETING_BITS == self._wire.greeting.connection_id
        self._wire.pipelines = is_direct and not await self._rows(AURORA_SQL)
        pins: Pins = pins_of(
            self._policy,
            is_mariadb=self.is_mariadb,
            version=self._wire.greeting.version,
            server_modes=str(modes),
        )
        self._restore = (packets.RESET_CONNECTION, packets.query(pins.set_sql))
        self._wire.send(*self._restore)
        await self._restored()
        pins.check((await self._rows(pins.read_back_sql))[0])
        self._server, self.takes_writes = await self._which_server()

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        self._is_clean = False
        if not self._own_functions.is_empty:
            await self._refuse_own_functions(statements)
        results: list[StatementResult] = []
        failed: StatementFailed | None = None
        is_restoring = False
        before = self._begin
        if before and len(statements) == 1 and statements[0].plans_write:
            before = packets.query(BEGIN_PLAN)
        for number, statement in enumerate(statements):
            is_last = number == len(statements) - 1
            started = time.perf_counter()
            try:
                if statement.parameters:
                    await self._send_prepared(before, statement)
                else:
                    is_restoring = is_last
                    command = packets.query(statement.text)
                    self._wire.send(before, command, *(self._restore if is_last else ()))
                    await self._begun(before)
                rows = await self._result(statement)
            except ServerError as error:
                failed = StatementFailed(error.fault, number)
                break
            except UnicodeEncodeError:
                is_restoring = False
                failed = StatementFailed(_NOT_UTF8, number)
                break
            before = self._again
            results.append(_statement_result(statement, rows, started))
            if not rows.is_at_end:
                await self._leave_rest(is_last=is_last)
                if is_last:
                    return tuple(results)
            elif not is_last and self._begin and not self._wire.is_in_read_only_transaction():
                failed = StatementFailed(_LEFT_READ_ONLY, number + 1)
                break
        if not is_restoring:
            self._wire.send(*self._restore)
        self._is_clean = self._wire.takes(self._restored_by) or await self._cleaned()
        if failed is not None:
            raise failed
        return tuple(results)

    async def _refuse_own_functions(self, statements: Sequence[Statement]) -> None:
        """Before anything is sent. Our own questions have limits of their own, and call nothing."""
        for statement in statements:
            if statement.limits is not None:
                return
        try:
            await self._own_functions.learn(self._rows, self._is_stored)
        except ServerError as error:
            raise StatementFailed(error.fault, 0) from None
        for number, statement in enumerate(statements):
            name = self._own_functions.called_by(statement, self._policy.dialect)
            if name is not None:
                self._is_clean = True
                raise StatementFailed(DatabaseFault(CALLS_OWN_FUNCTION, "", name), number)

    async def _is_stored(self, name: str) -> bool:
        """Whether a bare call means a stored function, which takes no argument with a name: the server says
        so when it reads the statement. A loadable function takes one. It is prepared, and never run."""
        try:
            await self._prepare(b"", f"SELECT {name}(1 AS a)")
        except ServerError as error:
            return error.fault.code == _WRONG_PARAMETERS_OF_STORED
        return True

    async def ping(self) -> None:
        self._wire.send(packets.PING)
        with suppress(ServerError):
            await self._wire.expect_ok()

    async def cancel(self) -> None:
        """KILL without QUERY: this connection is not used again."""
        await self._kill("KILL")

    def close(self) -> None:
        self._wire.stream.close()

    async def _begun(self, before: bytes) -> None:
        if not before:
            return
        if self._wire.pipelines:
            await self._wire.stream.fill(1)  # here, and not at the end of a chain of awaits
        if self._wire.takes(self._began_by):
            return
        try:
            self._began_by = packets.framed(await self._wire.expect_ok(), 1)
        except ServerError:
            raise ConnectionLost from None  # what runs now has one wall less: its answer is not wanted

    async def _cleaned(self) -> bool:
        """What is not is thrown away."""
        try:
            await self._restored()
        except ServerError:
            return False
        return True

    async def _restored(self) -> None:
        answers = [await self._wire.expect_ok(), await self._wire.expect_ok()]
        self._restored_by = b"".join([packets.framed(answer, 1) for answer in answers])

    async def _send_prepared(self, before: bytes, statement: Statement) -> None:
        statement_id, parameters = await self._prepare(before, statement.text)
        if parameters != len(statement.parameters):
            raise ServerError(_WRONG_ARGUMENTS)
        self._wire.send(packets.execute(statement_id, statement.parameters))

    async def _prepare(self, before: bytes, text: str) -> tuple[int, int]:
        """Its number, and how many values it takes."""
        self._wire.send(before, packets.prepare(text))
        await self._begun(before)
        data = await self._wire.expect_ok()
        statement_id = int.from_bytes(data[1:5], "little")
        columns = int.from_bytes(data[5:7], "little")
        parameters = int.from_bytes(data[7:9], "little")
        for count in (parameters, columns):
            if count:
                await read_columns(self._wire, count, self._policy.limits)
        return statement_id, parameters

    async def _result(self, statement: Statement) -> Rows:
        self._wire.turn()
        data = self._wire.ready() or await self._wire.packet()
        if data[0] == _ERR:
            raise ServerError(packets.read_fault(data))
        if data[0] == _OK:
            self._wire.note_end(data)
            return Rows(affected=packets.read_affected(data))
        if data[0] == _LOCAL_INFILE:
            raise ConnectionLost  # the server asks for a file of ours: never
        count, _ = packets.read_lenenc(data, 0)
        limits = statement.limits or self._policy.limits
        columns = await read_columns(self._wire, count, limits)
        rows = await read_rows(self._wire, columns, limits, is_binary=bool(statement.parameters))
        # A write must come to its end, however much it returns.
        if not rows.is_at_end:
            await skip_rows(self._wire, rows, limited=not statement.is_write)
        return rows

    async def _leave_rest(self, *, is_last: bool) -> None:
        """More rows are under way than are worth reading: end them at the server."""
        if is_last:
            await self._kill("KILL")
            self.close()
            return
        await self._kill("KILL QUERY")
        with suppress(ServerError):
            await skip_rows(self._wire, Rows(), limited=False)

    async def _which_server(self) -> tuple[Cell, bool]:
        """And whether it takes writes."""
        try:
            ((name, read_only),) = await self._rows(WHICH_SERVER_SQL)
        except ServerError:  # another program that speaks MySQL's protocol
            return None, True
        return name, str(read_only) in ("0", "OFF")

    async def _rows(self, sql: str) -> list[tuple[Cell, ...]]:
        self._wire.send(packets.query(sql))
        return (await self._result(Statement(sql, "SELECT"))).keeper.rows

    async def _kill(self, how: str) -> None:
        """A proxy may pass us to another server than before, where that number is somebody else's session."""
        with suppress(Exception):  # the server may be gone; its own limit ends the statement otherwise
            for _ in range(_KILL_TRIES):
                wire = await connect(await self._way.prepared(self._address), self._way.open)
                control = MySqlConnection(wire, self._address, self._policy, self._way, self._own_functions)
                try:
                    server, _ = await control._which_server()
                    if server == self._server:
                        wire.send(packets.query(f"{how} {self._connection_id}"))
                        await wire.expect_ok()
                        return
                finally:
                    control.close()


def version_of(server_version: str) -> str:
    """`5.5.5-10.11.19-MariaDB-0+deb12u1` is MariaDB 10.11.19 in disguise for old replicas."""
    plain = server_version.removeprefix("5.5.5-").partition("-")[0]
    return f"{'MariaDB' if 'MariaDB' in server_version else 'MySQL'} {plain}"


def _statement_result(statement: Statement, rows: Rows, started: float) -> StatementResult:
    kept = rows.keeper.rows
    return StatementResult(
        statement_type=statement.statement_type,
        columns=rows.columns,
        rows=tuple(kept),
        # INSERT … RETURNING sends rows and no count: they are the count.
        row_count=rows.affected + rows.skipped + len(kept) if statement.is_write else len(kept),
        elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
        truncated=rows.keeper.truncated,
        is_write=statement.is_write,
    )
