"""The parser's opinion: sqlglot on one statement, default deny. The only module that knows sqlglot.

Rules
1. sqlglot is shown our lexer's tokens, spelled canonically: comments, quotes of four styles and odd blanks
   cannot mean one thing here and another in the engine. What runs is the caller's text all the same.
2. The root must be what the verb promised, and no forbidden node may stand anywhere in the tree.
3. Steps are counted: sqlglot backtracks exponentially on `t JOIN t JOIN t …` without ON (15 joins: 0.4 s,
   twice that for each further one), and a caller must not be able to hold the interpreter.

Importing this costs 95 ms: import it late.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import sqlglot.dialects.dialect
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from callgate.sql.tokens import Kind, Token, fold

# Honest statements take 1 to 3 steps a token (measured); 30 leaves room for a few joins without ON.
_STEPS_PER_TOKEN = 30
_STEPS_AT_LEAST = 3_000

_READS = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_WRITES = (exp.Insert, exp.Update, exp.Delete)
_FORBIDDEN = (
    *(exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable),
    *(exp.Command, exp.Copy, exp.Attach, exp.Detach, exp.Pragma, exp.Set, exp.Into, exp.Lock, exp.LoadData),
    *(exp.Transaction, exp.Commit, exp.Rollback, exp.Use, exp.Kill, exp.Grant, exp.Analyze, exp.Describe),
)


@dataclass(frozen=True, slots=True)
class ParseFault:
    rule: str  # "syntax", "parser_budget", "nesting", "root", "forbidden_node"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    tables: tuple[str, ...]  # qualified as written, without CTEs and table-valued functions
    target: str | None = None  # of a write


class _BudgetSpent(Exception):  # noqa: N818 - a signal, not an error
    pass


def parse_statement(tokens: tuple[Token, ...], verb: Token, parser_name: str) -> Parsed | ParseFault:
    """Judge one read or write statement, given as significant tokens."""
    is_write = verb.word not in ("SELECT", "VALUES")
    try:
        tree = _parse(_canonical(tokens, verb), parser_name, len(tokens))
    except _BudgetSpent:
        return ParseFault("parser_budget")
    except RecursionError:
        return ParseFault("nesting")
    except (ParseError, TokenError) as error:
        return ParseFault("syntax", _near(error))
    if not isinstance(tree, _WRITES if is_write else _READS):
        return ParseFault("root", type(tree).__name__ if tree is not None else "nothing")
    try:
        return _inspect(tree, is_write=is_write)
    except RecursionError:
        return ParseFault("nesting")


def _parse(text: str, parser_name: str, token_count: int) -> exp.Expr | None:
    dialect = sqlglot.dialects.dialect.Dialect.get_or_raise(parser_name)
    parser = _counted_parser(parser_name)(dialect=dialect)
    parser.steps_left = _STEPS_PER_TOKEN * token_count + _STEPS_AT_LEAST
    trees = cast("list[exp.Expr | None]", parser.parse(dialect.tokenize(text), text))
    return trees[0] if len(trees) == 1 else None


@cache
def _counted_parser(parser_name: str) -> Any:
    """sqlglot's parser of that dialect, with a budget. Made once: a parser class builds its tables anew."""
    parser_class = cast("Any", sqlglot.dialects.dialect.Dialect.get_or_raise(parser_name)).parser_class

    class CountedParser(parser_class):
        steps_left = 0

        def _advance(self, times: int = 1) -> None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise _BudgetSpent
            super()._advance(times)  # pyright: ignore[reportUnknownMemberType]

        def _warn_unsupported(self) -> None:
            """What sqlglot gives up on becomes exp.Command and is refused; no need to log it."""

    return CountedParser


def _canonical(tokens: tuple[Token, ...], verb: Token) -> str:
    """The statement in the one spelling that sqlglot and the engine read alike. For analysis only."""
    pieces: list[str] = []
    skip_until = -1
    casts = _cast_types(tokens)
    for at, token in enumerate(tokens):
        if at <= skip_until:
            continue
        if at in casts:
            pieces.append("AS TEXT")  # sqlglot knows few types of several words; which one changes no verdict
            skip_until = casts[at]
            continue
        if token is verb and verb.word == "REPLACE":
            pieces.append("INSERT OR REPLACE")  # sqlglot has no REPLACE statement for SQLite
        elif token is verb and verb.word == "UPDATE" and at + 2 < len(tokens) and tokens[at + 1].word == "OR":
            pieces.append("UPDATE")  # nor UPDATE OR IGNORE: the conflict clause changes no table's name
            skip_until = at + 2
        elif token.kind is Kind.QUOTED:
            pieces.append('"' + token.spelled.replace('"', '""') + '"')
        else:
            pieces.append(token.text)
    return " ".join(pieces)


def _cast_types(tokens: tuple[Token, ...]) -> dict[int, int]:
    """`CAST(x AS UNSIGNED BIG INT)`: where AS and the last word of each type of several bare words stand."""
    types: dict[int, int] = {}
    opened_by_cast: list[bool] = []
    for at, token in enumerate(tokens):
        if token.is_operator("("):
            opened_by_cast.append(at > 0 and tokens[at - 1].word == "CAST")
        elif token.is_operator(")") and opened_by_cast:
            opened_by_cast.pop()
        elif token.word == "AS" and opened_by_cast and opened_by_cast[-1]:
            last = at
            while last + 1 < len(tokens) and tokens[last + 1].kind is Kind.WORD:
                last += 1
            # Behind the words only the end, or a size: anything else is for the parser to judge.
            ends = last + 1 < len(tokens) and tokens[last + 1].text in (")", "(")
            if last > at + 1 and ends:
                types[at] = last
    return types


def _inspect(tree: exp.Expr, *, is_write: bool) -> Parsed | ParseFault:
    for node in tree.walk():
        if isinstance(node, _FORBIDDEN) and not (is_write and node is tree):
            return ParseFault("forbidden_node", type(node).__name__)
    target = None
    if is_write:
        table = tree.this.find(exp.Table) if tree.this is not None else None
        if table is None:
            return ParseFault("root", "a write without a table")
        target = _written(table)
    return Parsed(tuple(dict.fromkeys(_tables(tree))), target)


def _tables(tree: exp.Expr) -> Iterator[str]:
    cte_names = {fold(cte.alias) for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        # The name behind INDEXED BY is a table inside a table to sqlglot, and an index to SQLite.
        if isinstance(table.this, exp.Identifier) and not isinstance(table.parent, exp.Table):
            written = _written(table)
            if fold(written) not in cte_names:
                yield written
    # `x IN t` reads a table that sqlglot takes for a column.
    for membership in tree.find_all(exp.In):
        field = cast("Any", membership).args.get("field")
        if isinstance(field, exp.Column):
            written = ".".join(part.name for part in field.parts)
            if fold(written) not in cte_names:
                yield written


def _written(table: exp.Table) -> str:
    return ".".join(str(part.name) for part in table.parts)


def _near(error: ParseError | TokenError) -> str:
    details = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    return str(details.get("highlight") or "")[:60]
