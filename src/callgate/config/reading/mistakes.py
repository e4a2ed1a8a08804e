"""What is wrong with a table, before it is told in the words of the file (`config.parse`)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from callgate.config.problem import Loc, key_path

# "choice": none of the words that are allowed; "refused": a sentence of the key's own rule.
MistakeKind = Literal["missing", "unknown", "choice", "refused", "other"]


@dataclass(frozen=True, slots=True)
class Mistake:
    at: Loc  # in the table that was read
    kind: MistakeKind
    message: str
    hint: str = ""
    value: object = field(default=None, repr=False)
    words: tuple[str, ...] = ()  # which there are: of a choice, and the keys where one is unknown or missing


class RefusedValueError(ValueError):
    """A value's own rule says no. It does not carry the value: its sentence is made with `problem.shown`."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidSpecError(ValueError):
    """All mistakes of one table. Its text repeats no value."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__("; ".join(f"{key_path(one.at)}: {one.message}" for one in mistakes))
        self.mistakes = tuple(mistakes)


def refusal(message: str, hint: str = "") -> RefusedValueError:
    return RefusedValueError(message, hint)


class Invalid:
    """In the place of a value that could not be read; the mistake is told."""


INVALID: Any = Invalid()
