"""What the operator wrote about one HTTP upstream. Holds secrets: none of it is in its `repr`."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HttpSettings:
    name: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
