"""SQLite's own statements and spelling: verbs, EXPLAIN, transactions, definitions. Pure."""

from collections.abc import Iterable
from types import MappingProxyType

from callgate.sql.engines.sqlite.dialect import functions, pragmas
from callgate.sql.guard.definable import Definable
from callgate.sql.guard.dialect import COMMON_VERBS, Fault, FormMatch, Grammar, Tokens, VerbClass
from callgate.sql.guard.phrases import TransactionPhrases, match_phrase
from callgate.sql.guard.policy import quote_name
from callgate.sql.guard.tokens import Token, TokenKind, fold

EXPLAIN_HINT = "Explain a query: EXPLAIN QUERY PLAN SELECT …"

_TRANSACTION = TransactionPhrases(
    begin=("BEGIN [DEFERRED | IMMEDIATE | EXCLUSIVE] [TRANSACTION]",),
    end=("{COMMIT | END} [TRANSACTION]", "ROLLBACK [TRANSACTION]"),
    inside=("SAVEPOINT value", "RELEASE [SAVEPOINT] value", "ROLLBACK [TRANSACTION] TO [SAVEPOINT] value"),
)
_DEFINABLE = Definable(
    created=frozenset({"TABLE", "INDEX", "VIEW"}),
    altered=frozenset({"TABLE"}),
    allowed="CREATE TABLE, CREATE INDEX, CREATE VIEW and ALTER TABLE … ADD or RENAME",
    own_tool="SQLite's own command line",
)


def explain(tokens: Tokens) -> FormMatch | Fault:
    """`EXPLAIN [QUERY PLAN] <read or write>`. SQLite runs neither."""
    found = match_phrase(("EXPLAIN QUERY PLAN statement", "EXPLAIN statement"), tokens)
    if found is None:
        return Fault("explain", "EXPLAIN needs a statement.", EXPLAIN_HINT)
    return FormMatch(explained=(found.statement,))


def names_table(tokens: Tokens, at: int, verb: str) -> bool:
    """`FROM docs('coffee')`: a virtual table of the schema (FTS5), given values for its hidden columns.

    Right behind FROM and JOIN no scalar function can stand. Virtual tables that show more than the operator's
    data are hidden by their names, here and in the authorizer.
    """
    if tokens[at].name in functions.FORBIDDEN:
        return False
    before = at - 3 if at >= 3 and tokens[at - 1].is_operator(".") else at - 1
    if before < 1:
        return False
    # `a IS DISTINCT FROM f(x)` is an expression.
    is_from = tokens[before].word == "FROM" and tokens[before - 1].word != "DISTINCT"
    return is_from or tokens[before].word == "JOIN"


def canonical(tokens: Tokens, verb: Token) -> str:
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
        elif token.is_operator("%"):
            pieces.append("*")  # behind LIMIT sqlglot takes it for a percentage; both bind alike
        elif token.kind is TokenKind.NUMBER:
            pieces.append(token.text.replace("_", ""))
        elif token.kind is TokenKind.QUOTED:
            pieces.append('"' + token.spelled.replace('"', '""') + '"')
        else:
            pieces.append(token.text)
    return " ".join(pieces)


def _cast_types(tokens: Tokens) -> dict[int, int]:
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
            while last + 1 < len(tokens) and tokens[last + 1].kind is TokenKind.WORD:
                last += 1
            # Behind the words only the end, or a size: anything else is for the parser to judge.
            ends = last + 1 < len(tokens) and tokens[last + 1].text in (")", "(")
            if last > at + 1 and ends:
                types[at] = last
    return types


def table_list(schema: str | None) -> str:
    """Unqualified, SQLite would look into the empty main database."""
    return f"{quote_name(schema)}.sqlite_master" if schema else "sqlite_master"


def note_on(tables: Iterable[str], schema: str | None) -> str:
    if schema and any(fold(table) in ("sqlite_master", "sqlite_schema") for table in tables):
        return f"Note: the tables of this source are listed in {table_list(schema)}."
    return ""


GRAMMAR = Grammar(
    verbs=MappingProxyType({**COMMON_VERBS, "REPLACE": VerbClass.WRITE, "END": VerbClass.TRANSACTION}),
    forms=MappingProxyType({"PRAGMA": pragmas.read_pragma, "EXPLAIN": explain}),
    canonical=canonical,
    transaction=_TRANSACTION.step,
    definition=_DEFINABLE.check,
    names_columns=names_table,
)
