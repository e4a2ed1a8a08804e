"""What an engine offers to `network.driver`: how to open a connection, and what one can do.

Rules
1. `run` leaves the session as it found it: no transaction open, everything a statement may have set reset.
   Where it cannot (`is_usable` is False then) the connection is thrown away.
2. `run` may be broken off at any moment: `cancel` ends the statement at the server, over a connection of its
   own, and `close` follows.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from callgate.model.errors import CallgateError, SourceError
from callgate.sql.drivers.driver import Cell, StatementResult
from callgate.sql.drivers.posture import Posture
from callgate.sql.guard.judgement import Bound, Statement
from callgate.sql.settings import ServerAddress

_Opened = TypeVar("_Opened")
# A schema question of our own: SQL and bound values in, rows out.
Ask = Callable[[str, tuple[Bound, ...]], Awaitable[list[tuple[Cell, ...]]]]


class StatementFailed(Exception):  # noqa: N818 - the engine's `explain` words the error
    """The server refused or failed one of the statements; the session is clean again."""

    def __init__(self, fault: "DatabaseFault", number: int) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.number = number  # from 0


# What a server says goes to callers, into the log and into the state of its source, again and again.
MOST_FAULT_CHARS = 4000


@dataclass(frozen=True, slots=True)
class DatabaseFault:
    """An error as the server words it; `MOST_FAULT_CHARS` of it at most."""

    code: str  # MySQL: the number; PostgreSQL: the SQLSTATE
    sqlstate: str
    message: str
    hint: str = ""
    position: int | None = None  # of the fault in the statement, in characters from 1


class ServerError(Exception):
    """The server said that something is wrong: MySQL by an ERR packet, PostgreSQL by an ErrorResponse."""

    def __init__(self, fault: DatabaseFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class OpenFailed(Exception):  # noqa: N818 - carries the error that callers get
    """No session could be opened."""

    def __init__(self, told: SourceError, for_operator: str, *, is_full: bool = False) -> None:
        super().__init__(for_operator)
        self.told = told  # for callers: no address, no account
        self.for_operator = for_operator
        self.is_full = is_full  # the server has no connection left for us


async def opened_or_failed(
    open_at: Callable[[ServerAddress], Awaitable[_Opened]], address: ServerAddress
) -> "_Opened | OpenFailed":
    """For who tries several servers, and tells of the first failure if none of them will do."""
    try:
        return await open_at(address)
    except OpenFailed as failure:
        return failure


class ServerConnection(Protocol):
    @property
    def version(self) -> str: ...

    @property
    def is_usable(self) -> bool: ...

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        """Raises `StatementFailed` or `stream.ConnectionLost`."""
        ...

    async def ping(self) -> None:
        """Raises when the server does not answer."""
        ...

    async def cancel(self) -> None:
        """End at the server whatever this connection runs there. Best effort, raises nothing."""
        ...

    def close(self) -> None: ...


Connection = TypeVar("Connection", bound=ServerConnection)
Opened = TypeVar("Opened", bound=ServerConnection, covariant=True)


class NetworkEngine(Protocol[Opened]):
    @property
    def display_name(self) -> str: ...

    @property
    def failover_codes(self) -> Collection[str]:
        """Of faults that say: a server that was to be written to is a replica now, or is going away."""
        ...

    async def open(self) -> Opened:
        """A session that holds the policy. Raises `OpenFailed`."""
        ...

    async def close(self) -> None:
        """What its connections share; they are closed already."""
        ...

    def placeholder(self, index: int) -> str: ...

    async def explain(self, fault: DatabaseFault, statement: Statement, ask: Ask) -> CallgateError: ...

    async def examine(self, ask: Ask) -> Posture:
        """The caller fills in its version."""
        ...
