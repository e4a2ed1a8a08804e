"""What the operator wrote about one HTTP upstream."""

from dataclasses import dataclass, field

from callgate.upstreams.hide_secrets import Hide, as_it_is, held_in_address, hider


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Holds secrets: none of it is in its `repr`."""

    name: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    redact: Hide = as_it_is  # takes out what looks like a secret of anybody's

    def hider(self) -> Hide:
        """Takes what it holds in secret out of a text."""
        return hider(held_in_address(self.url, dict(self.headers).values()), self.redact)
