"""The verdict on a user's SQL over a record in ClickHouse. Implements `ports.StatementGuard`.

ClickHouse is no source, so the guard of the sources does not know it; what may be asked here is less. Rules
1. What runs is spelled anew from the tokens, so that the server reads the very words that were judged: no
   comment, no unusual quote, one way to escape.
2. It is one query. FROM and JOIN take the four tables of the record and what a leading WITH defines, by name
   alone: no other database, no table function, no parameter. The right side of IN is never a name, which
   ClickHouse takes for a table.
3. A word before a parenthesis is a function of `clickhouse_functions`, a type, or a keyword of a query.
4. No SETTINGS, FORMAT or INTO.
"""

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.sql.guard.tokens import word_set
from callgate.sql.record.clickhouse_functions import AGGREGATES, COMBINATORS, SCALARS
from callgate.sql.record.record_guard import TABLES

if TYPE_CHECKING:  # importing the parser takes 95 ms
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

_MOST_CHARS = 64 * 1024
_HINT = "Write one SELECT over the record's tables"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*( [A-Za-z]+)*|[0-9][0-9A-Za-z_.]*|[-+*/%<>=!.,:?()\[\]|]+")
_KEYWORDS = word_set(
    "all and any as between by case columns cross distinct else except exists fill filter from full global"
    " having ilike in inner intersect interval join left like limit not offset on or order outer over"
    " partition prewhere qualify replace rollup select semi sets then union using values when where with"
    " window cube totals"
)
_TYPES = word_set(
    "array bool date date32 datetime datetime64 decimal decimal64 enum8 fixedstring float32 float64 int16"
    " int32 int64 int8 ipv4 ipv6 lowcardinality map nullable string tuple uint16 uint32 uint64 uint8 uuid"
    " variant"
)


class ClickhouseGuard:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="callgate-judge")

    async def allowed(self, sql: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._thread, allowed, sql)

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)


def allowed(sql: str) -> str:
    """The statement as it may be run. Raises CallerError."""
    from callgate.sql.guard.parse import parse_text  # isort: skip - before sqlglot, see there
    from sqlglot import exp, tokenize
    from sqlglot.errors import SqlglotError

    if len(sql) > _MOST_CHARS:
        raise _refused(f"The statement is longer than {_MOST_CHARS // 1024} KiB")
    try:
        tokens = list(tokenize(sql, read="clickhouse"))
    except SqlglotError:
        raise _refused(_UNREAD) from None
    text = " ".join(_spelled(tokens))
    statement = parse_text(text, "clickhouse")
    if statement is None:
        raise _refused(_UNREAD)
    if not isinstance(statement, exp.Query):
        raise _refused("Only SELECT is allowed here")
    _check_calls(tokens)
    try:
        _check_tree(statement)
    except RecursionError:
        raise _refused(_UNREAD) from None
    return text


_UNREAD = "This could not be read as a SELECT of ClickHouse"


def _refused(reason: str) -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, reason, hint=_HINT)


def _spelled(tokens: "list[Token]") -> list[str]:
    """Without a semicolon at the end, which is taken away from the tokens too."""
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    words: list[str] = []
    for token in tokens:
        kind, text = token.token_type.name, token.text
        if kind == "STRING":
            words.append("'" + _escaped(text, "'") + "'")
        elif kind == "IDENTIFIER":
            words.append("`" + _escaped(text, "`") + "`")
        elif text == ";":
            raise _refused("One statement at a time")
        elif kind.endswith("STRING") or not _PLAIN.fullmatch(text):
            raise _refused("The statement has a character or a kind of text that is not allowed here")
        else:
            words.append(text)
    return words


def _escaped(text: str, quote: str) -> str:
    return text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\x00", "\\0")


def _check_calls(tokens: "Sequence[Token]") -> None:
    for word, following in pairwise(tokens):
        if following.text != "(" or word.token_type.name in ("STRING", "NUMBER"):
            continue
        name = word.text.lower()
        is_name = bool(re.match(r"\w", name))
        if is_name and not (name.split()[-1] in _KEYWORDS or name in _TYPES or _is_known(name)):
            raise _refused(f"The function {word.text[:60]} is not allowed here")


def _is_known(name: str) -> bool:
    if name in SCALARS or name in AGGREGATES:
        return True
    return any(name.endswith(ending) and _is_aggregate(name.removesuffix(ending)) for ending in COMBINATORS)


def _is_aggregate(name: str) -> bool:
    if name in AGGREGATES:
        return True
    return any(name.endswith(ending) and name.removesuffix(ending) in AGGREGATES for ending in COMBINATORS)


def _check_tree(query: "exp.Query") -> None:
    from sqlglot import exp

    with_clause = query.args.get("with_") or query.args.get("with")
    defined = set[str]()
    if isinstance(with_clause, exp.With):
        if with_clause.args.get("recursive"):
            raise _refused("WITH RECURSIVE is not allowed here")
        for cte in with_clause.expressions:
            _check_nodes(cte.this, defined)
            # What names a value is no table, though it may have the name of one.
            if isinstance(cte.this, exp.Query) and not cte.args.get("scalar"):
                defined.add(cte.alias)
    _check_nodes(query, defined, but=with_clause)


def _check_nodes(root: "exp.Expr", defined: set[str], but: "exp.Expr | None" = None) -> None:
    from sqlglot import exp

    unread = (
        exp.Command,
        exp.DDL,
        exp.Insert,
        exp.Update,
        exp.Delete,
        exp.Into,
        exp.Placeholder,
        exp.Parameter,
        exp.With,
    )
    for node in root.walk(prune=lambda one: one is but):
        if node is but:
            continue
        if isinstance(node, unread):
            raise _refused("WITH stands at the beginning only" if isinstance(node, exp.With) else _ODD)
        if isinstance(node, exp.Table):
            _check_table(node, defined)
        is_place = isinstance(node, exp.From | exp.Join) and node.args.get("kind") != "ARRAY"
        if is_place and not isinstance(node.this, exp.Table | exp.Subquery):
            raise _refused(_NO_TABLE)
        if isinstance(node, exp.Query) and (node.args.get("settings") or node.args.get("format")):
            raise _refused("SETTINGS and FORMAT are not allowed here")
        if isinstance(node, exp.In):
            _check_in(node)


_NO_TABLE = "Only the record's tables can be read, by their names alone"
_ODD = "Only SELECT, without parameters, is allowed here"


def _check_table(table: "exp.Table", defined: set[str]) -> None:
    from sqlglot import exp

    if not isinstance(table.this, exp.Identifier) or table.args.get("db") or table.args.get("catalog"):
        raise _refused(_NO_TABLE)
    if table.name not in TABLES and table.name not in defined:
        raise _refused(f"There is no table {table.name[:60]} in the record")


def _check_in(node: "exp.In") -> None:
    from sqlglot import exp

    field = node.args.get("field")
    sides = [*node.expressions, *([field] if field is not None else [])]
    for side in sides:
        if isinstance(side.unnest(), exp.Column | exp.Identifier | exp.Dot | exp.Var):
            raise _refused("IN takes values or a SELECT, not a name")
