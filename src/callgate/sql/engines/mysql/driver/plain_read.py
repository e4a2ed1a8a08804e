"""PlainReads: a session's plain reads, each sent as one command (`short_way`), one at a time.

What comes back is read twice over: at once, when all of it is there and leaves nothing to do, which is most
often; else by `result`, which is the definition and takes nothing for granted.
"""

import time
from collections.abc import Awaitable, Callable

from callgate.sql.drivers.driver import Column, StatementResult
from callgate.sql.drivers.network.cut_rows import lenenc_rows
from callgate.sql.drivers.network.server import ServerError, StatementFailed
from callgate.sql.drivers.network.stream import AHEAD_BYTES
from callgate.sql.engines.mysql.driver import packets
from callgate.sql.engines.mysql.driver.columns import RowColumn, row_columns
from callgate.sql.engines.mysql.driver.result import Rows, read_result
from callgate.sql.engines.mysql.driver.session_reset import SessionReset
from callgate.sql.engines.mysql.driver.status import is_as_pinned
from callgate.sql.engines.mysql.driver.wire import MySqlWire
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Limits

_NO_COUNT = 0xFB  # from here on a first byte is no number of columns; 0 is none either
_BYTES_PER_CHARACTER = 4  # at most
# The packet behind the rows when there is nothing to tell but the session's status and the number of
# warnings: of seven bytes, an end, no rows affected, no new key. Its own number is any.
_END_BYTES, _STATUS_BYTES = 11, 4
_ENDS = frozenset(b"\x07\0\0" + bytes((number,)) + b"\xfe\0\0" for number in range(256))


class PlainReads:
    def __init__(
        self, wire: MySqlWire, reset: SessionReset, limits: Limits, leave_rest: Callable[[], Awaitable[None]]
    ) -> None:
        """`leave_rest`: ends at the server a result of which no more is read."""
        self._wire = wire
        self._reset = reset
        self._limits = limits
        self._most_bytes = limits.character_limit * _BYTES_PER_CHARACTER
        self._leave_rest = leave_rest
        self._statement = Statement("", "")
        self._started = 0.0  # by `time.perf_counter()`
        self._is_resetting = False
        self.left_clean = False  # the session, by the last one
        # How the last result began, and its columns: most often the next one begins the same.
        self._known_head = b""
        self._known_columns: tuple[RowColumn, ...] = ()
        self._shown_columns: tuple[Column, ...] = ()
        self._has_large_numbers = True

    def send(self, statement: Statement, *, may_reset: bool) -> None:
        """`may_reset`: with the reset behind it in the same write, if it is due. Raises `ConnectionLost`."""
        self.left_clean = False
        self._statement = statement
        self._is_resetting = may_reset and self._reset.is_due
        self._started = time.perf_counter()
        query = packets.query(statement.text)
        self._wire.send(query, *(self._reset.commands if self._is_resetting else ()))

    def result_at_once(self) -> StatementResult | None:
        """None: nothing was taken from the stream, and `result` awaits it."""
        wire, reset, limits = self._wire, self._reset, self._limits
        stream = wire.stream
        buffer, begin = stream.buffer, stream.at
        size = len(buffer) - begin
        # A look at the end first: of a long result the rows may still be under way.
        if (
            size > AHEAD_BYTES
            or not wire.ends_with_ok
            or bytes(buffer[-_END_BYTES:-_STATUS_BYTES]) not in _ENDS
            or self._is_resetting
            or not is_as_pinned(buffer[-_STATUS_BYTES] | buffer[1 - _STATUS_BYTES] << 8)
            or not self._takes_head()
        ):
            stream.at = begin
            return None
        raw = bytes(memoryview(buffer)[stream.at :])
        stream.at = begin
        end = len(raw) - _END_BYTES
        if end > self._most_bytes:
            return None
        rows, size_bytes = lenenc_rows(raw, end, limits.max_rows, limits.cell_bytes, self._known_columns)
        if size_bytes != end:
            return None
        stream.at = len(buffer)
        if reset.is_due:
            reset.send()
        else:
            reset.owe()
        self.left_clean = True
        elapsed_ms = round((time.perf_counter() - self._started) * 1000, 3)
        return StatementResult(
            self._statement.statement_type,
            self._shown_columns,
            tuple(rows),
            len(rows),
            elapsed_ms,
            has_large_numbers=self._has_large_numbers,
        )

    def _takes_head(self) -> bool:
        """How many columns there are, and what each is."""
        wire = self._wire
        if wire.takes(self._known_head):
            return True
        stream = wire.stream
        begin = stream.at
        count = wire.ready()
        if count is None or not 0 < count[0] < _NO_COUNT:
            return False
        block = wire.ready_block(count[0])
        if block is None:
            return False
        end, stream.at = stream.at, begin  # as long as it may raise
        columns = row_columns(
            block,
            is_extended=wire.is_extended,
            is_mysql_8=wire.is_mysql_8,
            limit_bytes=self._limits.cell_bytes,
        )
        self._known_head = bytes(stream.buffer[begin:end])
        self._known_columns = columns
        self._shown_columns = tuple([column.column for column in columns])
        self._has_large_numbers = any(column.may_be_large for column in columns)
        stream.at = end
        return True

    async def result(self) -> StatementResult:
        """Raises `StatementFailed`, `ConnectionLost`."""
        reset, statement = self._reset, self._statement
        rows, failed = Rows(), None
        await self._wire.stream.fill(1)  # here, and not at the end of a chain of awaits
        try:
            rows = await read_result(self._wire, statement, self._limits)
        except ServerError as error:
            failed = StatementFailed(error.fault, 0)
        result = rows.told(statement, self._started)
        if not rows.is_at_end:
            await self._leave_rest()
            return result
        if failed is None and not reset.is_due and is_as_pinned(self._wire.status()):
            reset.owe()
            self.left_clean = True
            return result
        if not self._is_resetting:
            self._wire.send(*reset.commands)
        is_suspect = failed is not None or not is_as_pinned(self._wire.status())
        self.left_clean = await reset.is_done(is_suspect=is_suspect)
        if failed is not None:
            raise failed
        return result
