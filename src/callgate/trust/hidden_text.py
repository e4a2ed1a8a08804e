"""Text that a page or a terminal does not show: comments, and what is far below or to the right. Pure.

It is a finding where it gives an order, and a weak one is enough: nobody hides what is meant for people.
"""

from collections.abc import Iterator
from functools import cache
from itertools import islice

from callgate.trust.definition_texts import BETWEEN, number_of
from callgate.trust.fold_text import fold
from callgate.trust.gap_rules import GapRule, GapRules
from callgate.trust.re2_rules import Hit, Rule

# What each needs, how it is found inside of one string, and more than any honest definition has.
_HIDDEN = (
    (b"<!--", 24, r"<!--[^\x1e]+?-->"),
    (b"\n", 24, r"(?:\n[ \t\r]*){30,}[^\s\x1e][^\x1e]*"),
    (b" " * 16, 24, r" [ \t]{199,}[^\s\x1e][^\x1e]*"),
    (b"\t", 24, r"\t[ \t]{199,}[^\s\x1e][^\x1e]*"),
    (
        b"<",
        8,
        (
            r"(?i)<(?:span|div|p|font)[^>\x1e]*(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|"
            r"opacity:\s*0|"
            r"color:\s*(?:white|#fff|transparent))[^>\x1e]*>[^\x1e][^<\x1e]*"
        ),
    ),
    (b"]:", 24, r"\[(?://|comment)\]:\s*#\s*[\"(][^\x1e]+?[\")]"),
)
# Two words, the second not far behind the first.
_WEAK_ORDERS = (
    (
        r"\b(?:you|assistant|model|llm|agent|ai)\b",
        (
            r"[^.\n]{0,40}\b(?:must|should|always|never|need to|have to|do not|call|read|send|include|pass|"
            r"run|execute|are now|will)\b"
        ),
    ),
    (
        r"\b(?:always|never|must|do not|first|please|secretly|instead|before|after)\b",
        (
            r"[^.\n]{0,20}\b(?:call|read|send|include|pass|forward|run|execute|use|tell|reveal|copy|upload|"
            r"fetch|open|add|append|delete|write)\b"
        ),
    ),
    (
        r"(?:必须|不要|总是|请先|调用|読|必ず|しないで|immer|niemals|jamais|toujours|siempre|nunca|sempre|всегда|никогда)",
        "",
    ),
)


@cache
def _places() -> tuple[tuple[bytes, int, Rule], ...]:
    return tuple((sign, most, Rule(pattern)) for sign, most, pattern in _HIDDEN)


@cache
def _weak_orders() -> GapRules:
    return GapRules([GapRule("weak", first, first + second) for first, second in _WEAK_ORDERS])


def weak_order_in(folded: bytes) -> Hit | None:
    """Raises TooManyPlacesError."""
    return _weak_orders().first_found(folded)


def hidden_orders(written: bytes) -> Iterator[Hit]:
    for sign, most, rule in _places():
        # Far cheaper than the rule; one byte is looked for faster than several.
        if sign[:1] not in written or sign not in written:
            continue
        places = list(islice(rule.spans(written), most + 1))
        if not places:
            continue
        if len(places) > most:
            yield Hit("too many hidden places", places[-1][0])
            return
        told = (written[start:stop].decode(errors="replace") for start, stop in places)
        hidden = fold(BETWEEN.join(told)).encode()
        if (found := weak_order_in(hidden)) is not None:
            yield Hit(found.words, places[number_of(hidden, found.start)][0])
            return
