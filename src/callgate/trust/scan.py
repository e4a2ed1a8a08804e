"""What is wrong with a definition, by what it says: two tiers. Pure, offline, the same for the same bytes.

*Holding* findings are what no honest definition needs: text that is hidden from people, and orders to the
model about other servers' tools, silence towards the user, files of secrets and what was said. *Shown* ones
are only told. Looked at: every string, names of properties too.

Rules
1. Total: what cannot be read (too deep, too long, a name given twice) is a holding finding, never an error.
2. Time is bounded by the length of the text, and the text by `MAX_TEXT_CHARS`. Every pattern is RE2's.
3. Short strings are looked at together, for each look has its price; only where something is found it is
   looked for which of them it is in. What is between two of them (`_BETWEEN`) ends every sentence and word.
4. This is a net for known words, no proof: who words an order in a new way passes. `hold` and the lock are
   what stops a change that nobody looked at.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, repeat
from typing import Any, cast

from callgate.model.trust import Flaw
from callgate.model.wording import clip
from callgate.trust.canonical import UnreadableError, read_definition
from callgate.trust.encoded import MAX_PIECES, command_in, decoded_pieces, runs_encoded
from callgate.trust.fold_text import fold
from callgate.trust.hidden_text import hidden_orders, weak_order_in
from callgate.trust.orders import orders_in, without_citations
from callgate.trust.re2_rules import Rule, any_of
from callgate.trust.unseen import mixed_word, unseen_in

# Of all strings of one definition. The longest that we met has 20,000.
MAX_TEXT_CHARS = 64 * 1024
_LONG_CHARS = 8_000
_MAX_SHOWN_CHARS = 120
_MAX_TOGETHER_CHARS = 1_200
_BETWEEN = "\n.\n"
# Of a definition, of each tier. The rest of what is only shown is not told, and what holds once is held.
_MAX_PLACES = 8
# Names of members that are shorter have no room for an order.
_MIN_NAME_CHARS = 12

# Where a string is: where its parent is, and the last part of the way. Most are never written out.
Place = tuple["Place | None", str | int]
Text = tuple[Place | None, str]

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
_LOUD = (
    r"\b(?:IMPORTANT|CRITICAL|MANDATORY|WARNING|ATTENTION|MUST|NEVER|ALWAYS)\b|<(?i:important|system|"
    r"instructions?|critical)>|<\|im_start\|>|\[/?INST\]"
)


@cache
def _rules() -> dict[str, Rule]:
    return {
        "imperative": any_of(*_IMPERATIVE),
        "loud": Rule(_LOUD),
        "address": Rule(r"(?i)\bhttps?://[^\s\"'<>)]{3,200}"),
        "command": Rule(r"(?i)\bcurl [^\n]{0,200}\|\s*(?:sudo )?(?:ba)?sh\b|\brm -rf /|\bchmod 777\b"),
    }


def scan(definition: bytes, own_names: frozenset[str] = frozenset()) -> tuple[Flaw, ...]:
    """All findings, the holding ones first. `own_names`: of the tools and prompts of the same server."""
    try:
        read = read_definition(definition)
    except UnreadableError as problem:
        return (_flaw("unreadable", "", str(problem)),)
    return scan_value(read, own_names)


def scan_value(read: Any, own_names: frozenset[str] = frozenset()) -> tuple[Flaw, ...]:
    texts = list(_strings(read))
    if sum(len(text) for _, text in texts) > MAX_TEXT_CHARS:
        return (_flaw("unreadable", "", f"more than {MAX_TEXT_CHARS:,} characters of text"),)
    names = _lowered(own_names)
    found: dict[tuple[str, str], Flaw] = {}
    left = {True: _MAX_PLACES, False: _MAX_PLACES}
    for group in _groups(texts):
        for place, text in _flawed(group, names, left):
            where = _written(place)
            told = list(_look(where in ("name", "title"), text, names))
            for holds in {kind in HOLDING for kind, _ in told}:
                left[holds] -= 1
            for kind, excerpt in told:
                found.setdefault((kind, where), _flaw(kind, where, clip(excerpt, _MAX_SHOWN_CHARS)))
    for kind, excerpt in _across(texts, names):
        if not any(known == kind for known, _ in found):
            found[kind, ""] = _flaw(kind, "", clip(excerpt, _MAX_SHOWN_CHARS))
    return tuple(sorted(found.values(), key=lambda one: (not one.holds, one.kind, one.where)))


@lru_cache(maxsize=64)
def _lowered(names: frozenset[str]) -> frozenset[str]:
    """Once for a server's whole list: each of its definitions asks for the same names."""
    return frozenset(name.lower() for name in names)


