"""Widths and precisions in a format text: `%8.2f`, `%-*s`, `{:>20}`. Pure.

They say how much a call makes, as a count does: `printf('%.*c', 2147483647, 'x')` writes two gigabytes, or
counts that far. Written-out ones are read from the text; `*` takes the next argument, whose place is told.
"""

import re
from dataclasses import dataclass

# Of the words for a size only those that are no conversion anywhere: SQLite has %q, %w and %z.
_PRINTF = re.compile(
    r"%(?P<position>\d+\$)?[-+ #0,!']*(?P<width>\*|\d+)?(?P<taken>\d*\$)?"
    r"(?:\.(?P<precision>\*|\d+)?)?(?:hh|h|ll|l)?(?P<kind>.)?",
    re.DOTALL,
)
_BRACES = re.compile(r"\{[^{}]*\}")
_DIGITS = re.compile(r"\d+")
_TAKES_NOTHING = "%n"  # SQLite's %n takes no argument


@dataclass(frozen=True, slots=True)
class Widths:
    written: int = 0  # the largest in the text
    arguments: tuple[int, ...] = ()  # which arguments are widths, from 0, the text itself not counted


def printf_widths(text: str) -> Widths | None:
    """None: it takes its arguments by number and a width from among them, which nobody does."""
    largest = 0
    taken: list[int] = []
    next_argument = 0
    has_positions = False
    for match in _PRINTF.finditer(text):
        has_positions = has_positions or match["position"] is not None or match["taken"] not in (None, "")
        for number in (match["width"], match["precision"]):
            if number == "*":
                taken.append(next_argument)
                next_argument += 1
            elif number:
                largest = max(largest, _number(number))
        if match["kind"] and match["kind"] not in _TAKES_NOTHING:
            next_argument += 1
    return None if taken and has_positions else Widths(largest, tuple(taken))


def brace_widths(text: str) -> Widths | None:
    """`{:>20}`, `{0:8.2f}`; None for `{:{}}`, whose width is an argument."""
    plain = text.replace("{{", "").replace("}}", "")
    left_over = _BRACES.sub("", plain)
    if "{" in left_over or "}" in left_over:
        return None
    numbers = [_number(number) for found in _BRACES.findall(plain) for number in _DIGITS.findall(found)]
    return Widths(max(numbers, default=0))


def _number(digits: str) -> int:
    # Longer ones are large enough, and Python takes its time to read thousands of digits.
    return int(digits) if len(digits) < 19 else 10**19
