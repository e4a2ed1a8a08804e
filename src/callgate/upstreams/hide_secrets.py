"""Takes out of a server's own words what its entry holds in secret, and what looks like any secret. Pure.

A server may say whatever it was given: in the body of a refusal, or on its stderr.
"""

from collections.abc import Callable, Iterable

Hide = Callable[[str], str]
# A shorter one would be found inside ordinary words.
_MIN_SECRET_CHARS = 6
_MASK = "***"


def as_it_is(text: str) -> str:
    return text


def hider(held: Iterable[str], redact: Hide) -> Hide:
    """`held`: what the entry holds in secret. `redact`: takes out what looks like a secret of anybody's."""
    secrets = sorted({one for one in held if len(one) >= _MIN_SECRET_CHARS}, key=len, reverse=True)

    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, _MASK)
        return redact(text)

    return hide
