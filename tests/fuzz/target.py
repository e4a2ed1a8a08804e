"""What the fuzzer feeds: something that reads bytes and says what it made of them."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Protocol

CORPUS = Path(__file__).parent / "corpus"


class Target(Protocol):
    name: str
    share: int  # of a hundred inputs
    hang_cpu_s: float  # what one input may take; it has at most a few thousand bytes
    is_cut: bool  # whether its input comes in packets, and the borders of packets must not matter

    @property
    def words(self) -> Sequence[bytes]:
        """Of its language, for mutations."""
        ...

    @property
    def seeds(self) -> Sequence[bytes]: ...

    def run(self, pieces: Sequence[bytes]) -> Any:
        """What it made of them, to be compared. Typed errors are part of that; any other is a finding."""
        ...

    def generated(self, random: Random) -> bytes:
        """An input by the grammar, with faults."""
        ...


def findings(target: Target) -> list[Path]:
    """Inputs that once broke it, kept to be tried again."""
    return sorted((CORPUS / target.name).glob("*"))
