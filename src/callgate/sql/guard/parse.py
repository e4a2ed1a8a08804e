"""The parser's opinion: sqlglot on one statement, default deny.

Only this module, two dialects (PostgreSQL's `grammar` and DuckDB's `tree` look at its tree) and the guard of
a record in ClickHouse know sqlglot.

Rules
1. sqlglot is shown our lexer's tokens in the dialect's canonical spelling: comments, quotes and odd blanks
   cannot mean one thing here and another in the engine. What runs is the caller's text all the same.
2. The root must be what the verb promised, and no forbidden node may stand anywhere in the tree.
3. Steps are counted: sqlglot backtracks exponentially on `t JOIN t JOIN t …` without ON (15 joins: 0.4 s,
   twice that for each further one), and a caller must not be able to hold the interpreter.

4. sqlglot is read as Python source, also where its compiled modules (`sqlglotc`) are installed: a compiled
   parser cannot be inherited from, so its steps could not be counted.

Importing this costs 95 ms: import it late.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from callgate.sql.guard.sqlglot_source import refuse_compiled  # before sqlglot itself: rule 4

# isort: split
import sqlglot.dialects.dialect
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from callgate.sql.guard.dialect import Dialect, Fault, Tokens, VerbClass
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import Token, TokenKind
from callgate.sql.guard.verbs import skip_group

# Its warnings quote the caller's text; what it cannot read is refused with a reason of ours.
logging.getLogger("sqlglot").disabled = True

# Each token is a step, and steps back cost further ones: honest statements take half as many again (measured
# on the corpora), and 1,500 leave room for eight joins without ON. A step takes 15 µs.
_STEPS_BACK_PER_TOKEN = 0.5
_STEPS_BACK_AT_LEAST = 1_500
# Ten thousand characters of prose-like SQL have about 2,500, long lists of values not counted;
# a token of denser text (`->'$.a'` 1,400 times) costs up to 35 µs, and no text may take 100 ms.
_MOST_TOKENS = 2_750

_READS = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_FORBIDDEN = (
    *(exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable),
    *(exp.Command, exp.Copy, exp.Attach, exp.Detach, exp.Pragma, exp.Set, exp.Into, exp.Lock, exp.LoadData),
    *(exp.Transaction, exp.Commit, exp.Rollback, exp.Use, exp.Kill, exp.Grant, exp.Analyze, exp.Describe),
)
_VALUES = (TokenKind.STRING, TokenKind.NUMBER, TokenKind.BLOB)
_WORDS = frozenset({"NULL", "DEFAULT", "TRUE", "FALSE"})
_SIGNS = frozenset({",", "-", "+"})


@dataclass(frozen=True, slots=True)
class ParseFault:
    rule: str  # "syntax", "parser_budget", "nesting", "root", "forbidden_node"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    tables: tuple[str, ...]  # qualified as written, without CTEs and table-valued functions
    targets: tuple[str, ...] = ()  # of a write


class _BudgetSpent(Exception):  # noqa: N818 - a signal, not an error
    pass


def parse_statement(tokens: Tokens, verb: Token, policy: Policy) -> ParsedStatement | ParseFault | Fault:
    """Judge one read or write statement, given as significant tokens."""
    dialect = policy.dialect
    parser = _counted_parser(dialect.parser_name)
    is_write = dialect.grammar.verbs.get(verb.word) is VerbClass.WRITE
    tokens = _without_long_lists(tokens)
    if len(tokens) > _MOST_TOKENS:
        return ParseFault("parser_budget")
    try:
        tree = _parse(dialect.grammar.canonical(tokens, verb), *parser)
    except _BudgetSpent:
        return ParseFault("parser_budget")
    except RecursionError:
        return ParseFault("nesting")
    except (ParseError, TokenError) as error:
        return ParseFault("syntax", _near(error))
    except (TypeError, ValueError, AttributeError, LookupError, AssertionError):
        return ParseFault("syntax")  # sqlglot stumbles over odd input in more ways than it names
    if not isinstance(tree, _WRITES if is_write else _READS):
        return ParseFault("root", type(tree).__name__ if tree is not None else "nothing")
    try:
        return _inspect(tree, policy, is_write=is_write)
    except RecursionError:
        return ParseFault("nesting")


def parse_text(text: str, parser_name: str) -> exp.Expr | None:
    """The one statement that a text is, in an engine's words that no dialect of ours knows. None: it is none,
    or cannot be read within the budget."""
    try:
        dialect, parser_class = _counted_parser(parser_name)
        if len(dialect.tokenize(text)) > _MOST_TOKENS:
            return None
        return _parse(text, dialect, parser_class)
    except (_BudgetSpent, RecursionError, ParseError, TokenError):
        return None
    except (TypeError, ValueError, AttributeError, LookupError, AssertionError):
        return None  # see above


def _parse(text: str, dialect: Any, parser_class: Any) -> exp.Expr | None:
    parser = parser_class(dialect=dialect)
    parser_tokens = dialect.tokenize(text)
    parser.steps_left = int(len(parser_tokens) * (1 + _STEPS_BACK_PER_TOKEN)) + _STEPS_BACK_AT_LEAST
    trees = cast("list[exp.Expr | None]", parser.parse(parser_tokens, text))
    return trees[0] if len(trees) == 1 else None


@cache
def _counted_parser(parser_name: str) -> tuple[Any, Any]:
    """sqlglot's dialect and its parser, with a budget. Made once: a parser class builds its tables again."""
    dialect = cast("Any", sqlglot.dialects.dialect.Dialect.get_or_raise(parser_name))
    parser_class = dialect.parser_class
    refuse_compiled(sys.modules["sqlglot.parser"])

    class CountedParser(parser_class):
        steps_left = 0

        def _advance(self, times: int = 1) -> None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise _BudgetSpent
            super()._advance(times)  # pyright: ignore[reportUnknownMemberType]

    return dialect, CountedParser


