"""Orders to the model that no honest definition has to give: what the scan holds because of its words. Pure.

Rules
1. A text is folded first (`fold_text`), and letters that are written apart are put together.
2. A phrase that is only cited ("detects phrases such as '…'") does not count.
3. A tool of the same server may be named: an order about it is no order about others.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

from callgate.trust import order_words as words
from callgate.trust import said_words as said
from callgate.trust import secret_file_words as files
from callgate.trust.definition_texts import SEPARATOR
from callgate.trust.re2_rules import Hit, Rule, any_of, phrase

_CITED = (
    r"(?i)\b(?:such as|e\.g\.?|for example|for instance|phrases?(?: like)?|sentences? like|words? like|"
    r"detects?|flags?|"
    r"catches|matches|matching|containing|zum beispiel|z\. ?b\.|wie|comme|par exemple|como|por ejemplo|"
    r"por exemplo|ad esempio|"
    r"например|例如|例えば|比如)[\s:,(]*(?:[\"'“‘«„「『`][^\"'”’»」』`\n]{1,80}[\"'”’»“」』`][\s,;)]*(?:or|and|oder|"
    r"et|y|o|e|и|或|や)?[\s]*)+"
)
_APART = r"(?:\b[a-z0-9@$|][ .*_-]{1,2}){5,}[a-z0-9@$|]\b"
# More than any honest text has: what is past it is held instead of being read.
_MAX_APART = 120
_MAX_NAMED = 200
_MAX_ABOUT = 60
_AROUND_BYTES = 240
_NEAR_BYTES = 960
_MAX_CITED = 32
_SEPARATING = SEPARATOR.encode()
_BETWEEN_WORDS = bytes.maketrans(_SEPARATING, b" ")
_PUBLIC_KEYS = (b"id_rsa.pub", b"id_ed25519.pub", b"id_ecdsa.pub", b"id_dsa.pub")


@dataclass(frozen=True, slots=True)
class _Order:
    """How one kind of order is found."""

    kind: str
    rule: Rule
    about: Rule | None = None  # what it must be about: the rule is tried around such places only


@cache
def _orders() -> tuple[_Order, ...]:
    """Compiled when the first definition is looked at: it takes some milliseconds."""
    reads_ru = (
        phrase(files.READ_RU) + files.FILES_AND_REST[0] + phrase(files.HANDED_RU) + files.FILES_AND_REST[1]
    )
    return (
        _Order("silence", any_of(*map(phrase, words.SILENCE), *words.SILENCE_CJK)),
        _Order("override", any_of(*map(phrase, said.OVERRIDE), *said.OVERRIDE_CJK)),
        _Order(
            "other_tools",
            any_of(*map(phrase, words.OTHER_TOOLS), *words.OTHER_TOOLS_CJK),
            any_of(*map(phrase, words.ABOUT_OTHER_TOOLS)),
        ),
        _Order(
            "secret_files",
            any_of(*files.SECRET_FILES, reads_ru, *files.SECRET_FILES_CJK),
            any_of(*files.ABOUT_SECRETS),
        ),
        _Order(
            "exfiltration",
            any_of(*map(phrase, said.EXFILTRATION), *said.EXFILTRATION_CJK),
            any_of(*map(phrase, said.ABOUT_WHAT_WAS_SAID)),
        ),
    )


@cache
def _any_about() -> Rule:
    """What any of the orders is about: most texts speak of none of it, and one pass shows that."""
    told = (*words.ABOUT_OTHER_TOOLS, *said.ABOUT_WHAT_WAS_SAID)
    return any_of(*map(phrase, told), *files.ABOUT_SECRETS)


@cache
def _named() -> Rule:
    return Rule(words.NAMED_TOOL)


@cache
def _cited() -> Rule:
    return Rule(_CITED)


@cache
def _apart() -> Rule:
    return Rule(_APART)


def without_citations(text: bytes) -> bytes:
    """`text`: as it was written."""
    pieces: list[bytes] = []
    end = 0
    for number, (start, stop) in enumerate(_cited().spans(text)):
        if number >= _MAX_CITED:
            break
        pieces.append(text[end:start])
        end = stop
    return b" ".join([*pieces, text[end:]]) if end else text


def orders_in(folded: bytes, own_names: Collection[str]) -> Iterator[tuple[str, Hit]]:
    """The kind of each order that is found, and the words."""
    if b".pub" in folded:
        for public in _PUBLIC_KEYS:
            # As long as before: places stay.
            folded = folded.replace(public, b"public key".ljust(len(public)))
    yield from _of_rules(folded)
    for number, (start, (name, called)) in enumerate(_named().groups(folded)):
        is_name = bool(called) or "_" in name or "-" in name or "." in name
        if is_name and name not in own_names:
            yield "other_tools", Hit(name, start)
            break
        if number >= _MAX_NAMED:
            yield "other_tools", Hit("too many names of tools", start)
            break
    apart = list(islice(_apart().spans(folded), _MAX_APART + 1))
    if len(apart) > _MAX_APART:
        yield "hidden", Hit("too many words with their letters apart", apart[-1][0])
    elif apart:
        together = _put_together(folded, apart)
        for kind, hit in _of_rules(together):
            before = together[: hit.start].translate(_BETWEEN_WORDS)
            yield kind, Hit(hit.words, apart[before.count(b" ")][0])


def _put_together(folded: bytes, apart: list[tuple[int, int]]) -> bytes:
    """Words of one string with a blank between them."""
    pieces: list[bytes] = []
    end = 0
    for start, stop in apart:
        if pieces:
            pieces.append(b" " if folded.find(_SEPARATING, end, start) < 0 else _SEPARATING)
        pieces.append(folded[start:stop].translate(None, b" .*_-"))
        end = stop
    return b"".join(pieces)


def _of_rules(text: bytes) -> Iterator[tuple[str, Hit]]:
    speaks = _any_about().found(text) is not None
    for order in _orders():
        if order.about is not None and not speaks:
            continue
        places = [(0, len(text))] if order.about is None else _around(order.about, text)
        if places is None:
            yield order.kind, Hit("too many places that may be orders", 0)
            continue
        for first, last in places:
            # A window that does not begin with the text does not begin with its first word.
            before = b". " if first else b""
            if (found := order.rule.found(before + text[first:last])) is not None:
                yield order.kind, Hit(found.words, first + max(0, found.start - len(before)))
                break


def _around(about: Rule, text: bytes) -> list[tuple[int, int]] | None:
    """Around what an order must be about; None: there are more such places than we look at."""
    windows: list[list[int]] = []
    at = 0
    while (place := about.next_span(text, at)) is not None:
        if len(windows) >= _MAX_ABOUT:
            return None
        # Other places near by need no search of their own: they are inside the window, with what is around.
        at = place[1] + _NEAR_BYTES
        first, last = max(0, place[0] - _AROUND_BYTES), at + _AROUND_BYTES
        if windows and first <= windows[-1][1]:
            windows[-1][1] = last
        else:
            windows.append([first, last])
        if at >= len(text):
            break
    return [(first, last) for first, last in windows]
