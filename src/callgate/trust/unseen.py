"""Characters that a reader does not see and a model reads, that act on a terminal, or that look like others.
Pure.

Honest texts have some of them: joiners in emoji and in Persian or Hindi, variation selectors after emoji and
CJK, a soft hyphen in a long word, direction marks beside right-to-left text, a byte order mark at the start.
Those are no findings.
"""

from collections.abc import Collection, Iterator
from functools import cache

from callgate.trust.definition_texts import BETWEEN, number_of
from callgate.trust.re2_rules import Hit, Rule, alternatives, hit_of

_ZERO_WIDTH = r"\x{200b}-\x{200d}\x{2060}\x{feff}\x{34f}\x{180e}"
# Letters that need no joiner.
_PLAIN = r"0-9a-zA-Z\x{c0}-\x{24f}\x{370}-\x{3ff}\x{400}-\x{52f}"
_MAX_TOLD = 64  # characters
_ENDS_OF_WORDS = (b" ", b"\t", b"\n", b"\r", b"\f", b"/", b"-")
_FLAGS = ("gbeng", "gbsct", "gbwls")  # the only emoji of tag characters that are in general use


def _as_tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


_HONEST_TAGS = tuple(f"\U0001f3f4{_as_tags(flag)}\U000e007f" for flag in _FLAGS)


# What `unseen_in` tells, and how to find it.
KINDS = {
    "tags": alternatives(
        r"[\x{e0000}-\x{e00ff}]",
        # Bytes written as variation selectors.
        r"[\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]{2}",
        r"[a-zA-Z .,][\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]",
    ),
    "bidi": r"[\x{202a}-\x{202e}\x{2066}-\x{2069}]",
    "escapes": r"[\x00-\x08\x0e-\x1d\x1f\x7f\x{80}-\x{84}\x{86}-\x{9f}]",
    "invisible": alternatives(
        r"[\x{2061}-\x{2064}\x{206a}-\x{206f}\x{fff9}-\x{fffb}\x{1d173}-\x{1d17a}\x{3164}\x{ffa0}]",
        rf"[{_PLAIN}][{_ZERO_WIDTH}]+[{_PLAIN}]",
        rf"[{_ZERO_WIDTH}]{{3}}",
        rf"(?:[{_PLAIN} ][\x{{200b}}\x{{2060}}\x{{feff}}]){{2}}",
        r"(?:[a-zA-Z\x{400}-\x{52f}]\x{ad}){3}",
        r"[ a-zA-Z][\x{115f}\x{1160}\x{17b4}\x{17b5}]",
    ),
}


@cache
def _rule(kind: str) -> Rule:
    return Rule(KINDS[kind])


def unseen_in(text: str, written: bytes, has: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """The kind of each, the characters by their codes, and the number of the string. `written`: the text as
    UTF-8; `has`: which of `KINDS` it has."""
    kinds = [kind for kind in KINDS if kind in has]
    if not kinds:
        return
    for flag in _HONEST_TAGS:
        text = text.replace(flag, "")
    marked = text.removeprefix("\ufeff").replace(f"{BETWEEN}\ufeff", BETWEEN)
    told = marked.encode(errors="surrogatepass")
    for kind in kinds if told == written else KINDS:
        if (found := _rule(kind).found(told)) is not None:
            codes = [f"U+{ord(char):04X}" for char in found.words[:_MAX_TOLD] if not _is_seen(char)]
            yield kind, " ".join(codes[:8]), number_of(told, found.start)


def _is_seen(char: str) -> bool:
    return (
        char.isprintable()
        and char not in "\u3164\uffa0\u115f\u1160\u034f\u17b4\u17b5"
        and not "\ufe00" <= char <= "\ufe0f"
    )


def _mixed() -> str:
    """Two Latin letters and one of the others, in any order. A hyphen and a slash end a word."""
    latin, alike, some = r"\p{Latin}", r"[\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}]", r"[^\s/-]*"
    orders = (alike, latin, latin), (latin, alike, latin), (latin, latin, alike)
    return alternatives(*(some + some.join(order) + some for order in orders))


# A word with letters of Latin and of Cyrillic or Greek, which look alike.
MIXED = _mixed()


@cache
def _up_to_mixed() -> Rule:
    """It is at the end of what is found: to look for its beginning too takes twice as long."""
    return Rule(rf"(?s:.*?)(?:{MIXED})")


def mixed_word(text: str) -> Hit | None:
    """The first one that is `MIXED`."""
    if text.isascii():
        return None
    told = text.encode(errors="replace")
    if (stop := _up_to_mixed().end_at(told, 0, len(told))) is None:
        return None
    start = max(told.rfind(sign, 0, stop) for sign in _ENDS_OF_WORDS) + 1
    return hit_of(told, start, stop)
