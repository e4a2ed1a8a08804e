"""Text that a page or a terminal does not show: comments, and what is far below or to the right. Pure.

It is a finding where it gives an order, and a weak one is enough: nobody hides what is meant for people.
"""

from collections.abc import Collection, Iterator
from functools import cache
from itertools import islice

from callgate.trust.definition_texts import BETWEEN, number_of
from callgate.trust.fold_text import fold
from callgate.trust.gap_rules import GapRule, GapRules
from callgate.trust.re2_rules import Hit, Rule

# How each begins, how it is found inside of one string, and more than any honest definition has.
_HIDDEN = {
    "comment": (r"<!--", r"<!--[^\x1e]+?-->", 24),
    "below": (r"(?:\n[ \t\r]*){30}", r"(?:\n[ \t\r]*){30,}[^\s\x1e][^\x1e]*", 24),
    "to_the_right": (r"[ \t]{200}", r"[ \t]{200,}[^\s\x1e][^\x1e]*", 24),
    "element": (
        r"(?i)<(?:span|div|p|font)",
        (
            r"(?i)<(?:span|div|p|font)[^>\x1e]*(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|"
            r"opacity:\s*0|"
            r"color:\s*(?:white|#fff|transparent))[^>\x1e]*>[^\x1e][^<\x1e]*"
        ),
        8,
    ),
    "markdown": (r"\[(?://|comment)\]:", r"\[(?://|comment)\]:\s*#\s*[\"(][^\x1e]+?[\")]", 24),
}
# For whoever looks for them and for more in one pass.
BEGINNINGS = {name: begins for name, (begins, _, _) in _HIDDEN.items()}
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
def _rule(name: str) -> Rule:
    return Rule(_HIDDEN[name][1])


@cache
def _weak_orders() -> GapRules:
    return GapRules([GapRule("weak", first, first + second) for first, second in _WEAK_ORDERS])


def weak_order_in(folded: bytes) -> Hit | None:
    """Raises TooManyPlacesError."""
    return _weak_orders().first_found(folded)


def hidden_orders(written: bytes, begun: Collection[str]) -> Iterator[Hit]:
    """`begun`: which of `BEGINNINGS` it has."""
    for name, (_, _, most) in _HIDDEN.items():
        if name not in begun:
            continue
        places = list(islice(_rule(name).spans(written), most + 1))
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
