"""How much a call makes must be small, and written out or bounded here. Pure.

`repeat('x', 2000000000)`, `lpad`, `printf('%.*c', …)` and functions that build lists make as much as a number
tells them, within one call that looks at no interrupt: the worker is gone for minutes, and memory with it.
Sizes multiply where one such call feeds another, in the same expression or through a subquery. A recursive
query can still double a text as often as it likes: that is left to the engine's own limits, and so is how far
its steps are counted (`guard.counters`).
"""

import re
from dataclasses import dataclass

from callgate.model.verdict import Deny
from callgate.sql.guard import refusals
from callgate.sql.guard.bounds import Bound, arguments_of, bound_of
from callgate.sql.guard.counters import NOWHERE, Counters, counters_of, may_count, scope_of
from callgate.sql.guard.dialect import FormatStyle, Sized, Tokens
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import TokenKind
from callgate.sql.guard.verbs import skip_group

# A cell shows 8,192 bytes of a value, and nobody reads a line of 10,000 characters.
MAX_COUNT = 10_000
# Of calls that feed one another: 100 KB a value, 200 MB in the 2,048 rows that DuckDB works on at once.
MAX_TOGETHER = 100_000

_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE"})
# Clauses of a query, and whether a call there stands for a table.
_CLAUSES = {
    **dict.fromkeys(("FROM", "JOIN", "LATERAL", "INTO"), True),
    **dict.fromkeys(("SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "ON", "QUALIFY", "LIMIT"), False),
}
# Put one argument in many places of another.
_MULTIPLYING = frozenset(
    {"replace", "regexp_replace", "array_to_string", "list_transform", "array_transform"}
    | {"list_apply", "array_apply", "apply", "translate"}
)
# Of the words for a size only those that are no conversion anywhere: SQLite has %q, %w and %z.
_PRINTF = re.compile(
    r"%(?P<position>\d+\$)?[-+ #0,!']*(?P<width>\*|\d+)?(?P<taken>\d*\$)?"
    r"(?:\.(?P<precision>\*|\d+)?)?(?:hh|h|ll|l)?(?P<kind>.)?",
    re.DOTALL,
)
_BRACES = re.compile(r"\{[^{}]*\}")
_DIGITS = re.compile(r"\d+")
_TAKES_NOTHING = "%n"  # SQLite's %n takes no argument


class _TooMuch(Exception):  # noqa: N818 - ends the search
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def check_sizes(tokens: Tokens, policy: Policy) -> Deny | None:
    vocabulary = policy.dialect.vocabulary
    watched = (
        vocabulary.sized_functions.keys() | vocabulary.format_functions.keys() | vocabulary.series_functions
    )
    if not any(token.name in watched for token in tokens):
        return None
    try:
        together = _Search(policy, tokens).made(tokens)
    except _TooMuch as found:
        return refusals.size(found.name, MAX_COUNT, policy)
    return refusals.sizes_together(MAX_TOGETHER) if together > MAX_TOGETHER else None


class _Search:
    def __init__(self, policy: Policy, tokens: Tokens) -> None:
        """`tokens`: the whole statement."""
        self._vocabulary = policy.dialect.vocabulary
        self._may_count = may_count(tokens)
        self._counters: tuple[Counters, ...] = ()  # of the WITH that is looked at
        self._scope = NOWHERE  # of the query that is looked at

    def made(self, tokens: Tokens) -> float:
        """By how much a value can grow here at most."""
        around = self._counters
        largest = of_queries = 1.0
        clause = False
        at = 0
        while at < len(tokens):
            clause = _CLAUSES.get(tokens[at].word, clause)
            if self._may_count and tokens[at].word == "WITH":
                self._counters = counters_of(tokens[at:])
            elif self._counters and tokens[at].word == "SELECT":
                self._scope = scope_of(tokens, at, self._counters)
            opening = at + 1 if at + 1 < len(tokens) and tokens[at + 1].is_operator("(") else at
            end = skip_group(tokens, opening)
            if end == opening or (opening > at and tokens[at].kind is TokenKind.OPERATOR):
                at += 1
                continue
            inside = tokens[opening + 1 : end - 1]
            if inside and inside[0].word in _QUERIES:
                outer, self._scope = self._scope, NOWHERE
                of_queries *= self.made(inside)
                self._scope = outer
            elif opening > at and tokens[at].name:
                largest = max(largest, self._call(tokens, at, is_table=clause))
            else:
                largest = max(largest, self.made(inside))
            at = end
        self._counters = around
        return largest * of_queries

    def _call(self, tokens: Tokens, at: int, *, is_table: bool) -> float:
        vocabulary = self._vocabulary
        name = tokens[at].name
        arguments = arguments_of(tokens, at + 1)
        # `x.repeat(5)`: what stands before the dot is the first argument.
        is_method = vocabulary.calls_methods and at > 0 and tokens[at - 1].is_operator(".")
        before = 1 if is_method else 0
        grown = [self.made(argument) for argument in arguments]
        inside = max(grown, default=1.0)
        arguments = [self._scope.with_counters(argument) for argument in arguments]
        if (sized := vocabulary.sized_functions.get(name)) is not None:
            count = self._count(name, sized, arguments, before)
            return count * inside if sized.multiplies else max(count, inside)
        style = vocabulary.format_functions.get(name)
        is_series = name in vocabulary.series_functions and not is_table
        if is_method and (style is not None or is_series):
            raise _TooMuch(name)  # its format or its start stands somewhere before
        if style is not None:
            return max(self._format(name, style, arguments), inside)
        if is_series:
            return max(self._series(name, arguments), inside)
        if name in _MULTIPLYING:
            product = 1.0
            for factor in grown:
                product *= factor
            return product
        return inside

    def _count(self, name: str, sized: Sized, arguments: list[Tokens], before: int) -> float:
        place = sized.place - before
        if not 0 <= place < len(arguments):
            if place >= 0 and sized.is_optional:
                return 1.0
            raise _TooMuch(name)
        count = _array_size(arguments[place]) if sized.of_array else bound_of(arguments[place])
        if sized.multiplies and count.lengths and not _is_text(arguments[0]):
            raise _TooMuch(name)  # repeat(x, length(x)): the square of what is there
        return _small(name, count)

    def _format(self, name: str, style: FormatStyle, arguments: list[Tokens]) -> float:
        text = _written_text(arguments[0]) if arguments else ""
        widths: _Widths | None = None
        if text is not None:
            widths = _brace_widths(text) if style is FormatStyle.BRACES else _printf_widths(text)
        if widths is None or widths.written > MAX_COUNT:
            raise _TooMuch(name)
        largest = float(widths.written)
        for place in widths.arguments:
            bound = bound_of(arguments[place + 1]) if place + 1 < len(arguments) else Bound(0, 0)
            # A negative width is one to the other side.
            mirrored = Bound(high=-bound.low if bound.low is not None else None)
            largest = max(largest, _small(name, bound), _small(name, mirrored))
        return largest

    def _series(self, name: str, arguments: list[Tokens]) -> float:
        """From … to …, in steps. Days and hours are left to the engine's memory limit, which counts lists."""
        if any(token.word == "INTERVAL" for argument in arguments for token in argument):
            return 1.0
        bounds = [bound_of(argument) for argument in arguments]
        start = bounds[0].low if len(bounds) > 1 else 0.0
        stop = bounds[1 if len(bounds) > 1 else 0].high if bounds else None
        if start is None or stop is None:
            raise _TooMuch(name)
        return _small(name, Bound(high=abs(stop - start)))


def _small(name: str, count: Bound) -> float:
    if count.high is None or count.high > MAX_COUNT or count.lengths > 1:
        raise _TooMuch(name)
    return max(count.high, 1.0)


def _array_size(tokens: Tokens) -> Bound:
    """`ARRAY[3, 4]`: twelve elements."""
    if len(tokens) < 3 or tokens[0].word != "ARRAY" or not tokens[1].is_operator("["):
        return Bound()
    size = Bound(1, 1)
    for token in tokens[2:-1]:
        if token.kind is TokenKind.NUMBER and size.high is not None:
            number = bound_of((token,)).high
            size = Bound(high=None if number is None else size.high * number)
        elif not token.is_operator(","):
            return Bound()
    return size


def _is_text(tokens: Tokens) -> bool:
    return len(tokens) == 1 and tokens[0].kind is TokenKind.STRING


def _written_text(tokens: Tokens) -> str | None:
    """`'%d' || ' of ' || '%d'`; None when part of it is not written out."""
    parts = tokens[::2]
    joined = all(token.is_operator("||") for token in tokens[1::2])
    if not joined or len(tokens) % 2 == 0 or not all(token.kind is TokenKind.STRING for token in parts):
        return None
    texts = [_plain_text(token.text) for token in parts]
    return None if None in texts else "".join(filter(None, texts))


def _plain_text(text: str) -> str | None:
    """Of 'a text' without escapes; E'…' and a text in two parts, '2000' '000000', are none."""
    inside = text[1:-1].replace("''", "")
    return inside if text[0] == "'" and "'" not in inside else None


@dataclass(frozen=True, slots=True)
class _Widths:
    """Widths and precisions in a format text: `%8.2f`, `%-*s`, `{:>20}`.

    They say how much a call makes, as a count does: `printf('%.*c', 2147483647, 'x')` writes two gigabytes,
    or counts that far. Written-out ones are read from the text; `*` takes the next argument, whose place is
    told.
    """

    written: int = 0  # the largest in the text
    arguments: tuple[int, ...] = ()  # which arguments are widths, from 0, the text itself not counted


def _printf_widths(text: str) -> _Widths | None:
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
    return None if taken and has_positions else _Widths(largest, tuple(taken))


def _brace_widths(text: str) -> _Widths | None:
    """`{:>20}`, `{0:8.2f}`; None for `{:{}}`, whose width is an argument."""
    plain = text.replace("{{", "").replace("}}", "")
    left_over = _BRACES.sub("", plain)
    if "{" in left_over or "}" in left_over:
        return None
    numbers = [_number(number) for found in _BRACES.findall(plain) for number in _DIGITS.findall(found)]
    return _Widths(max(numbers, default=0))


def _number(digits: str) -> int:
    # Longer ones are large enough, and Python takes its time to read thousands of digits.
    return int(digits) if len(digits) < 19 else 10**19