def _strings(value: Any) -> Iterator[Text]:
    """Every string in its order, with its place; names of members count as strings of that place."""
    rest: list[tuple[Place | None, Any]] = [(None, value)]
    while rest:
        place, one = rest.pop()
        if isinstance(one, str):
            yield place, one
        elif isinstance(one, dict):
            members = cast("dict[str, Any]", one)
            places = [(place, name) for name in members]
            for inner in places:
                if len(inner[1]) >= _MIN_NAME_CHARS or not (inner[1].isascii() and inner[1].isalnum()):
                    yield inner, inner[1]
            rest.extend(reversed([*zip(places, members.values(), strict=True)]))
        elif isinstance(one, list):
            listed = cast("list[Any]", one)
            placed = zip(zip(repeat(place), range(len(listed))), listed, strict=True)
            if all(type(member) is str for member in listed):  # an `enum`: it may have thousands
                yield from cast("Iterator[Text]", placed)
            else:
                rest.extend(reversed([one for one in placed if one[1]]))  # not what is empty


def _written(place: Place | None) -> str:
    parts: list[str] = []
    while place is not None:
        place, part = place
        parts.append(f"[{part}]" if isinstance(part, int) else f".{part}")
    return "".join(reversed(parts)).removeprefix(".")


def _groups(texts: Sequence[Text]) -> Iterator[list[Text]]:
    group: list[Text] = []
    chars = 0
    for one in texts:
        chars += len(one[1])
        if group and chars > _MAX_TOGETHER_CHARS:
            yield group
            group, chars = [], len(one[1])
        group.append(one)
    if group:
        yield group


def _flawed(group: Sequence[Text], own_names: Collection[str], left: dict[bool, int]) -> Iterator[Text]:
    """Those in which something may be found, as long as there is something `left` to tell of its tier."""
    if len(group) > 1:
        together = _BETWEEN.join(text for _, text in group)
        if not any(left[kind in HOLDING] > 0 for kind, _ in _look(False, together, own_names)):
            return
        half = len(group) // 2
        yield from _flawed(group[:half], own_names, left)
        yield from _flawed(group[half:], own_names, left)
    elif group:
        yield group[0]


def _look(is_name: bool, text: str, own_names: Collection[str]) -> Iterator[tuple[str, str]]:
    yield from unseen_in(text)
    if mixed := mixed_word(text):
        yield "lookalike" if is_name else "mixed", mixed
    if len(text) < 4:
        return
    written = text.encode(errors="surrogatepass")
    folded = _folded(without_citations(written))
    yield from orders_in(folded, own_names)
    yield from _encoded(written, own_names)
    for found in hidden_orders(written):
        yield "hidden", found
    if len(text) > _LONG_CHARS:
        yield "long", f"{len(text):,} characters"
    rules = _rules()
    shown = [("imperative", folded), ("loud", written)]
    if b"://" in written:
        shown.append(("address", written))
    if any(word in folded for word in (b"curl", b"rm -rf", b"chmod")):
        shown.append(("command", written))
    for kind, read in shown:
        if (found := rules[kind].found(read)) is not None:
            yield kind, found


def _folded(uncited: bytes) -> bytes:
    return fold(uncited.decode(errors="replace")).encode()


def _encoded(written: bytes, own_names: Collection[str]) -> Iterator[tuple[str, str]]:
    if (found := runs_encoded(written)) is not None:
        yield "encoded", found
    pieces = list(islice(decoded_pieces(written), MAX_PIECES + 1))
    if len(pieces) > MAX_PIECES:
        yield "encoded", "too many encoded pieces"
    elif pieces:
        folded = fold(" \n. ".join(pieces)).encode()
        hit = command_in(folded) or next((words for _, words in orders_in(folded, own_names)), None)
        if (hit := hit or weak_order_in(folded)) is not None:
            yield "encoded", hit


def _across(texts: Sequence[Text], own_names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Orders that are cut into pieces, over the descriptions in their order."""
    said = [text for place, text in texts if place is not None and place[1] in ("description", "title")]
    if len(said) > 1:
        uncited = (without_citations(text.encode(errors="surrogatepass")) for text in said)
        yield from orders_in(_folded(b" ".join(uncited)), own_names)
