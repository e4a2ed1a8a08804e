"""What is said of a key beside its type: `spec_key(…)` as its default, and these in `Annotated[…]`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Before:
    """Called with the value as it was written; returns what is read in its place, or raises a refusal."""

    prepare: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class After:
    """Called with the value that was read; returns what is kept, or raises a refusal."""

    check: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class ReadBy:
    """Reads the value alone; the type is for the reader of the code. The JSON Schema has to be told."""

    read: Callable[[Any], Any]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ShownBy:
    """Returns what is shown for the value, as the file would say it."""

    show: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """The JSON Schema instead of the type's own, or beside it."""

    schema: Mapping[str, Any]
    is_added: bool = False


@dataclass(frozen=True, slots=True)
class Bounds:
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    min_length: int | None = None


NOTHING: Any = object()


@dataclass(frozen=True, slots=True)
class WrittenKey:
    """What a class body says of a key."""

    default: Any
    make_default: Callable[[], Any] | None
    alias: str | None  # in the file
    is_shown_in_repr: bool
    description: str
    bounds: Bounds


def spec_key(
    *,
    default: Any = NOTHING,
    default_factory: Callable[[], Any] | None = None,
    alias: str | None = None,
    repr: bool = True,  # noqa: A002 - as dataclasses say it
    description: str,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    min_length: int | None = None,
) -> Any:
    """A key without a default must be written. A default is not checked."""
    return WrittenKey(default, default_factory, alias, repr, description, Bounds(ge, gt, le, min_length))
