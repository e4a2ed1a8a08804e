"""Columns of a recursive query that count its steps, so that `repeat('  ', depth)` can draw a tree. Pure.

    WITH RECURSIVE tree AS (SELECT id, 0 AS depth FROM c UNION ALL SELECT c.id, depth + 1 FROM c, tree …)

Such a column begins with a written-out number and grows by one in each step, so that it is as large as the
recursion is deep. How deep that is the engine's limits decide, as for a text that grows in each step. A
column is one of these only when nothing else can be meant by its name: one WITH in the query, and each
branch and each query that names the column takes it from the recursive query itself.
"""

from dataclasses import dataclass

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Token, TokenKind
from callgate.sql.guard.verbs import skip_group

# What stands for a counter in an expression whose size is looked for. No lexer makes such a number.
COUNTER = "<counter>"
# A tree is not deeper; 10,000 characters are left for what is drawn.
MOST_STEPS = 1_000

_LARGEST_START = 100
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
_ENDS_FROM = frozenset(
    {"WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR", "UNION", "EXCEPT"}
    | {"INTERSECT", "QUALIFY", "SELECT"}
)
_BEHIND_TABLE = _ENDS_FROM | {"JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "ON", "USING"}
# Joins behind which a bare name may be another table's.
_MERGING = frozenset({"NATURAL", "USING", "SEMI", "ANTI", "POSITIONAL"})


@dataclass(frozen=True, slots=True)
class Counters:
    """The counting columns of one recursive query."""

    name: str
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class Scope:
    """How one query may name them: `t.depth`, and `depth` where it reads the recursive query once.

    Of two columns of one name engines say that they cannot tell which is meant, but where a join merges them.
    """

    columns: frozenset[str]
    names: frozenset[str]
    may_be_bare: bool

    def with_counters(self, tokens: Tokens) -> Tokens:
        """The expression, with COUNTER in place of each."""
        found: list[Token] = []
        at = 0
        while at < len(tokens):
            behind = self.behind_counter(tokens, at)
            token = tokens[at]
            is_other = behind == at
            found.append(token if is_other else Token(TokenKind.NUMBER, COUNTER, token.start))
            at = at + 1 if is_other else behind
        return tuple(found)

    def behind_counter(self, tokens: Tokens, at: int) -> int:
        """Where the name of one that begins at `at` ends; `at` itself: none begins there."""
        if at and tokens[at - 1].is_operator("."):
            return at
        is_qualified = _is_name(tokens, at) and _is(tokens, at + 1, ".")
        if is_qualified:
            is_known, column = tokens[at].name in self.names, at + 2
        else:
            is_known, column = self.may_be_bare, at
        is_counter = is_known and _is_name(tokens, column) and tokens[column].name in self.columns
        is_whole = not _is(tokens, column + 1, ".") and not _is(tokens, column + 1, "(")
        return column + 1 if is_counter and is_whole else at


NOWHERE = Scope(frozenset(), frozenset(), may_be_bare=False)


def may_count(tokens: Tokens) -> bool:
    """Whether a whole statement can have any."""
    # DuckDB: `lambda depth: …`, `depth -> …` and `[… FOR depth IN …]` mean another one by the name.
    return any(token.word == "RECURSIVE" for token in tokens) and not any(
        token.word in ("LAMBDA", "FOR") or token.is_operator("->") for token in tokens
    )


def counters_of(tokens: Tokens) -> tuple[Counters, ...]:
    """Of a query from its WITH to its end, also within another statement. Its names are the nearest, so what
    the statement around it means by them does not matter. A second WITH within it could mean others."""
    if [token.word for token in tokens[:2]] != ["WITH", "RECURSIVE"]:
        return ()
    if sum(token.word == "WITH" for token in tokens) != 1:
        return ()
    found: list[Counters] = []
    at = 2
    while _is_name(tokens, at):
        listed = skip_group(tokens, at + 1)
        body = listed + 1
        if listed >= len(tokens) or tokens[listed].word != "AS" or not _is(tokens, body, "("):
            break
        end = skip_group(tokens, body)
        columns = _items(tokens[at + 2 : listed - 1]) if listed > at + 1 else []
        inside = tokens[body + 1 : end - 1]
        found.append(_read(tokens[at].name, [column[0].name for column in columns if column], inside))
        if not _is(tokens, end, ","):
            break
        at = end + 1
    return tuple(one for one in found if one.columns)


def scope_of(tokens: Tokens, select: int, counters: tuple[Counters, ...]) -> Scope:
    """Of the query whose SELECT stands at `select`."""
    if not counters:
        return NOWHERE
    at = _next_word(tokens, select + 1, "FROM", _ENDS_FROM)
    by_name = {one.name: one for one in counters}
    columns: frozenset[str] = frozenset()
    names: set[str] = set()
    merging = 0
    while at < len(tokens) and tokens[at].word not in _ENDS_FROM:
        token = tokens[at]
        merging += token.word in _MERGING
        if token.word not in ("FROM", "JOIN") and not token.is_operator(","):
            at = max(at + 1, skip_group(tokens, at))
            continue
        known = by_name.get(tokens[at + 1].name) if _is_name(tokens, at + 1) else None
        alias, at = _alias_of(tokens, at + 1)
        if known is None or alias is None:
            continue
        if names:
            return NOWHERE
        columns = known.columns
        names.add(alias)
    # `2000000000 AS depth`: some engines take the name for that in other clauses.
    columns -= {name for item in _items_of(tokens[select:]) for name in _renamed(item)}
    return Scope(columns, frozenset(names), may_be_bare=not merging)


def _renamed(item: Tokens) -> list[str]:
    """Names that an item of a SELECT gives: `a + 1 AS b`, `a b`, DuckDB's `b: a`."""
    is_column = len(item) == 1 or (len(item) == 3 and item[1].is_operator("."))
    names = [item[-1].name] if item and not is_column else []
    return [*names, item[0].name] if _is(item, 1, ":") else names


def _alias_of(tokens: Tokens, at: int) -> tuple[str | None, int]:
    """What a table of one name is called in its query, and where that ends. None: no plain table."""
    if not _is_name(tokens, at) or _is(tokens, at + 1, ".") or _is(tokens, at + 1, "("):
        return None, max(at + 1, skip_group(tokens, at))
    name, behind = tokens[at].name, at + 1
    if behind < len(tokens) and tokens[behind].word == "AS":
        behind += 1
    if _is_name(tokens, behind) and tokens[behind].word not in _BEHIND_TABLE:
        name, behind = tokens[behind].name, behind + 1
    # `tree AS t (depth)` gives its columns other names.
    return (None if _is(tokens, behind, "(") else name), behind


def _read(name: str, columns: list[str], body: Tokens) -> Counters:
    """`body`: SELECT … UNION [ALL] SELECT …"""
    branches = _branches(body)
    if len(branches) < 2:
        return Counters(name, frozenset())
    first = _items_of(branches[0])
    names = columns or [item[-1].name if item else "" for item in first]
    counting: set[str] = set()
    for place, column in enumerate(names):
        # Right behind SELECT the guard does not see which number it is (`guard.shapes`).
        if place == 0 or not column or names.count(column) != 1 or place >= len(first):
            continue
        start = first[place] if columns else first[place][:-2]
        is_named = bool(columns) or (len(first[place]) == 3 and first[place][1].word == "AS")
        if not is_named or not _is_start(start) or (columns and _has_star(first[:place])):
            continue
        own = (Counters(name, frozenset({column})),)
        if all(_counts(branch, first, place, own) for branch in branches[1:]):
            counting.add(column)
    return Counters(name, frozenset(counting))


def _counts(branch: Tokens, first: list[Tokens], place: int, own: tuple[Counters, ...]) -> bool:
    """Whether a further branch has `depth + 1` where the first has the start."""
    items = _items_of(branch)
    from_end = len(first) - place
    if not _has_star(first[:place]) and not _has_star(items[:place]) and place < len(items):
        item = items[place]
    elif not _has_star(first[place:]) and not _has_star(items[-from_end:]) and from_end <= len(items):
        item = items[-from_end]
    else:
        return False
    if len(item) > 2 and item[-2].word == "AS":
        item = item[:-2]
    scope = scope_of(branch, 0, own)
    counted = scope.with_counters(item)
    return [token.text for token in counted] in ([COUNTER, "+", "1"], ["1", "+", COUNTER])


def _branches(body: Tokens) -> list[Tokens]:
    """The queries of a UNION, each from its SELECT on; none when it is anything else."""
    found: list[Tokens] = []
    begin = at = 0
    while at <= len(body):
        if at == len(body) or body[at].word == "UNION":
            if begin >= len(body) or body[begin].word != "SELECT":
                return []
            found.append(body[begin:at])
            begin = at + 1
            if begin < len(body) and body[begin].word in ("ALL", "DISTINCT"):
                begin += 1
        elif body[at].word in ("INTERSECT", "EXCEPT"):
            return []
        at = max(at + 1, skip_group(body, at)) if at < len(body) else at + 1
    return found


def _items_of(query: Tokens) -> list[Tokens]:
    """What stands between SELECT and FROM."""
    return _items(query[1 : _next_word(query, 1, "FROM", _ENDS_FROM)])


def _items(tokens: Tokens) -> list[Tokens]:
    found: list[Tokens] = []
    begin = at = 0
    depth = 0
    while at < len(tokens):
        depth += (tokens[at].text in ("(", "[", "{")) - (tokens[at].text in (")", "]", "}"))
        if depth == 0 and tokens[at].is_operator(","):
            found.append(tokens[begin:at])
            begin = at + 1
        at += 1
    return [*found, tokens[begin:]]


def _is_start(tokens: Tokens) -> bool:
    is_number = len(tokens) == 1 and tokens[0].kind is TokenKind.NUMBER and tokens[0].text.isdecimal()
    return is_number and len(tokens[0].text) < 4 and int(tokens[0].text) <= _LARGEST_START


def _has_star(items: list[Tokens]) -> bool:
    return any(item and (item[-1].is_operator("*") or item[0].word == "COLUMNS") for item in items)


def _next_word(tokens: Tokens, at: int, word: str, ends: frozenset[str]) -> int:
    """Where it stands outside of parentheses; the end, when something of `ends` comes first."""
    while at < len(tokens) and tokens[at].word != word:
        if tokens[at].word in ends:
            return len(tokens)
        at = max(at + 1, skip_group(tokens, at))
    return min(at, len(tokens))


def _is_name(tokens: Tokens, at: int) -> bool:
    return at < len(tokens) and tokens[at].kind in _NAMES


def _is(tokens: Tokens, at: int, sign: str) -> bool:
    return at < len(tokens) and tokens[at].is_operator(sign)
