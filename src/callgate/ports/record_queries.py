"""Api has SQL of users run over the record; the part that runs it asks the record for its files.
Sql asks for what one principal may see of it."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Query:
    """SQL of a user: one SELECT over the record's tables."""

    sql: str
    max_rows: int = 1000
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Table:
    """What a query answered; values as JSON has them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    truncated: bool


class RecordQueries(Protocol):
    async def query(self, query: Query) -> Table:
        """Sees everything settled so far. Raises CallerError for anything but one SELECT over the record, for
        one that takes too long or too much, and while too many others run."""
        ...


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """The whole record as files that another process may open for reading."""

    folder: Path  # where all of them lie
    paths: Mapping[str, Path]  # by the quoted name that `views` knows each by
    views: Sequence[str]  # the statements that make one record of them, once all are attached


class RecordSnapshots(Protocol):
    def hold(self) -> AbstractAsyncContextManager[RecordFiles]:
        """With everything settled so far, for as long as it is held. Raises SetupError when the record cannot
        be read here."""
        ...


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A DuckDB file that holds one principal's rows and nothing else. Its reader removes it."""

    path: Path
    left_out: int = 0  # older exchanges of the principal that there was no room for


class RecordExcerpts(Protocol):
    async def take(self, principal: str, statements: Sequence[str]) -> Excerpt:
        """With all that these statements can read. Raises SetupError when the record cannot be read here."""
        ...
