"""Orders to the model that no honest definition has to give: what the scan holds because of its words. Pure.

Rules
1. A text is folded first (`fold_text`), and letters that are written apart are put together.
2. A phrase that is only cited ("detects phrases such as '…'") does not count.
3. A tool of the same server may be named: an order about it is no order about others.
"""

from collections.abc import Collection, Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

from callgate.trust import order_words as words
from callgate.trust import said_words as said
from callgate.trust import secret_file_words as files
from callgate.trust.definition_texts import SEPARATOR
from callgate.trust.gap_rules import (
    GapRule,
    GapRules,
    Steps,
    TooManyPlacesError,
    by_first_words,
    of_patterns,
    of_phrases,
)
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
_MAX_NAMED = 32
_SHORT_BYTES = 256
_MAX_CITED = 32
_SEPARATING = SEPARATOR.encode()
_BETWEEN_WORDS = bytes.maketrans(_SEPARATING, b" ")
_PUBLIC_KEYS = (b"id_rsa.pub", b"id_ed25519.pub", b"id_ecdsa.pub", b"id_dsa.pub")


class _Rules(NamedTuple):
    always: GapRules
    # The rest must be about something. Most texts speak of none of it, and one pass shows that.
    any_about: Rule
    about: GapRules
    # Those that begin with words that are everywhere, and what must be there.
    aside: tuple[tuple[Rule, GapRules], ...]


@cache
def _rules() -> _Rules:
    """Compiled when the first definition is looked at: it takes some milliseconds."""
    about = {
        "other_tools": any_of(*map(phrase, words.ABOUT_OTHER_TOOLS)),
        "secret_files": any_of(*files.ABOUT_SECRETS),
        "exfiltration": any_of(*map(phrase, said.ABOUT_WHAT_WAS_SAID)),
    }
    any_about = (*words.ABOUT_OTHER_TOOLS, *said.ABOUT_WHAT_WAS_SAID)
    read_ru = phrase(files.READ_RU)
    reads_ru = read_ru + files.FILES_AND_REST[0] + phrase(files.HANDED_RU) + files.FILES_AND_REST[1]
    secret_files = [
        *of_patterns("secret_files", files.SECRET_FILES, files.GAP),
        *of_patterns("secret_files", files.SECRET_FILES_CJK),
        GapRule("secret_files", read_ru, reads_ru),
    ]
    exfiltration = of_phrases("exfiltration", said.EXFILTRATION)
    exfiltration += of_patterns("exfiltration", said.EXFILTRATION_CJK)
    behind = [GapRule("secret_files", files.FILES, files.FILES + one) for one in files.BEHIND_FILES_CJK]
    return _Rules(
        always=GapRules(
            of_phrases("silence", words.SILENCE) + of_patterns("silence", words.SILENCE_CJK),
            of_phrases("override", said.OVERRIDE) + of_patterns("override", said.OVERRIDE_CJK),
        ),
        any_about=any_of(*map(phrase, any_about), *files.ABOUT_SECRETS),
        about=GapRules(
            of_phrases("other_tools", words.OTHER_TOOLS) + of_patterns("other_tools", words.OTHER_TOOLS_CJK),
            *by_first_words(secret_files),
            *by_first_words(exfiltration),
            about=about,
        ),
        aside=(
            (any_of(*map(phrase, said.ABOUT_COPIES)), GapRules(of_phrases("exfiltration", said.COPIES))),
            (any_of(*files.CONTENTS_CJK), GapRules(behind)),
        ),
    )


@cache
def _named() -> Rule:
    return Rule(words.NAMED_TOOL + words.TO_BE_DONE)


@cache
def _name(*, with_rest: bool) -> Rule:
    return Rule(words.NAMED_TOOL + words.TO_BE_DONE * with_rest, has_groups=True)


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
    """The kind of each order, and the words; last `unreadable`, if there are too many places."""
    try:
        yield from _orders_in(folded, own_names)
    except TooManyPlacesError as problem:
        yield "unreadable", Hit(problem.words, 0)


def _orders_in(folded: bytes, own_names: Collection[str]) -> Iterator[tuple[str, Hit]]:
    if b".pub" in folded:
        for public in _PUBLIC_KEYS:
            # As long as before: places stay.
            folded = folded.replace(public, b"public key".ljust(len(public)))
    yield from _of_rules(folded)
    for number, (start, stop) in enumerate(_named().spans(folded)):
        if number >= _MAX_NAMED:
            yield "other_tools", Hit("too many names of tools", start)
            break
        # A name ends where the rest begins, which in a short piece may be inside of a longer name.
        is_short = stop - start <= _SHORT_BYTES
        told = _name(with_rest=is_short).groups_at(folded, start, min(stop, start + _SHORT_BYTES))
        name, called = told or ("", "")
        is_name = bool(called) or "_" in name or "-" in name or "." in name
        if is_name and name not in own_names:
            yield "other_tools", Hit(name, start)
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
    """Raises TooManyPlacesError."""
    rules, steps = _rules(), Steps(text)
    yield from rules.always.found(text, steps)
    if rules.any_about.span(text) is None:
        return
    yield from rules.about.found(text, steps)
    for about, more in rules.aside:
        if about.span(text) is not None:
            yield from more.found(text, steps)
