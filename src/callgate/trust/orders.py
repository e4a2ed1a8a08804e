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
from callgate.trust.re2_rules import Hit, Rule, RuleSet, alternatives, any_of, phrase

# The words before what is cited with the sign that opens it, and the rest of it.
_CITED = (
    (
        r"(?i)\b(?:such as|e\.g\.?|for example|for instance|phrases?(?: like)?|sentences? like|words? like|"
        r"detects?|flags?|catches|matches|matching|containing|zum beispiel|z\. ?b\.|wie|comme|par exemple|"
        r"como|por ejemplo|por exemplo|ad esempio|например|例如|例えば|比如)[\s:,(]*"
    ),
    r"[\"'“‘«„「『`]",
    r"[^\"'”’»”」』`\n]{1,80}[\"'”’»“」』`][\s,;)]*(?:or|and|oder|et|y|o|e|и|或|や)?[\s]*",
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
# Told, but not held.
_IMPERATIVE = (
    (
        r"\b(?:you|assistant|the model|llm|the agent|ai) (?:must|should|have to|need to|are required to|will "
        r"always)\b"
    ),
    r"\b(?:always|never) (?:call|use|invoke|run|pass|include|send|read)\b",
    r"\b(?:call|use|invoke|run) this (?:tool|function)? ?(?:first|before|after|whenever|every)\b",
    r"\bbefore (?:using|calling|any|all) (?:any |all )?other tools?\b",
    (
        r"\bwithout (?:notifying|informing|asking|alerting) the user\b|\bdo not (?:notify|ask|inform) the "
        r"user\b"
    ),
)


class _Rules(NamedTuple):
    any: RuleSet
    always: GapRules
    # The rest must be about something.
    about: GapRules
    # Those that begin with words that are everywhere, and the name in `any` of what must be there.
    aside: tuple[tuple[str, GapRules], ...]


@cache
def _rules() -> _Rules:
    """Compiled when the first definition is looked at: it takes some milliseconds."""
    about = {
        "other_tools": alternatives(*map(phrase, words.ABOUT_OTHER_TOOLS)),
        "secret_files": alternatives(*files.ABOUT_SECRETS),
        "exfiltration": alternatives(*map(phrase, said.ABOUT_WHAT_WAS_SAID)),
    }
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
    always = GapRules(
        of_phrases("silence", words.SILENCE) + of_patterns("silence", words.SILENCE_CJK),
        of_phrases("override", said.OVERRIDE) + of_patterns("override", said.OVERRIDE_CJK),
    )
    return _Rules(
        any=RuleSet(
            always=always.firsts,
            **about,
            copies=alternatives(*map(phrase, said.ABOUT_COPIES)),
            contents=alternatives(*files.CONTENTS_CJK),
            named=words.NAMED_TOOL,
            apart=_APART,
            imperative=alternatives(*_IMPERATIVE),
        ),
        always=always,
        about=GapRules(
            of_phrases("other_tools", words.OTHER_TOOLS) + of_patterns("other_tools", words.OTHER_TOOLS_CJK),
            *by_first_words(secret_files),
            *by_first_words(exfiltration),
            about=about,
        ),
        aside=(
            ("copies", GapRules(of_phrases("exfiltration", said.COPIES))),
            ("contents", GapRules(behind)),
        ),
    )


@cache
def _named() -> Rule:
    return Rule(words.NAMED_TOOL + words.TO_BE_DONE)


@cache
def _name(*, with_rest: bool) -> Rule:
    return Rule(words.NAMED_TOOL + words.TO_BE_DONE * with_rest, has_groups=True)


@cache
def _cited() -> tuple[Rule, Rule]:
    """The words before what is cited, and all of it. Looked for at once, it would have as many states as
    there are distances between such words."""
    before, opened, rest = _CITED
    return Rule(before + opened), Rule(f"{before}(?:{opened}{rest})+")


@cache
def _apart() -> Rule:
    return Rule(_APART)


@cache
def _imperative() -> Rule:
    return any_of(*_IMPERATIVE)


def without_citations(text: str) -> str:
    """`text`: as it was written."""
    before, cited = _cited()
    written = text.encode(errors="surrogatepass")
    pieces: list[bytes] = []
    end = at = 0
    for _ in range(_MAX_CITED):
        if (begun := before.span(written, at)) is None:
            break
        at = begun[0] + 1
        if (stop := cited.end_at(written, begun[0], len(written))) is not None:
            pieces.append(written[end : begun[0]])
            end = at = stop
    return b" ".join([*pieces, written[end:]]).decode(errors="replace") if end else text


class FoldedText:
    """A folded text, and what one pass shows that it may have."""

    def __init__(self, text: bytes) -> None:
        self.text = self._read = text
        if b".pub" in text:
            for public in _PUBLIC_KEYS:
                # As long as before: places stay.
                self._read = self._read.replace(public, b"public key".ljust(len(public)))
        self._has = _rules().any.found_in(self._read)

    def orders(self, own_names: Collection[str]) -> Iterator[tuple[str, Hit]]:
        """The kind of each order, and the words; last `unreadable`, if there are too many places."""
        try:
            yield from self.of_rules()
            if "named" in self._has:
                yield from _of_names(self._read, own_names)
            if "apart" in self._has:
                yield from _of_apart(self._read)
        except TooManyPlacesError as problem:
            yield "unreadable", Hit(problem.words, 0)

    def imperative(self) -> Hit | None:
        return _imperative().found(self.text) if "imperative" in self._has else None

    def of_rules(self) -> Iterator[tuple[str, Hit]]:
        """Raises TooManyPlacesError."""
        rules, steps = _rules(), Steps(self._read)
        if "always" in self._has:
            yield from rules.always.found(self._read, steps)
        if not self._has.isdisjoint(rules.about.kinds):
            yield from rules.about.found(self._read, steps, self._has)
            for about, more in rules.aside:
                if about in self._has:
                    yield from more.found(self._read, steps)


def _of_names(folded: bytes, own_names: Collection[str]) -> Iterator[tuple[str, Hit]]:
    for number, (start, stop) in enumerate(_named().spans(folded)):
        if number >= _MAX_NAMED:
            yield "other_tools", Hit("too many names of tools", start)
            return
        # A name ends where the rest begins, which in a short piece may be inside of a longer name.
        is_short = stop - start <= _SHORT_BYTES
        told = _name(with_rest=is_short).groups_at(folded, start, min(stop, start + _SHORT_BYTES))
        name, called = told or ("", "")
        is_name = bool(called) or "_" in name or "-" in name or "." in name
        if is_name and name not in own_names:
            yield "other_tools", Hit(name, start)
            return


def _of_apart(folded: bytes) -> Iterator[tuple[str, Hit]]:
    """Raises TooManyPlacesError."""
    apart = list(islice(_apart().spans(folded), _MAX_APART + 1))
    if len(apart) > _MAX_APART:
        yield "hidden", Hit("too many words with their letters apart", apart[-1][0])
        return
    together = _put_together(folded, apart)
    for kind, hit in FoldedText(together).of_rules():
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
