"""PostgresConnection: one session, and how a call's statements run in it. Implements `ServerConnection`.

One write per call: BEGIN READ ONLY with the statement, ROLLBACK, DISCARD ALL go out together, parted by
Syncs, and the answers are read one by one. Only the extended protocol is spoken: a text is one statement or
an error. Behind a pooler the pins are part of each transaction, and nothing outlives it: no DISCARD ALL.
Counterpart: `result` reads rows, `session` says what is pinned.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from callgate.sql.drivers.driver import Cell, Column, StatementResult
from callgate.sql.drivers.network.server import DatabaseFault, ServerError, StatementFailed
from callgate.sql.drivers.network.stream import ConnectionLost
from callgate.sql.drivers.network.way import Way
from callgate.sql.engines.postgres.driver import messages
from callgate.sql.engines.postgres.driver.result import Rows, read_result, skip_to_ready
from callgate.sql.engines.postgres.driver.session import (
    BEGIN,
    BEGIN_READ_ONLY,
    COMMIT,
    DISCARD_ALL,
    NOTICES_LEAVING,
    ROLLBACK,
    PinFailed,
    check_pins,
    pin_transaction_sql,
    pins_of,
    read_back_sql,
)
from callgate.sql.engines.postgres.driver.wire import PostgresWire, request_cancel
from callgate.sql.engines.postgres.own_functions import CALLS_OWN_FUNCTION, OwnFunctions
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits, Policy
from callgate.sql.settings import ServerAddress

_NOT_UTF8 = DatabaseFault("22021", "22021", "invalid byte sequence for encoding UTF8")
_LEFT_READ_ONLY = DatabaseFault("25006", "25006", "The statement before it ended the read-only transaction")
_IN_TRANSACTION = b"T"
_IDLE = b"I"
_VERSION_SQL = "SELECT current_setting('server_version')"
_KNOWS_SETTING_SQL = "SELECT 1 FROM pg_catalog.pg_settings WHERE name = $1"
_SESSION_SQL = "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery()"
# Tables' row types are left out: there is one for each table of the schema.
_TYPES_SQL = "SELECT oid, format_type(oid, NULL) FROM pg_catalog.pg_type WHERE oid < 16384 AND typtype <> 'c'"
_TYPES_BY_OID_SQL = "SELECT oid, format_type(oid, NULL) FROM pg_catalog.pg_type WHERE oid = ANY ($1::oid[])"
_OWN_LIMITS = Limits(max_rows=5_000, character_limit=1_000_000)
# How long an answer to a cancel is waited for before the next. The driver closes the connection after 1 s.
_CANCEL_AGAIN_S = (0.05, 0.15, 0.3, 0.4)
_HEARD_S = 0.01


def _group(sql: str) -> bytes:
    return messages.question(sql, described=False) + messages.SYNC


# Statements of a pooler's transaction before the caller's first: BEGIN and the pins.
_PINNING = 2
_FIRST_QUERY = messages.question("SELECT 1 WHERE false", described=False)


@dataclass(slots=True)
class Learned:
    """What all connections of a source know of its database; it grows."""

    type_names: dict[int, str]
    own_functions: OwnFunctions
    is_pooler: bool = False  # it refused our settings at a login
    cannot_notice_leaving: bool = False  # an old server


class PostgresConnection:
    def __init__(
        self, wire: PostgresWire, address: ServerAddress, policy: Policy, learned: "Learned", way: Way
    ) -> None:
        self._wire = wire
        self._address = address
        self._way = way
        self._policy = policy
        self._type_names = learned.type_names
        self._own_functions = learned.own_functions
        self._version = "PostgreSQL"
        self._begin = b"" if policy.may_write else messages.question(BEGIN_READ_ONLY, described=False)
        self._restore = _group(ROLLBACK) + _group(DISCARD_ALL)
        self._is_clean = True
        self._is_pooled = False
        self._pins = b""  # behind a pooler: of each transaction
        self.is_standby = False

    @property
    def version(self) -> str:
        return self._version

    @property
    def is_usable(self) -> bool:
        """Not where more has come than was asked for: it would be the answer to somebody else's question."""
        return self._is_clean and not self._wire.stream.is_lost and self._wire.has_heard_nothing()

    async def pin(self) -> None:
        """Raises `ServerError`, `session.PinFailed`."""
        ((process_id, is_standby),) = await self._ask(_SESSION_SQL)
        self.is_standby = bool(is_standby)
        # A pooler tells a key of its own at the login, and passes each transaction to whichever session.
        self._is_pooled = process_id != self._wire.process_id
        if self._is_pooled:
            self._begin = messages.question(
                BEGIN if self._policy.may_write else BEGIN_READ_ONLY, described=False
            )
            knows = bool(await self._ask(_KNOWS_SETTING_SQL, NOTICES_LEAVING))
            pins_sql = pin_transaction_sql(self._policy, notices_leaving=knows)
            self._pins = messages.question(pins_sql, described=False)
            self._begin += self._pins
            self._restore = _group(ROLLBACK)
            await self._try_pins()
        else:  # the settings stood in the startup message
            pins = pins_of(self._policy)
            check_pins(pins, list(await self._ask(read_back_sql(pins))))
        number = str((await self._ask(_VERSION_SQL))[0][0]).partition(" ")[0]  # "15.18 (Debian …)"
        self._version = f"PostgreSQL {number}"
        if not self._type_names:
            await self._learn_types(_TYPES_SQL)
        await self._own_functions.learn(self._ask)

    async def _try_pins(self) -> None:
        self._wire.send(self._begin + messages.SYNC + self._restore)
        fault = await skip_to_ready(self._wire)
        await skip_to_ready(self._wire)
        if fault is not None:
            raise PinFailed(fault.message)

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        self._is_clean = False
        await self._refuse_own_functions(statements)
        if self._is_pooled and self._policy.may_write:
            return await self._run_writes(statements)
        answers: list[tuple[Rows, float]] = []
        failed: StatementFailed | None = None
        is_restoring = False
        # After its first query a transaction can no longer be made a writing one by one of several.
        is_query_needed = len(statements) > 1 and not self._is_pooled  # the pins are one
        before = self._begin and self._begin + (_FIRST_QUERY if is_query_needed else b"")
        for number, statement in enumerate(statements):
            is_last = number == len(statements) - 1
            limits = statement.limits or self._policy.limits
            started = time.perf_counter()
            try:
                # One row more than may be kept: it tells whether there are more. A write runs to its end.
                row_limit = 0 if statement.is_write else limits.max_rows + 1
                asked = messages.question(statement.text, statement.parameters, row_limit) + messages.SYNC
            except UnicodeEncodeError:
                failed = StatementFailed(_NOT_UTF8, number)
                break
            is_restoring = is_last
            self._wire.send(before + asked + (self._restore if is_last else b""))
            rows = await read_result(self._wire, limits, must_end=statement.is_write)
            if self._is_pooled and before and rows.completed < _PINNING:
                raise ConnectionLost  # the pins did not take, so the statement was not run
            before = b""
            if rows.fault is not None:
                failed = StatementFailed(rows.fault, number)
                break
            answers.append((rows, (time.perf_counter() - started) * 1000))
            if not rows.is_at_end:
                await self._leave_rest(is_last=is_last)
            elif not is_last and self._begin and rows.status != _IN_TRANSACTION:
                failed = StatementFailed(_LEFT_READ_ONLY, number + 1)
                break
        if not self._wire.stream.is_lost:
            if not is_restoring:
                self._wire.send(self._restore)
            self._is_clean = await self._restored()
        if failed is not None:
            raise failed
        return await self._results(statements, answers)

    async def _run_writes(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        """Behind a pooler: each statement is a transaction of its own, with the pins, unless the caller began
        one. What a statement leaves open is rolled back."""
        answers: list[tuple[Rows, float]] = []
        status = _IDLE
        for number, statement in enumerate(statements):
            limits = statement.limits or self._policy.limits
            started = time.perf_counter()
            is_own = status == _IDLE and not statement.is_transaction
            row_limit = 0 if statement.is_write else limits.max_rows + 1
            try:
                asked = messages.question(statement.text, statement.parameters, row_limit) + messages.SYNC
            except UnicodeEncodeError:
                await self._roll_back(status)
                raise StatementFailed(_NOT_UTF8, number) from None
            self._wire.send((self._begin if is_own else b"") + asked)
            rows = await read_result(self._wire, limits, must_end=statement.is_write)
            if is_own and rows.completed < _PINNING:
                raise ConnectionLost  # the pins did not take, so the statement was not run
            if not rows.is_at_end:
                await self._leave_rest(is_last=False)
            began = statement.is_transaction and status == _IDLE and rows.status == _IN_TRANSACTION
            status = rows.status or _IN_TRANSACTION
            fault = rows.fault
            if fault is None and is_own:
                self._wire.send(_group(COMMIT))
                fault, status = await skip_to_ready(self._wire), _IDLE
            elif fault is None and began:
                self._wire.send(self._pins + messages.SYNC)
                if await skip_to_ready(self._wire) is not None:
                    raise ConnectionLost
            if fault is not None:
                await self._roll_back(status)
                raise StatementFailed(fault, number)
            answers.append((rows, (time.perf_counter() - started) * 1000))
        await self._roll_back(status)
        return await self._results(statements, answers)

    async def _roll_back(self, status: bytes) -> None:
        self._is_clean = True
        if status != _IDLE:
            self._wire.send(self._restore)
            self._is_clean = await skip_to_ready(self._wire) is None

    async def _results(
        self, statements: Sequence[Statement], answers: list[tuple[Rows, float]]
    ) -> tuple[StatementResult, ...]:
        await self._learn_unknown([rows for rows, _ in answers])
        return tuple(
            self._statement_result(statement, rows, elapsed_ms)
            for statement, (rows, elapsed_ms) in zip(statements, answers, strict=True)
        )

    async def _refuse_own_functions(self, statements: Sequence[Statement]) -> None:
        """Before anything is sent. Our own questions have limits of their own, and call nothing."""
        if any(statement.limits is not None for statement in statements):
            return
        await self._own_functions.learn(self._ask)
        for number, statement in enumerate(statements):
            name = self._own_functions.called_by(statement, self._policy.dialect)
            if name is not None:
                self._is_clean = True
                raise StatementFailed(DatabaseFault(CALLS_OWN_FUNCTION, "", name), number)

    async def ping(self) -> None:
        self._wire.send(messages.SYNC)
        await skip_to_ready(self._wire)

    async def cancel(self) -> None:
        """Until the server says something. One that is between two messages (it has parsed the statement and
        not begun it) forgets a cancel. This connection is not used again: one too many hits nothing."""
        stream = self._wire.stream
        for wait_s in _CANCEL_AGAIN_S:
            pieces = stream.pieces
            await self._cancel_once()
            ends_at = time.monotonic() + wait_s
            while time.monotonic() < ends_at:
                if stream.is_lost or stream.pieces != pieces:
                    return
                await asyncio.sleep(_HEARD_S)

    async def _cancel_once(self) -> None:
        with suppress(Exception):  # the server may be gone; its own limit ends the statement otherwise
            await request_cancel(self._address, self._wire.process_id, self._wire.secret, self._way.open)

    def close(self) -> None:
        self._wire.stream.close()

    async def _leave_rest(self, *, is_last: bool) -> None:
        """More bytes are under way than are worth reading: end them at the server."""
        await self._cancel_once()
        if is_last:
            self.close()
        else:
            await skip_to_ready(self._wire)

    async def _restored(self) -> bool:
        faults = [await skip_to_ready(self._wire)]
        if not self._is_pooled:
            faults.append(await skip_to_ready(self._wire))
        return not any(faults)

    async def _ask(self, sql: str, *values: str) -> list[tuple[Cell, ...]]:
        """Outside of any transaction of a caller's."""
        self._wire.send(messages.question(sql, values) + messages.SYNC)
        rows = await read_result(self._wire, _OWN_LIMITS, must_end=False)
        if not rows.is_at_end:
            raise ConnectionLost  # no server answers these questions with so much
        if rows.fault is not None:
            raise ServerError(rows.fault)
        return rows.keeper.rows

    async def _learn_types(self, sql: str, *values: str) -> None:
        for oid, name in await self._ask(sql, *values):
            self._type_names[int(str(oid))] = str(name)

    async def _learn_unknown(self, answers: list[Rows]) -> None:
        used = {field.type_oid for rows in answers for field in rows.fields}
        unknown = used - self._type_names.keys()
        if not unknown or not self.is_usable:
            return
        self._is_clean = False
        with suppress(ServerError):
            await self._learn_types(_TYPES_BY_OID_SQL, "{" + ",".join(map(str, unknown)) + "}")
        self._is_clean = True

    def _statement_result(self, statement: Statement, rows: Rows, elapsed_ms: float) -> StatementResult:
        names = self._type_names
        kept = rows.keeper.rows
        return StatementResult(
            statement_type=statement.statement_type,
            columns=tuple(
                Column(field.name, names.get(field.type_oid, f"type {field.type_oid}"))
                for field in rows.fields
            ),
            rows=tuple(kept),
            row_count=rows.affected if statement.is_write else len(kept),
            elapsed_ms=round(elapsed_ms, 3),
            truncated=rows.keeper.truncated,
            is_write=statement.is_write,
        )
