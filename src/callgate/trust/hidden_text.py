"""Text that a page or a terminal does not show: comments, and what is far below or to the right. Pure.

It is a finding where it gives an order, and a weak one is enough: nobody hides what is meant for people.
"""

from collections.abc import Iterator
from functools import cache

from callgate.trust.fold_text import fold
from callgate.trust.re2_rules import Rule, any_of

_MAX_PLACES = 16
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
            r"color:\s*(?:white|#fff|transparent))[^>]{0,200}>(.[^<]*)"
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


@cache
def _places() -> tuple[tuple[bytes, Rule], ...]:
    return tuple((sign, Rule(pattern)) for sign, pattern in _HIDDEN)


@cache
def _weak_order() -> Rule:
    return any_of(*_WEAK_ORDER)


def weak_order_in(folded: bytes) -> str | None:
    return _weak_order().found(folded)


def hidden_orders(written: bytes) -> Iterator[str]:
    for sign, rule in _places():
        if sign not in written:  # far cheaper than the rule
            continue
        for number, (hidden, *_) in enumerate(rule.groups(written)):
            if number >= _MAX_PLACES:
                yield "too many hidden places"
                return
            if (found := weak_order_in(fold(hidden).encode())) is not None:
                yield found
