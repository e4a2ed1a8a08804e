"""Driver: what talks to a database, and what comes back from it. Counterpart of `dialect.Dialect`.

No engine is known here. Rows are already faithful JSON values (see `results.cells`) and already limited.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from callgate.sql.drivers.posture import Posture
from callgate.sql.guard.judgement import Statement

Cell = int | float | str | bool | None


class Column(msgspec.Struct, frozen=True):
    name: str
    type: str


class StatementResult(msgspec.Struct, frozen=True):
    statement_type: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_count: int  # rows returned; of a write: affected rows
    elapsed_ms: float
    truncated: bool = False  # exact: there was at least one more row
    is_write: bool = False
    has_large_numbers: bool = True  # whether an integer may be beyond 2^53; False: the driver knows of none
    note: str = ""  # what its reader should know of where the rows come from


@runtime_checkable
class LimitedDriver(Protocol):
    """One that holds connections to a server."""

    def limit_connections(self, most: int) -> None:
        """From now on. What is in use beyond it is closed once it is free."""
        ...


class BegunRead(Protocol):
    """A plain read that was sent and is awaited by no task."""

    async def rest(self) -> tuple[StatementResult, ...]:
        """As `Driver.run`: its result; where None was told, what is left to be done for it comes first."""
        ...

    def cancel(self) -> None:
        """Nobody wants it any longer: it is stopped at the database, and nothing is told."""
        ...


@runtime_checkable
class PlainReader(Protocol):
    """A driver that can do without a task for a statement that the guard called a plain read."""

    def begin(self, statement: Statement, told: Callable[[StatementResult | None], None]) -> BegunRead | None:
        """None: nothing was sent, `run` it. `told` hears once, later: the result; None: await `rest`."""
        ...


class Driver(Protocol):
    @property
    def version(self) -> str:
        """Engine and version, for people and the record."""
        ...

    async def run(self, statements: Sequence[Statement]) -> tuple[StatementResult, ...]:
        """Run them one by one on one connection. Cancelling the task stops the statement at the database.

        Raises `SourceError`, or `RefusedError` when the engine's own layer stopped a statement.
        """
        ...

    def placeholder(self, index: int) -> str:
        """How the engine writes its placeholder number `index`, counted from 1 ("?", "$1").

        `Statement.parameters` are bound in that order by the engine itself, never written into the text.
        """
        ...

    async def posture(self) -> Posture:
        """What the account may really do. Asks the database; raises `SourceError` when it is down."""
        ...

    def trouble(self) -> str | None:
        """Why the source cannot be used just now and what to do, or None. Cheap: status pages ask often."""
        ...

    async def close(self) -> None: ...
