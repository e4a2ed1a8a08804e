"""Sql asks the record for what one principal may see of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A DuckDB file that holds one principal's rows and nothing else. Its reader removes it."""

    path: Path
    left_out: int = 0  # older exchanges of the principal that there was no room for


class RecordExcerpts(Protocol):
    async def take(self, principal: str, statements: Sequence[str]) -> Excerpt:
        """With all that these statements can read. Raises SetupError when the record cannot be read here."""
        ...
