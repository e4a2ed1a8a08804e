"""DuckDB's own statements: verbs, transactions, definitions, and what tokens and tree give away. Pure.

Two walls against files read as tables: the tokens behind FROM and JOIN, and every table of the parser's tree.
"""

from collections.abc import Iterable
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from callgate.sql.engines.duckdb.dialect import forms
from callgate.sql.engines.duckdb.dialect.canonical import PIVOTS, TELLING, canonical, listed_behind
from callgate.sql.engines.duckdb.dialect.file_names import check_names
from callgate.sql.engines.duckdb.dialect.functions import FORBIDDEN
from callgate.sql.engines.duckdb.dialect.keywords import calls_nothing, ends_distinct_on
from callgate.sql.guard.dialect import COMMON_VERBS, Fault, Grammar, Tokens, VerbClass
from callgate.sql.guard.phrases import Definable, TransactionPhrases
from callgate.sql.guard.tokens import TokenKind, word_set

_TRANSACTION = TransactionPhrases(
    begin=("{BEGIN | START} [TRANSACTION | WORK] [READ {ONLY | WRITE}]",),
    end=("{COMMIT | END | ROLLBACK | ABORT} [TRANSACTION | WORK]",),
)
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
# Their FROM names no table.
_FROM_INSIDE = frozenset({"extract", "substring", "trim", "overlay", "position"})
_RESERVED_BEFORE_TABLE = frozenset({"LATERAL", "TABLE", "ONLY", "SELECT", "FROM", "JOIN"})
_DEFINABLE = Definable(
    created=frozenset({"TABLE", "INDEX", "VIEW", "SCHEMA"}),
    altered=frozenset({"TABLE", "VIEW"}),
    allowed="CREATE TABLE, VIEW, INDEX, SCHEMA and ALTER TABLE … ADD or RENAME",
    own_tool="DuckDB's own command line",
)
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "FROM"})
_HIDDEN_WRITES = {"INSERT": {"INTO", "OR"}, "DELETE": {"FROM"}, "MERGE": {"INTO"}}
_NEVER = word_set(
    """
    CHECKPOINT COMMENT DEALLOCATE EXECUTE FORCE PREPARE RESET UNINSTALL USE
    """
)


def called(tokens: Tokens, at: int) -> str:
    """`x.upper()` calls upper with x, and `system.main.read_csv(…)` calls read_csv: the last name counts."""
    return tokens[at].name


def names_columns(tokens: Tokens, at: int, verb: str) -> bool:
    """`FROM (…) AS t(a, b)`, `FROM (…) t(a, b)`, `FROM orders o(a, b)`: plain names in the parentheses.

    Or a keyword that no list can hold, because elsewhere it would be a macro's name.
    """
    if calls_nothing(tokens, at):
        return True
    if tokens[at].name in FORBIDDEN:  # no alias is called so
        return False
    end = at + 2
    while end < len(tokens) and not tokens[end].is_operator(")"):
        if (end - at) % 2 == 0:
            if tokens[end].kind not in _NAMES:
                return False
        elif not tokens[end].is_operator(","):
            return False
        end += 1
    if at < 2 or end >= len(tokens):
        return False
    before = tokens[at - 1]
    if before.is_operator(")"):
        return not ends_distinct_on(tokens, at - 1)
    if before.word == "AS":
        return True
    follows_table = before.kind in _NAMES and before.word not in _RESERVED_BEFORE_TABLE
    return follows_table and tokens[at - 2].word in ("FROM", "JOIN")


def definition(tokens: Tokens) -> Fault | None:
    # Of all this the parser sees the query behind AS alone: every quoted name is held to be a table's.
    return (
        _DEFINABLE.check(tokens)
        or _check_inner_writes(tokens, tokens[0].word)
        or _check_defining(tokens)
        or forms.setting_fault(tokens)
        or _check_sources(tokens)
        or check_names(token.name for token in tokens if token.kind is TokenKind.QUOTED)
    )


def _check_defining(tokens: Tokens) -> Fault | None:
    """One query at most, behind AS: not in a default, a check or an index, and no other statement there."""
    depth = 0
    for token, behind in pairwise(tokens):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.word == "AS":
            if behind.is_operator("(") or behind.word in _QUERIES:
                return None
            return Fault("syntax", f"{behind.text[:40]} is not allowed after AS.", "Write AS SELECT …")
        if token.is_operator("(") and behind.word in (*_QUERIES, *PIVOTS):
            return Fault(
                "hidden_statement", "a query is not allowed inside this definition.", "Leave it out."
            )
    return None