def _inspect(tree: exp.Expr, policy: Policy, *, is_write: bool) -> ParsedStatement | ParseFault | Fault:
    grammar = policy.dialect.grammar
    may_lock = policy.may_write and grammar.locks_in_write_mode
    writes = [tree] if is_write else []
    nodes = list(tree.walk())  # once: each walk takes half as long as the parse
    for node in nodes:
        if not isinstance(node, _FORBIDDEN) or (is_write and node is tree):
            continue
        if may_lock and isinstance(node, exp.Lock):
            continue
        if not _may_stand_inside(node, tree, policy):
            return ParseFault("forbidden_node", type(node).__name__)
        writes.append(node)
    if (fault := grammar.check_tree(nodes)) is not None:
        return fault
    targets = tuple(target for write in writes for target in _targets(write))
    if is_write and not targets:
        return ParseFault("root", "a write without a table")
    return ParsedStatement(tuple(dict.fromkeys(_tables(tree, nodes, policy.dialect))), targets)


def _may_stand_inside(node: exp.Expr, tree: exp.Expr, policy: Policy) -> bool:
    """A write in a CTE where the engine has such, and the actions of a MERGE."""
    if isinstance(tree, exp.Merge) and isinstance(node.parent, exp.When):
        return True
    may_write_inside = policy.may_write and policy.dialect.grammar.writes_in_ctes
    return may_write_inside and isinstance(node, _WRITES) and isinstance(node.parent, exp.CTE)


def _targets(tree: exp.Expr) -> Iterator[str]:
    """What a write may change: the first table, and all that MySQL's writes to several tables name."""
    arguments = cast("dict[str, Any]", cast("Any", tree).args)
    aliases = _aliases(tree)
    first = arguments.get("this")
    if isinstance(first, exp.Expr):
        if (table := first.find(exp.Table)) is not None:
            yield aliases.get(_written(table).lower(), _written(table))
        # `DELETE FROM a, b USING …`: MySQL names all targets there.
        if isinstance(tree, exp.Update) or (isinstance(tree, exp.Delete) and arguments.get("using")):
            for join in cast("list[exp.Expr]", cast("Any", first).args.get("joins") or []):
                for table in join.find_all(exp.Table):
                    yield aliases.get(_written(table).lower(), _written(table))
    for listed in cast("list[Any]", arguments.get("tables") or []):
        if isinstance(listed, exp.Table):
            yield aliases.get(_written(listed).lower(), _written(listed))


def _aliases(tree: exp.Expr) -> dict[str, str]:
    """`DELETE o FROM shop.orders o`: what the short names of a DELETE stand for, in lower case."""
    if not isinstance(tree, exp.Delete):
        return {}
    return {table.alias.lower(): _written(table) for table in tree.find_all(exp.Table) if table.alias}


