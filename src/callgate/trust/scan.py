"""What is wrong with a definition, by what it says: two tiers. Pure, offline, the same for the same bytes.

*Holding* findings are what no honest definition needs: text that is hidden from people, and orders to the
model about other servers' tools, silence towards the user, files of secrets and what was said. *Shown* ones
are only told. Looked at: every string, names of properties too.

Rules
1. Total: what cannot be read (too deep, too long, a name given twice) is a holding finding, never an error.
2. Time is bounded by the length of the text, and the text by `MAX_TEXT_CHARS`. Every pattern is RE2's.
3. A text that needs more steps than any honest one is held instead of being read to its end.
4. All strings are looked at together, for each search has its price, and of each kind the first place is
   told: a definition that is full of findings takes no longer than one without.
5. This is a net for known words, no proof: who words an order in a new way passes. `hold` and the lock are
   what stops a change that nobody looked at.
"""

from collections.abc import Callable, Collection, Iterator
from functools import cache

from callgate.model.trust import Flaw
from callgate.model.wording import clip
from callgate.trust.canonical import ReadDefinition, UnreadableError, read_definition
from callgate.trust.definition_texts import BETWEEN, SEPARATOR, DefinitionTexts, number_of
from callgate.trust.encoded import (
    RUNS_ENCODED_BEGINNING,
    TooManyPiecesError,
    command_in,
    decoded_pieces,
    runs_encoded,
)
from callgate.trust.fold_text import fold, folded_bytes
from callgate.trust.gap_rules import TooManyPlacesError
from callgate.trust.hidden_text import BEGINNINGS, hidden_orders, weak_order_in
from callgate.trust.orders import FoldedText, without_citations
from callgate.trust.re2_rules import Hit, Rule, RuleSet
from callgate.trust.unseen import KINDS, MIXED, mixed_word, unseen_in

# Of all strings of one definition. The longest that we met has 20,000.
MAX_TEXT_CHARS = 64 * 1024
_LONG_CHARS = 8_000
_MAX_SHOWN_CHARS = 120
# Between two pieces that are read on: it stays to be counted, and rules cross it.
_CROSSED = "\x1f"
# Longer definitions are looked at in parts: the bounds of how much is found are bounds of one look.
_MAX_TOGETHER_CHARS = 16 * 1024

WORDS: dict[str, str] = {
    "invisible": "invisible characters",
    "tags": "hidden text in tag characters",
    "bidi": "text shown in another order",
    "escapes": "terminal escapes",
    "lookalike": "letters of several alphabets in a name",
    "other_tools": "orders about other servers' tools",
    "silence": "silence towards the user",
    "secret_files": "file of secrets",
    "exfiltration": "passing on what was said",
    "override": "orders to ignore instructions",
    "encoded": "encoded command",
    "hidden": "orders where people do not look",
    "unreadable": "cannot be checked",
    "imperative": "gives orders to the model",
    "loud": "insists",
    "address": "names an address",
    "command": "names a shell command",
    "long": "very long",
    "mixed": "letters of several alphabets in a word",
}
HOLDING = frozenset(list(WORDS)[: list(WORDS).index("imperative")])


def _flaw(kind: str, where: str, excerpt: str) -> Flaw:
    """`excerpt`: the words, folded, or codes of characters."""
    return Flaw(kind, WORDS[kind], kind in HOLDING, where, excerpt)


_LOUD = (
    r"\b(?:IMPORTANT|CRITICAL|MANDATORY|WARNING|ATTENTION|MUST|NEVER|ALWAYS)\b|<(?i:important|system|"
    r"instructions?|critical)>|<\|im_start\|>|\[/?INST\]"
)

# Many SDKs write `$schema` into every tool, which says which JSON Schema it is. Nobody is led there.
_SCHEMA_SITE, _NO_ADDRESS = b"://json-schema.org/", b":  json-schema.org/"

_SHOWN = {
    "loud": _LOUD,
    "address": r"(?i)\bhttps?://[^\s\"'<>)]{3,200}",
    "command": r"(?i)\bcurl [^\n]*\|\s*(?:sudo )?(?:ba)?sh\b|\brm -rf /|\bchmod 777\b",
}


@cache
def _shown(kind: str) -> Rule:
    return Rule(_SHOWN[kind])


@cache
def _any_in_written() -> RuleSet:
    return RuleSet(**_SHOWN, **KINDS, **BEGINNINGS, mixed=MIXED, runs_encoded=RUNS_ENCODED_BEGINNING)


def scan(definition: bytes, own_names: frozenset[str] = frozenset()) -> tuple[Flaw, ...]:
    """All findings, the holding ones first. `own_names`: of the tools and prompts of the same server."""
    try:
        read = read_definition(definition)
    except UnreadableError as problem:
        return unreadable(str(problem))
    return scan_read(read, frozenset(name.lower() for name in own_names))


def unreadable(problem: str) -> tuple[Flaw, ...]:
    return (_flaw("unreadable", "", problem),)