def check_tokens(tokens: Tokens, verb: str, *, may_write: bool) -> Fault | None:
    if verb == "UPDATE" and len(tokens) > 1 and tokens[1].word == "EXTENSIONS":
        return Fault("never", "UPDATE EXTENSIONS loads code.", "Leave it out.", is_forbidden=True)
    if (fault := _check_inner_writes(tokens, verb)) is not None:
        return fault
    for at in range(1, len(tokens) - 1):
        word = tokens[at].word
        is_opening = tokens[at - 1].is_operator("(")
        # Reserved words: they can be nothing else.
        if word == "SHOW" and listed_behind(tokens, at) is None:
            return Fault("show", "SHOW is allowed here only as (SHOW TABLES).", "Write DESCRIBE table_name.")
        if word in ("DESCRIBE", "SUMMARIZE") and not is_opening:
            return Fault("syntax", f"{word} is allowed here only after (.", f"Write ({word} table_name).")
    return forms.setting_fault(tokens) or _check_sources(tokens)


def _check_inner_writes(tokens: Tokens, verb: str) -> Fault | None:
    """`WITH x AS (DELETE FROM …)`: the parser sees them too, in what it is shown."""
    for at in range(1, len(tokens) - 1):
        if tokens[at - 1].is_operator("(") and _begins_write(tokens, at):
            return Fault(
                "hidden_statement",
                f"{tokens[at].word} is not allowed inside a {verb} statement.",
                "Send it as a statement of its own, or leave it out.",
                is_forbidden=True,
            )
    return None


def _begins_write(tokens: Tokens, at: int) -> bool:
    word = tokens[at].word
    if word in _HIDDEN_WRITES:
        return tokens[at + 1].word in _HIDDEN_WRITES[word]
    return word == "UPDATE" and any(token.word == "SET" for token in tokens[at + 1 : at + 9])


def _check_sources(tokens: Tokens) -> Fault | None:
    """Names and texts right behind FROM, JOIN and the other words that take a table."""
    opened_by: list[str] = []
    named: list[str] = []
    for at, token in enumerate(tokens):
        if token.is_operator("("):
            opened_by.append(tokens[at - 1].name if at else "")
        elif token.is_operator(")") and opened_by:
            opened_by.pop()
        elif _takes_table(tokens, at) and not (opened_by and opened_by[-1] in _FROM_INSIDE):
            named.append(_dotted(tokens, at + 1))
    return check_names(named)


def _dotted(tokens: Tokens, at: int) -> str:
    """The name of one or more parts that begins there."""
    parts: list[str] = []
    while at < len(tokens) and tokens[at].kind in (*_NAMES, TokenKind.STRING):
        parts.append(tokens[at].name)
        if at + 1 >= len(tokens) or not tokens[at + 1].is_operator("."):
            break
        at += 2
    return ".".join(parts)


def _takes_table(tokens: Tokens, at: int) -> bool:
    word = tokens[at].word
    if word == "FROM":
        return at == 0 or tokens[at - 1].word != "DISTINCT"  # IS DISTINCT FROM '/x'
    return word in ("JOIN", "TABLE", "INTO", "UPDATE", "LATERAL") or word in PIVOTS or word in TELLING


def check_tree(nodes: Iterable[Any]) -> Fault | None:
    from callgate.sql.engines.duckdb.dialect.tree import check_sources

    return check_sources(nodes)


GRAMMAR = Grammar(
    verbs=MappingProxyType(
        {
            **COMMON_VERBS,
            **dict.fromkeys(("FROM", "TABLE", *PIVOTS), VerbClass.READ),
            **dict.fromkeys(("START", "END", "ABORT"), VerbClass.TRANSACTION),
            "MERGE": VerbClass.WRITE,
            **dict.fromkeys(_NEVER, VerbClass.NEVER),
        }
    ),
    forms=MappingProxyType(
        {
            "EXPLAIN": forms.explain,
            "DESCRIBE": forms.describe,
            "DESC": forms.describe,
            "SUMMARIZE": forms.describe,
            "SHOW": forms.show,
            "PRAGMA": forms.pragma,
        }
    ),
    canonical=canonical,
    transaction=_TRANSACTION.step,
    definition=definition,
    check_tokens=check_tokens,
    check_tree=check_tree,
    called=called,
    names_columns=names_columns,
)