def _tables(tree: exp.Expr, nodes: list[exp.Expr], dialect: Dialect) -> Iterator[str]:
    fold_name = dialect.grammar.fold_name
    aliases = _aliases(tree)
    for table in nodes:
        # The name behind INDEXED BY is a table inside a table to sqlglot, and an index to SQLite.
        if not isinstance(table, exp.Table) or isinstance(table.parent, exp.Table):
            continue
        if isinstance(table.this, exp.Identifier):
            written = _written(table)
            if written.lower() in aliases and not table.alias:
                continue
            if len(table.parts) > 1 or not _names_cte(table, table.this, fold_name):
                yield written
    # `x IN t` reads a table that sqlglot takes for a column.
    for membership in nodes:
        field = cast("Any", membership).args.get("field") if isinstance(membership, exp.In) else None
        if isinstance(field, exp.Column) and not (
            len(field.parts) == 1 and _names_cte(field, field.this, fold_name)
        ):
            yield ".".join(part.name for part in field.parts)


def _written(table: exp.Table) -> str:
    return ".".join(str(part.name) for part in table.parts)


def _near(error: ParseError | TokenError) -> str:
    details = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    return str(details.get("highlight") or "")[:60]


# Whether a name in FROM is that of a CTE, and not of a table.
#
# A CTE is known inside the query that its WITH belongs to, and nowhere else. Within the WITH it is known to
# those that follow, and to itself when the WITH is RECURSIVE. Where engines differ (SQLite knows them all,
# PostgreSQL too when the WITH is RECURSIVE) a name counts as a table's: a table is looked at more closely.
def _names_cte(node: exp.Expr, name: exp.Identifier, fold_name: Callable[..., str]) -> bool:
    """`node`: where the name stands. `fold_name`: as the engine compares names."""
    wanted = _folded(name, fold_name)
    inner: exp.Expr = node
    outer = node.parent
    while outer is not None:
        if any(_folded(cte_name, fold_name) == wanted for cte_name in _known_to(outer, inner)):
            return True
        inner, outer = outer, outer.parent
    return False


def _known_to(outer: exp.Expr, inner: exp.Expr) -> list[exp.Identifier]:
    """The names of CTEs that `outer` itself adds for its part `inner`."""
    arguments = cast("dict[str, Any]", cast("Any", outer).args)
    if isinstance(outer, exp.With):
        ctes = cast("list[exp.Expr]", outer.expressions)
        at = next((at for at, cte in enumerate(ctes) if cte is inner), 0)
        return _names(ctes[: at + 1] if arguments.get("recursive") else ctes[:at])
    clause = arguments.get("with_")
    if not isinstance(clause, exp.With) or clause is inner:
        return []
    return _names(cast("list[exp.Expr]", clause.expressions))


def _names(ctes: list[exp.Expr]) -> list[exp.Identifier]:
    aliases = [cast("Any", cte).args.get("alias") for cte in ctes]
    return [alias.this for alias in aliases if alias is not None and isinstance(alias.this, exp.Identifier)]


def _folded(name: exp.Identifier, fold_name: Callable[..., str]) -> str:
    return fold_name(name.name, is_quoted=bool(cast("Any", name).args.get("quoted")))


def _without_long_lists(tokens: Tokens) -> Tokens:
    """Long lists of written-out values, shortened before the parser sees them. For analysis only. Pure.

    `id IN (1, 2, … 900)` and `VALUES (1, 'a'), (2, 'b'), …` are the honest statements with thousands of
    tokens, and the parser takes 20 µs for each. Which values they are changes no verdict: one of them stands
    for all.
    """
    left_out: set[int] = set()
    for at, token in enumerate(tokens):
        if at in left_out or token.kind is not TokenKind.WORD or not _opens(tokens, at + 1):
            continue
        if token.word == "IN":
            end = skip_group(tokens, at + 1) - 1
            if end > at + 3 and _is_written_out(tokens[at + 2 : end]) and tokens[at + 2].kind in _VALUES:
                left_out.update(range(at + 3, end))
        elif token.word == "VALUES":
            left_out.update(_further_rows(tokens, at + 1))
    return tuple(token for at, token in enumerate(tokens) if at not in left_out) if left_out else tokens


def _further_rows(tokens: Tokens, at: int) -> range:
    """The rows behind the first one, as long as they hold values only."""
    first = end = skip_group(tokens, at)
    while end + 1 < len(tokens) and tokens[end].is_operator(",") and _opens(tokens, end + 1):
        behind = skip_group(tokens, end + 1)
        if not _is_written_out(tokens[end + 2 : behind - 1]):
            break
        end = behind
    return range(first, end)


def _opens(tokens: Tokens, at: int) -> bool:
    return at < len(tokens) and tokens[at].is_operator("(")


def _is_written_out(tokens: tuple[Token, ...]) -> bool:
    return all(
        token.kind in _VALUES
        or token.word in _WORDS
        or (token.kind is TokenKind.OPERATOR and token.text in _SIGNS)
        for token in tokens
    )
