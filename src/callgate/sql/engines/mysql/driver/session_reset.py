"""SessionReset: COM_RESET_CONNECTION and the pins, and when they are owed.

They follow each call that takes the long way, in the same write. For a plain read they are only owed
(`short_way`). Then they are sent behind the last of so many reads, in the same write or once its result is
there, when so many milliseconds have passed, before anything that takes the long way, and before a question
of our own. No statement is sent before their answers are read.

MariaDB's reset leaves the role as it is, and a function of a view may say SET ROLE. So a session whose
statement failed, or changed something, is used again only if its role is the one that it began with.
Counterpart: `connection`, in which calls run.
"""

import asyncio
from collections.abc import Callable

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.network.server import ServerError
from callgate.sql.drivers.network.stream import ConnectionLost
from callgate.sql.engines.mysql.driver import packets
from callgate.sql.engines.mysql.driver.own_questions import current_role
from callgate.sql.engines.mysql.driver.wire import MySqlWire

_MOST_READS = 16
_MOST_S = 0.05


class SessionReset:
    def __init__(self, wire: MySqlWire, is_idle: Callable[[], bool]) -> None:
        """`is_idle`: the session is usable and runs no call. A call that runs asks `is_due` at its end."""
        self._wire = wire
        self._is_idle = is_idle
        self.commands: tuple[bytes, ...] = ()
        # What the server last said to them, packet for packet: most often it says the same again.
        self._answered_by = b""
        self._role: Cell = None
        self._reads = 0  # for which it is owed
        self.is_unread = False  # it was sent while no call ran, and its answers are not read yet
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, pins_sql: str) -> bytes:
        """For the first time; what the server said to the pins. Raises `ServerError`."""
        self.commands = (packets.RESET_CONNECTION, packets.query(pins_sql))
        self._wire.send(*self.commands)
        said = await self._answers()
        self._role = await current_role(self._wire)
        return said

    @property
    def is_owed(self) -> bool:
        return self._reads > 0

    @property
    def is_due(self) -> bool:
        """With the read that runs now."""
        return self._reads >= _MOST_READS - 1

    def owe(self) -> None:
        """For one more plain read."""
        self._reads += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_MOST_S, self._time_is_up)

    def send(self) -> None:
        """What is owed, while no call runs: whoever uses the session next reads what comes back."""
        self._wire.send(*self.commands)
        self.is_unread = True
        self._reads = 0

    def settles_at_once(self) -> bool:
        """What was sent while no call ran is read, if the server has said by now what it said before."""
        if self._wire.takes(self._answered_by):
            self.is_unread = False
        return not self.is_unread

    async def pay(self) -> None:
        """What is owed. Raises `ConnectionLost`."""
        self._wire.send(*self.commands)
        await self.settle()

    async def settle(self) -> None:
        """What was sent while no call ran is read before anything else. Raises `ConnectionLost`."""
        self.is_unread = False
        if not await self.is_done():
            raise ConnectionLost

    async def is_done(self, *, is_suspect: bool = False) -> bool:
        """Its answers are awaited. False: the session is not to be used again.

        `is_suspect`: its statement may have changed the role.
        """
        self._reads = 0
        if not self._wire.takes(self._answered_by):
            try:
                await self._answers()
            except ServerError:
                return False
        return not is_suspect or await current_role(self._wire) == self._role

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def _answers(self) -> bytes:
        answers = [await self._wire.expect_ok(), await self._wire.expect_ok()]
        self._answered_by = b"".join([packets.framed(answer, 1) for answer in answers])
        return answers[1]

    def _time_is_up(self) -> None:
        self._timer = None
        if not self._reads:
            return
        if self._is_idle():
            self.send()
        else:
            self._reads = _MOST_READS
