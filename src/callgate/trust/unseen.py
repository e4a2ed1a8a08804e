"""Characters that a reader does not see and a model reads, that act on a terminal, or that look like others.
Pure.

Honest texts have some of them: joiners in emoji and in Persian or Hindi, variation selectors after emoji and
CJK, a soft hyphen in a long word, direction marks beside right-to-left text, a byte order mark at the start.
Those are no findings.
"""

from collections.abc import Iterator
from functools import cache

from callgate.trust.definition_texts import BETWEEN, SEPARATOR, number_of
from callgate.trust.re2_rules import Hit, Rule, any_of

_ZERO_WIDTH = r"\x{200b}-\x{200d}\x{2060}\x{feff}\x{34f}\x{180e}"
# Letters that need no joiner.
_PLAIN = r"0-9a-zA-Z\x{c0}-\x{24f}\x{370}-\x{3ff}\x{400}-\x{52f}"
_SEEN_ASCII = bytes([*range(0x20, 0x7F), *range(0x09, 0x0E), ord(SEPARATOR)])
_MAX_TOLD = 64  # characters
_FLAGS = ("gbeng", "gbsct", "gbwls")  # the only emoji of tag characters that are in general use


def _as_tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


_HONEST_TAGS = tuple(f"\U0001f3f4{_as_tags(flag)}\U000e007f" for flag in _FLAGS)


@cache
def _kinds() -> dict[str, Rule]:
    return {
        "tags": any_of(
            r"[\x{e0000}-\x{e00ff}]",
            # Bytes written as variation selectors.
            r"[\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]{2}",
            r"[a-zA-Z .,][\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]",
        ),
        "bidi": Rule(r"[\x{202a}-\x{202e}\x{2066}-\x{2069}]"),
        "escapes": Rule(r"[\x00-\x08\x0e-\x1d\x1f\x7f\x{80}-\x{84}\x{86}-\x{9f}]"),
        "invisible": any_of(
            r"[\x{2061}-\x{2064}\x{206a}-\x{206f}\x{fff9}-\x{fffb}\x{1d173}-\x{1d17a}\x{3164}\x{ffa0}]",
            rf"[{_PLAIN}][{_ZERO_WIDTH}]+[{_PLAIN}]",
            rf"[{_ZERO_WIDTH}]{{3}}",
            rf"(?:[{_PLAIN} ][\x{{200b}}\x{{2060}}\x{{feff}}]){{2}}",
            r"(?:[a-zA-Z\x{400}-\x{52f}]\x{ad}){3}",
            r"[ a-zA-Z][\x{115f}\x{1160}\x{17b4}\x{17b5}]",
        ),
    }


@cache
def _any_unseen() -> Rule:
    """One of these is in whatever the rules find: most texts have none, and one pass shows that."""
    return Rule(
        rf"[{_ZERO_WIDTH}\x{{e0000}}-\x{{e01ef}}\x{{fe00}}-\x{{fe0f}}\x{{202a}}-\x{{202e}}\x{{2061}}-\x{{206f}}"
        r"\x00-\x08\x0e-\x1d\x1f\x7f-\x{84}\x{86}-\x{9f}\x{fff9}-\x{fffb}\x{1d173}-\x{1d17a}\x{3164}\x{ffa0}"
        r"\x{ad}\x{115f}\x{1160}\x{17b4}\x{17b5}]"
    )


def unseen_in(text: str) -> Iterator[tuple[str, str, int]]:
    """The kind of each, the characters by their codes, and the number of the string."""
    if text.isascii() and not text.encode().translate(None, _SEEN_ASCII):
        return
    for flag in _HONEST_TAGS:
        text = text.replace(flag, "")
    marked = text.removeprefix("\ufeff").replace(f"{BETWEEN}\ufeff", BETWEEN)
    told = marked.encode(errors="surrogatepass")
    if _any_unseen().found(told) is None:
        return
    for kind, rule in _kinds().items():
        if (found := rule.found(told)) is not None:
            codes = [f"U+{ord(char):04X}" for char in found.words[:_MAX_TOLD] if not _is_seen(char)]
            yield kind, " ".join(codes[:8]), number_of(told, found.start)


def _is_seen(char: str) -> bool:
    return (
        char.isprintable()
        and char not in "\u3164\uffa0\u115f\u1160\u034f\u17b4\u17b5"
        and not "\ufe00" <= char <= "\ufe0f"
    )


def mixed_word(text: str) -> Hit | None:
    """A word with letters of Latin and of Cyrillic or Greek, which look alike."""
    return None if text.isascii() else _mixed().found(text.encode(errors="replace"))


@cache
def _mixed() -> Rule:
    """Two Latin letters and one of the others, in any order. A hyphen and a slash end a word."""
    latin, alike, some = r"\p{Latin}", r"[\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}]", r"[^\s/-]*"
    orders = (alike, latin, latin), (latin, alike, latin), (latin, latin, alike)
    return any_of(*(some + some.join(order) + some for order in orders))
