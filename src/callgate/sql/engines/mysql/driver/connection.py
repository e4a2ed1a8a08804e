"""MySqlConnection: one session, and how a call's statements run in it. Implements
`PlainReadConnection`.

One write per call: `START TRANSACTION READ ONLY`, the statement, COM_RESET_CONNECTION and the pins go out
together, each a command of its own, and the answers are read one by one. The session's own READ ONLY (a pin)
stops writes and DDL. The explicit transaction holds when one of several statements changes that setting; it
is set again before the next one, for DDL leaves the transaction by itself. If a statement ends the
transaction, the server's answer says so, and the rest is not sent. A plain read of base tables is sent alone
(`short_way`).
Counterpart: `result` reads rows, `session` says what is pinned.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from callgate.sql.drivers.driver import Cell, StatementResult
from callgate.sql.drivers.network.server import DatabaseFault, ServerError, StatementFailed
from callgate.sql.drivers.network.stream import ConnectionLost
from callgate.sql.engines.mysql.driver import packets
from callgate.sql.engines.mysql.driver.kills import Kills
from callgate.sql.engines.mysql.driver.own_questions import ask, which_server
from callgate.sql.engines.mysql.driver.plain_read import PlainReads
from callgate.sql.engines.mysql.driver.result import Rows, read_columns, read_result, skip_rows
from callgate.sql.engines.mysql.driver.session import (
    AURORA_SQL,
    BEGIN_PLAN,
    BEGIN_READ_ONLY,
    READ_MODES_SQL,
    STAY_READ_ONLY,
    Pins,
    pins_of,
)
from callgate.sql.engines.mysql.driver.session_reset import SessionReset
from callgate.sql.engines.mysql.driver.short_way import BaseTables, ShortWay
from callgate.sql.engines.mysql.driver.status import IN_READ_ONLY
from callgate.sql.engines.mysql.driver.wire import MySqlWire
from callgate.sql.engines.mysql.own_functions import CALLS_OWN_FUNCTION, OwnFunctions
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress

_WRONG_ARGUMENTS = DatabaseFault(
    "1210", "HY000", "The number of bound values is not that of the placeholders"
)
# The text of error 1792. Here we noticed it ourselves, before the next statement was sent.
_LEFT_READ_ONLY = DatabaseFault("1792", "25006", "The statement before it ended the read-only transaction")
# A connection's number is longer than what the greeting has room for.
_GREETING_BITS = 0xFFFFFFFF
_WRONG_PARAMETERS_OF_STORED = "1584"
_NOT_UTF8 = DatabaseFault("1300", "HY000", "Invalid utf8mb4 character string")


class MySqlConnection:
    def __init__(
        self,
        wire: MySqlWire,
        address: ServerAddress,
        policy: Policy,
        kills: Kills,
        own_functions: OwnFunctions,
        base_tables: BaseTables,
    ) -> None:
        self._wire = wire
        self._address = address
        self._kills = kills
        self._policy = policy
        self._own_functions = own_functions
        self._short_way = ShortWay(base_tables)
        self._session_reset = SessionReset(wire, lambda: self.is_usable)
        self._plain_reads = PlainReads(
            wire, self._session_reset, policy.limits, lambda: self._leave_rest(is_last=True)
        )
        self._begin = b"" if policy.may_write else packets.query(BEGIN_READ_ONLY)
        self._again = b"" if policy.may_write else packets.query(STAY_READ_ONLY)
        # What the server last said to it: most often it says the same again.
        self._began_by = b""
        self._is_clean = True
        self._version = wire.greeting.told_version
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
        """Not where more has come than was asked for: it would be the answer to somebody else's question."""
        stream = self._wire.stream
        is_in_step = stream.at == len(stream.buffer) or self._session_reset.is_unread
        return self._is_clean and not stream.is_lost and is_in_step

    async def pin(self) -> None:
        """Raises `ServerError`, `session.PinFailed`."""
        modes, connection_id = (await self._rows(READ_MODES_SQL))[0]
        self._connection_id = int(str(connection_id))
        # MySQL Router, which greets with a number of its own, loses commands that come behind another one.
        is_direct = self._connection_id & _GREETING_BITS == self._wire.greeting.connection_id
        self._wire.pipelines = is_direct and not await self._rows(AURORA_SQL)
        tracks_state = self._wire.greeting.tracks_state and not self._policy.may_write
        pins: Pins = pins_of(
            self._policy,
            is_mariadb=self.is_mariadb,
            version=self._wire.greeting.version,
            server_modes=str(modes),
            tracks_state=tracks_state,
        )
        said_to_pins = await self._session_reset.begin(pins.set_sql)
        if tracks_state and self._wire.pipelines:
            self._short_way.open(said_to_pins)
        pins.check((await self._rows(pins.read_back_sql))[0])
        self._server, self.takes_writes = await which_server(self._wire)

    def begin(self, statement: Statement, heard: Callable[[], None]) -> bool:
        """A plain read before which nothing has to be done."""
        reset, stream = self._session_reset, self._wire.stream
        if (
            (reset.is_unread and not reset.settles_at_once())
            or stream.available
            or not self._own_functions.is_empty
            or not self._short_way.takes((statement,))
        ):
            return False
        self._is_clean = False
        self._plain_reads.send(statement, may_reset=False)
        stream.when_heard(heard)
        return True

    def result_at_once(self) -> StatementResult | None:
        result = self._plain_reads.result_at_once()
        self._is_clean = result is not None
        return result

    async def result(self) -> tuple[StatementResult, ...]:
        try:
            return (await self._plain_reads.result(),)
        finally:
            self._is_clean = self._plain_reads.left_clean

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        self._is_clean = False
        if self._session_reset.is_unread:
            await self._session_reset.settle()
        if not self._own_functions.is_empty:
            await self._refuse_own_functions(statements)
        is_short = self._short_way.takes(statements)
        if is_short is None:
            is_short = await self._short_way.learns(statements[0], self._ask)
        if is_short:
            if self._wire.stream.available:
                raise ConnectionLost  # what comes before the question is no answer to it
            self._plain_reads.send(statements[0], may_reset=True)
            return await self.result()
        if self._session_reset.is_owed:
            await self._session_reset.pay()
        return await self._run_in_transaction(statements)

    async def _run_in_transaction(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        results: list[StatementResult] = []
        failed: StatementFailed | None = None
        is_resetting = is_suspect = False
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
                    is_resetting = is_last
                    command = packets.query(statement.text)
                    self._wire.send(before, command, *(self._session_reset.commands if is_last else ()))
                    await self._begun(before)
                rows = await self._result(statement)
            except ServerError as error:
                failed = StatementFailed(error.fault, number)
                break
            except UnicodeEncodeError:
                is_resetting = False
                failed = StatementFailed(_NOT_UTF8, number)
                break
            before = self._again
            results.append(rows.told(statement, started))
            is_suspect = is_suspect or not rows.is_at_end or self._wire.has_changed_session()
            if not rows.is_at_end:
                await self._leave_rest(is_last=is_last)
                if is_last:
                    return tuple(results)
            elif not is_last and self._begin and not self._wire.status() & IN_READ_ONLY:
                failed = StatementFailed(_LEFT_READ_ONLY, number + 1)
                break
        if not is_resetting:
            self._wire.send(*self._session_reset.commands)
        self._is_clean = await self._session_reset.is_done(is_suspect=is_suspect or failed is not None)
        if failed is not None:
            raise failed
        return tuple(results)

    async def _refuse_own_functions(self, statements: Sequence[Statement]) -> None:
        """Before anything is sent. Our own questions have limits of their own, and call nothing."""
        for statement in statements:
            if statement.limits is not None:
                return
        try:
            await self._own_functions.learn(self._ask, self._is_stored)
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
        if self._session_reset.is_unread:
            await self._session_reset.settle()
        self._wire.send(packets.PING)
        with suppress(ServerError):
            await self._wire.expect_ok()

    async def cancel(self) -> None:
        """KILL without QUERY: this connection is not used again."""
        await self._kill("KILL")

    def close(self) -> None:
        self._session_reset.close()
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
        return await read_result(self._wire, statement, self._policy.limits)

    async def _leave_rest(self, *, is_last: bool) -> None:
        """More rows are under way than are worth reading: end them at the server."""
        if is_last:
            await self._kill("KILL")
            self.close()
            return
        await self._kill("KILL QUERY")
        with suppress(ServerError):
            await skip_rows(self._wire, Rows(), limited=False)

    async def _ask(self, sql: str) -> list[tuple[Cell, ...]]:
        """A question of ours, in a session that nobody has touched."""
        if self._session_reset.is_owed:
            await self._session_reset.pay()
        return await self._rows(sql)

    async def _rows(self, sql: str) -> list[tuple[Cell, ...]]:
        return await ask(self._wire, sql)

    async def _kill(self, how: str) -> None:
        await self._kills.kill(how, self._connection_id, self._server, self._address)
