"""What is wrong with a definition, by what it says: two tiers. Pure, offline, the same for the same bytes.

*Holding* findings are what no honest definition needs: text that is hidden from people, and orders to the
model about other servers' tools, silence towards the user, files of secrets and what was said. *Shown* ones
are only told. Looked at: every string, names of properties too.

Rules
1. Total: what cannot be read (too deep, too long, a name given twice) is a holding finding, never an error.
2. Time is bounded by the length of the text, and the text by `MAX_TEXT_CHARS`. Every pattern is RE2's.
3. This is a net for known words, no proof: who words an order in a new way passes. `hold` and the lock are
   what stops a change that nobody looked at.
"""

import unicodedata
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import Any, cast

from callgate.model.trust import Flaw
from callgate.model.wording import clip
from callgate.trust.canonical import UnreadableError, read_definition
from callgate.trust.encoded import command_in, decoded_pieces, runs_encoded
from callgate.trust.fold_text import fold
from callgate.trust.orders import orders_in, without_citations
from callgate.trust.re2_rules import Rule, any_of
from callgate.trust.unseen import unseen_in

# Of all strings of one definition. The longest that we met has 20,000.
MAX_TEXT_CHARS = 64 * 1024
_LONG_CHARS = 8_000
_MAX_SHOWN_CHARS = 120
_MAX_DECODED = 16
# Alphabets with letters that look like Latin ones.
_ALIKE = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})

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


# What each needs, and how it is found.
_HIDDEN = (
    (b"<!--", r"(?s)<!--(.+?)-->"),
    (b"\n", r"(?s)(?:\n[ \t\r]*){30,}(\S.*)"),
    (b"  ", r"(?s) [ \t]{199,}(\S.*)"),
    (b"\t", r"(?s)\t[ \t]{199,}(\S.*)"),
    (
        b"<",
        (
            r"(?is)<(?:span|div|p|font)[^>]{0,200}(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|"
            r"opacity:\s*0|"
            r"color:\s*(?:white|#fff|transparent))[^>]{0,200}>(.+?)<"
        ),
    ),
    (b"]:", r"(?s)\[(?://|comment)\]:\s*#\s*[\"(](.+?)[\")]"),
)
_WEAK_ORDER = (
    (
        r"\b(?:you|assistant|model|llm|agent|ai)\b[^.\n]{0,40}\b(?:must|should|always|never|need to|have "
        r"to|do not|call|read|send|"
        r"include|pass|run|execute|are now|will)\b"
    ),
    (
        r"\b(?:always|never|must|do not|first|please|secretly|instead|before|"
        r"after)\b[^.\n]{0,20}\b(?:call|read|send|include|pass|"
        r"forward|run|execute|use|tell|reveal|copy|upload|fetch|open|add|append|delete|write)\b"
    ),
    r"(?:必须|不要|总是|请先|调用|読|必ず|しないで|immer|niemals|jamais|toujours|siempre|nunca|sempre|всегда|никогда)",
)
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
        "hidden": any_of(*_WEAK_ORDER),
        "imperative": any_of(*_IMPERATIVE),
        "loud": Rule(_LOUD),
        "address": Rule(r"(?i)\bhttps?://[^\s\"'<>)]{3,200}"),
        "command": Rule(r"(?i)\bcurl [^\n]{0,200}\|\s*(?:sudo )?(?:ba)?sh\b|\brm -rf /|\bchmod 777\b"),
    }


@cache
def _hidden() -> tuple[tuple[bytes, Rule], ...]:
    return tuple((sign, Rule(pattern)) for sign, pattern in _HIDDEN)


def scan(definition: bytes, own_names: frozenset[str] = frozenset()) -> tuple[Flaw, ...]:
    """All findings, the holding ones first. `own_names`: of the tools and prompts of the same server."""
    try:
        read = read_definition(definition)
    except UnreadableError as problem:
        return (_flaw("unreadable", "", str(problem)),)
    return scan_value(read, own_names)


def scan_value(read: Any, own_names: frozenset[str] = frozenset()) -> tuple[Flaw, ...]:
    texts = list(_strings(read, ""))
    if sum(len(text) for _, text in texts) > MAX_TEXT_CHARS:
        return (_flaw("unreadable", "", f"more than {MAX_TEXT_CHARS:,} characters of text"),)
    names = _lowered(own_names)
    found: dict[tuple[str, str], Flaw] = {}
    for where, text in texts:
        for kind, excerpt in _look(where, text, names):
            found.setdefault((kind, where), _flaw(kind, where, clip(excerpt, _MAX_SHOWN_CHARS)))
    for kind, excerpt in _across(texts, names):
        if not any(known == kind for known, _ in found):
            found[kind, ""] = _flaw(kind, "", clip(excerpt, _MAX_SHOWN_CHARS))
    return tuple(sorted(found.values(), key=lambda one: (not one.holds, one.kind, one.where)))


