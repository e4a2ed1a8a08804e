"""What the operator wrote about one HTTP upstream. Holds secrets: none of it is in its `repr`."""

from collections.abc import Callable
from dataclasses import dataclass, field


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class HttpSettings:
    name: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    redact: Callable[[str], str] = _as_it_is  # takes out what looks like a secret of anybody's