def scan_read(read: ReadDefinition, lowered_names: frozenset[str] = frozenset()) -> tuple[Flaw, ...]:
    texts = read.texts
    if texts.chars > MAX_TEXT_CHARS:
        return unreadable(f"more than {MAX_TEXT_CHARS:,} characters of text")
    found: dict[str, Flaw] = {}

    def add(kind: str, excerpt: str, where: str) -> None:
        found.setdefault(kind, _flaw(kind, where, clip(excerpt, _MAX_SHOWN_CHARS)))

    for key in ("name", "title"):
        if (told := read.member(key)) and (mixed := mixed_word(told)) is not None:
            add("lookalike", mixed.words, key)
    if texts.chars > _LONG_CHARS:
        longest = max(texts.texts, key=len)
        if len(longest) > _LONG_CHARS:
            add("long", f"{len(longest):,} characters", texts.where(texts.texts.index(longest)))
    try:
        for first, together in _groups(texts):
            for kind, excerpt, number in _look(together, lowered_names):
                add(kind, excerpt, texts.where(first + number))
        # Orders that are cut into pieces.
        if not found.keys() & HOLDING and len(said := texts.said) > 1:
            for kind, hit in _orders(BETWEEN.join(said), lowered_names, fold=_read_on)[1]:
                add(kind, hit.words, "")
    except TooManyPlacesError as problem:
        add("unreadable", problem.words, "")
    return tuple(sorted(found.values(), key=lambda one: (not one.holds, one.kind)))


def _groups(texts: DefinitionTexts) -> Iterator[tuple[int, str]]:
    """The number of the first text of each, and the texts together."""
    if texts.chars <= _MAX_TOGETHER_CHARS:
        yield 0, texts.together
        return
    first = chars = 0
    for number, text in enumerate(texts.texts):
        chars += len(text)
        if number > first and chars > _MAX_TOGETHER_CHARS:
            yield first, texts.part(first, number)
            first, chars = number, len(text)
    yield first, texts.part(first, len(texts.texts))


def _look(text: str, own_names: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """The kind of each finding, its words, and the number of the string."""
    written, has = _in_written(text)
    yield from unseen_in(text, written, has)
    folded, orders = _orders(text, own_names)
    for kind, hit in orders:
        yield kind, hit.words, number_of(folded.text, hit.start)
    if _is_unread(orders):
        return
    in_written = [
        ("encoded", _encoded(written, own_names, has)),
        ("hidden", next(hidden_orders(written, has), None)),
        ("mixed", mixed_word(text) if "mixed" in has else None),
    ]
    if "command" in has and not any(word in folded.text for word in (b"curl", b"rm -rf", b"chmod")):
        has -= {"command"}  # it was cited
    without_site = written.replace(_SCHEMA_SITE, _NO_ADDRESS) if "address" in has else written
    in_written += [(kind, _shown(kind).found(without_site)) for kind in _SHOWN if kind in has]
    for kind, hit in in_written:
        if hit is not None:
            yield kind, hit.words, number_of(written, hit.start)
    if (hit := folded.imperative()) is not None:
        yield "imperative", hit.words, number_of(folded.text, hit.start)


def _in_written(text: str) -> tuple[bytes, frozenset[str]]:
    """As UTF-8, and what it may have of all that is looked for in a text as it was written."""
    try:
        written, more = text.encode(), ()
    except UnicodeEncodeError:  # half a surrogate counts as a letter of a word
        written, more = text.encode(errors="surrogatepass"), ("mixed",)
    return written, _any_in_written().found_in(written).union(more)


def _read_on(text: str) -> bytes:
    """Over the ends of strings."""
    return folded_bytes(text.replace(BETWEEN, " ").replace(SEPARATOR, " "))


def _orders(
    text: str, own_names: Collection[str], fold: Callable[[str], bytes] = folded_bytes
) -> tuple[FoldedText, list[tuple[str, Hit]]]:
    """And the folded text they are in. What is cited is taken out of it only where an order is."""
    folded = FoldedText(fold(text))
    orders = list(folded.orders(own_names))
    has_order = bool(orders) and orders[0][0] != "unreadable"
    if has_order and (uncited := without_citations(text)) != text:
        folded = FoldedText(fold(uncited))
        orders = list(folded.orders(own_names))
    return folded, orders


def _is_unread(orders: list[tuple[str, Hit]]) -> bool:
    """It is held for that, and no other search would say more."""
    return bool(orders) and orders[-1][0] == "unreadable"


def _encoded(written: bytes, own_names: Collection[str], has: Collection[str]) -> Hit | None:
    if "runs_encoded" in has and (found := runs_encoded(written)) is not None:
        return found
    try:
        pieces = decoded_pieces(written)
    except TooManyPiecesError as problem:
        return Hit("too many encoded pieces", problem.start)
    if not pieces:
        return None
    # Orders may go on from piece to piece.
    plain = (piece.replace(SEPARATOR, " ") for piece, _ in pieces)
    folded = fold(f" \n. {SEPARATOR}".join(plain)).replace(SEPARATOR, _CROSSED).encode()
    orders = (hit for _, hit in FoldedText(folded).orders(own_names))
    hit = command_in(folded) or next(orders, None) or weak_order_in(folded)
    return None if hit is None else Hit(hit.words, pieces[folded.count(_CROSSED.encode(), 0, hit.start)][1])
