"""Takes out of a server's own words what its entry holds in secret, and what looks like any secret. Pure.

A server may say whatever it was given: in the body of a refusal, or on its stderr.
"""

from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote, unquote_plus, urlsplit

from callgate.config.secret import encoded_forms

Hide = Callable[[str], str]
# A shorter one would be found inside ordinary words.
_MIN_SECRET_CHARS = 6
MASK = "***"


def held_in_address(url: str, headers: Iterable[str]) -> Iterator[str]:
    """What the address and the headers of an HTTP server hold, as it may be repeated."""
    parts = urlsplit(url)
    held = [parts.username or "", parts.password or "", parts.query]
    held += [pair.partition("=")[2] for pair in parts.query.split("&")]
    for value in headers:
        held += [value, value.rpartition(" ")[2]]  # `Bearer x` is also told as `x`
    for one in held:
        yield from (one, unquote(one), unquote_plus(one))


def as_it_is(text: str) -> str:
    return text


def hider(held: Iterable[str], redact: Hide) -> Hide:
    """`held`: what the entry holds in secret. `redact`: takes out what looks like a secret of anybody's."""
    secrets = _long_enough(held)

    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, MASK)
        return redact(text)

    return hide


def repeats_in_disguise(text: str, held: Iterable[str]) -> bool:
    """Whether one of these is in it with signs or unseen characters in between, in base64 or in hex."""
    squeezed = _squeezed(text)
    return any(form in squeezed for secret in _long_enough(held) for form in _disguises(secret))


def _disguises(secret: str) -> Iterator[str]:
    forms = map(_squeezed, (secret, *encoded_forms(secret)))
    return (form for form in forms if len(form) >= _MIN_SECRET_CHARS)


def _squeezed(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _long_enough(held: Iterable[str]) -> list[str]:
    return sorted({one for one in held if len(one) >= _MIN_SECRET_CHARS}, key=len, reverse=True)
