"""What the operator wrote about one HTTP upstream. Holds secrets: none of it is in its `repr`."""

from dataclasses import dataclass, field

from callgate.upstreams.hide_secrets import Hide, as_it_is


@dataclass(frozen=True, slots=True)
class HttpSettings:
    name: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    redact: Hide = as_it_is  # takes out what looks like a secret of anybody's
