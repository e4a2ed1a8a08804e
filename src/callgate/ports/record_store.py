"""The recorder's flush brings journalled rows into a store, whichever engine that is.

A store takes batches, each exactly once, and says itself what its engine does differently (`StoreTraits`).
How it is read is `RecordReader`; a user's SQL is judged by a `StatementGuard`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from callgate.model.errors import SetupError

SqlDialect = Literal["duckdb", "postgres", "clickhouse"]


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """What a reader or an operator would notice of the engine."""

    dialect: SqlDialect  # of users' SQL over the record
    is_shared: bool  # other processes may write to it at the same time
    exact_total: int | None  # how far the rows of a list are counted; beyond: `total_is_at_least`
    exact_percentiles: int  # of so many calls; beyond, they are off by `percentile_error` at most
    percentile_error: float
    text_reach_s: float | None  # how far back a text is looked for, unless `since` says more; None: all
    replaces_nul: bool  # a character of code 0 becomes U+FFFD
    flush_every_s: float  # rows are stored at least this often while there are any
    retry_s: tuple[float, float]  # how long to wait after a failure, at least and at most
    keeps_segments_s: float  # how long a stored segment stays, in case the store forgets its last commits
    tells_live: bool = False  # the live stream is read from it, with the calls of all gateways
    flush_watched_s: float | None = None  # the same as flush_every_s, while somebody follows the live stream


class AlreadyStoredError(Exception):
    """What `write` was given is in the store: an earlier attempt was not in vain, or somebody else stored it.
    How far each segment is stored is to be asked again."""


class StoreBusyError(Exception):
    """Too many store what waited while the store was away: this backlog has to wait a little longer."""


_Batch = TypeVar("_Batch", contravariant=True)


class RecordStore(Protocol[_Batch]):
    """Used from one thread at a time, which runs no event loop. What it raises beside SetupError is among
    `failures`; after any of them it is closed and opened again, since only the store itself knows what was
    written."""

    @property
    def traits(self) -> StoreTraits: ...

    @property
    def failures(self) -> tuple[type[Exception], ...]: ...

    @property
    def is_open(self) -> bool: ...

    @property
    def is_watched(self) -> bool:
        """Whether somebody follows the live stream at any gateway of this store, as far as we know."""
        ...

    def load(self) -> None:
        """Imports what is needed later, when there may be no descriptor for it: when there is something to
        store, or at once if the store is shared. Raises OSError, and is called again."""
        ...

    def open(self) -> None:
        """Nothing if it is open. Raises SetupError."""
        ...

    def close(self) -> None: ...

    def trouble(self, problem: Exception) -> SetupError:
        """A failure in words for the operator."""
        ...

    def watermarks(self, segments: Sequence[str]) -> Mapping[str, int]:
        """How far each of them is stored; those of which nothing is stored are left out."""
        ...

    def write(self, batch: _Batch) -> None:
        """All of it, with how far its segments are stored then; or, with an error, nothing. Raises
        AlreadyStoredError, and StoreBusyError for a backlog."""
        ...

    def forget(self, segment: str) -> None:
        """A segment that is stored, and gone."""
        ...

    def sweep(self, living: Collection[str]) -> None:
        """Ends what other writers than these left open, of those that shared our folder."""
        ...

    def note_living(self, writers: Collection[str]) -> None:
        """These may still write, or have written what is not stored yet. A shared store takes a writer of
        which it was not told for long for dead."""
        ...

    def begin_round(self) -> None:
        """Before rows are written: the day may be another."""
        ...

    def tend(self) -> None:
        """After rows were written: what is too old or too much goes."""
        ...


class StatementGuard(Protocol):
    async def allowed(self, sql: str) -> str:
        """The one SELECT over the record's tables that it is. Raises CallerError."""
        ...
