"""What a recorder and whoever brings its journals into the store know of each other.

That is a thread of the same process (`keeper`), or a process of its own (`storing`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from callgate.model.errors import SetupError
from callgate.ports.record_reader import StoreProgress
from callgate.recorder.flush.foreign_rows import LiveNumbers
from callgate.recorder.journal.journal import JournalRoom

Flushed = Callable[[SetupError | None], object]


@dataclass(frozen=True, slots=True)
class KeptJournals:
    """What is stored, and whom it concerns."""

    folder: Path  # the record's
    own_writer: str
    numbers: LiveNumbers | None = None  # of others' rows; None: the live stream is read from the store
    room: JournalRoom | None = None  # what the journals may take


class StoreKeeper(Protocol):
    @property
    def error(self) -> SetupError | None:
        """What keeps rows from being stored."""
        ...

    def flush(self, flushed: Flushed) -> None:
        """From any thread; `flushed` is called on any, once all that was journalled before is stored, or
        cannot be."""
        ...

    def problem(self) -> str | None:
        """From any thread: what is wrong, and of a shared store since when and how much waits for it."""
        ...

    def progress(self) -> StoreProgress:
        """From any thread."""
        ...

    def close(self) -> None:
        """A last round, then an end. Blocks."""
        ...