@lru_cache(maxsize=64)
def _lowered(names: frozenset[str]) -> frozenset[str]:
    """Once for a server's whole list: each of its definitions asks for the same names."""
    return frozenset(name.lower() for name in names)


def _strings(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every string with its place; names of members count as strings of that place."""
    rest = [(where, value)]
    while rest:
        place, one = rest.pop()
        if isinstance(one, str):
            yield place, one
        elif isinstance(one, dict):
            for name, member in cast("dict[str, Any]", one).items():
                inner = f"{place}.{name}" if place else name
                if not (
                    name.isascii() and name.replace("_", "").replace("-", "").isalnum() and len(name) < 40
                ):
                    yield inner, name
                rest.append((inner, member))
        elif isinstance(one, list):
            members = cast("list[Any]", one)
            rest.extend((f"{place}[{at}]", member) for at, member in enumerate(members))


def _look(where: str, text: str, own_names: Collection[str]) -> Iterator[tuple[str, str]]:
    yield from unseen_in(text)
    if where in ("name", "title") and (mixed := _mixed_word(text)):
        yield "lookalike", mixed
    elif mixed := _mixed_word(text):
        yield "mixed", mixed
    if len(text) < 4:
        return
    written = text.encode(errors="surrogatepass")
    folded = _folded(written)
    yield from orders_in(folded, own_names)
    yield from _encoded(written, own_names)
    yield from _behind(written)
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


def _folded(written: bytes) -> bytes:
    return fold(without_citations(written).decode(errors="replace")).encode()


def _encoded(written: bytes, own_names: Collection[str]) -> Iterator[tuple[str, str]]:
    if (found := runs_encoded(written)) is not None:
        yield "encoded", found
    if plain := " \n. ".join(decoded_pieces(written)):
        folded = fold(plain).encode()
        hit = command_in(folded) or next((words for _, words in orders_in(folded, own_names)), None)
        hit = hit or _rules()["hidden"].found(folded)
        if hit is not None:
            yield "encoded", hit


def _behind(written: bytes) -> Iterator[tuple[str, str]]:
    """Text that a page or a terminal does not show: comments, and what is far below or to the right."""
    for sign, rule in _hidden():
        if sign not in written:  # far cheaper than the rule
            continue
        for number, (hidden, *_) in enumerate(rule.groups(written)):
            if number >= _MAX_DECODED:
                yield "hidden", "too many hidden places"
                return
            if (found := _rules()["hidden"].found(fold(hidden).encode())) is not None:
                yield "hidden", found


def _across(texts: list[tuple[str, str]], own_names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Orders that are cut into pieces, over the descriptions in their order."""
    said = [text for where, text in texts if where.rpartition(".")[2] in ("description", "title")]
    if len(said) > 1:
        written = " ".join(said).encode(errors="surrogatepass")
        yield from orders_in(_folded(written), own_names)


def _mixed_word(text: str) -> str | None:
    """A word with letters of Latin and of Cyrillic or Greek, which look alike."""
    if text.isascii() or _several_alphabets().found(text.encode(errors="replace")) is None:
        return None
    for word in dict.fromkeys(text.split()):
        if word.isascii() or len(word) < 3:
            continue
        scripts = {_script(char) for char in word if char.isalpha()}
        if "LATIN" in scripts and scripts & _ALIKE:
            parts = word.replace("-", " ").replace("/", " ").replace("_", " _ ").split()
            if any(_is_mixed(part) for part in parts) or ("_" in word and _is_mixed(word)):
                return word
    return None


@cache
def _several_alphabets() -> Rule:
    """A word with letters of both, whichever comes first."""
    alike = r"[\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}]"
    return any_of(rf"\p{{Latin}}\S*{alike}", rf"{alike}\S*\p{{Latin}}")


def _is_mixed(word: str) -> bool:
    scripts = {_script(char) for char in word if char.isalpha()}
    latin = sum(_script(char) == "LATIN" for char in word if char.isalpha())
    return "LATIN" in scripts and bool(scripts & _ALIKE) and latin > 1


@cache
def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
