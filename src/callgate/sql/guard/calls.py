"""Every name directly before a parenthesis must be an allowed function or mean something else there.

Checked on the dialect's tokens, because the parser renames functions and reads names it does not know as
something else. Table-valued functions need no parentheses, so hidden tables are looked for too. Pure.
"""

from callgate.model.verdict import Deny
from callgate.sql.guard import refusals
from callgate.sql.guard.needles import check_needles
from callgate.sql.guard.verbs import skip_group
from callgate.sql.policy import Policy
from callgate.sql.tokens import Kind, Token

_NAMES = (Kind.WORD, Kind.QUOTED, Kind.STRING)
# A name behind these is a table that gets a column list, not a function. Per verb, and ON for an index alone:
# in `INSERT … SELECT … JOIN b ON f(x)` the name behind ON is a function.
_BEFORE_TARGET: dict[str, frozenset[str]] = {
    "INSERT": frozenset({"INTO"}),
    "REPLACE": frozenset({"INTO"}),
    "CREATE": frozenset({"TABLE", "EXISTS", "REFERENCES", "VIEW"}),
    "ALTER": frozenset({"REFERENCES"}),
}
_BEFORE_CTE = frozenset({"WITH", "RECURSIVE"})
_AFTER_CTE = (["AS", "("], ["AS", "MATERIALIZED", "("], ["AS", "NOT", "MATERIALIZED", "("])
_BEFORE_TABLE = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "IN"})


def check_calls(tokens: tuple[Token, ...], verb: str, policy: Policy) -> Deny | None:
    for at, token in enumerate(tokens):
        if token.kind not in _NAMES:
            continue
        if _is_hidden(tokens, at, policy):
            return refusals.hidden_table(token.name)
        if (
            at + 1 < len(tokens)
            and tokens[at + 1].is_operator("(")
            and not _may_precede(tokens, at, verb, policy)
        ):
            return refusals.function(token.name, policy)
    return check_needles(tokens, policy)


def _may_precede(tokens: tuple[Token, ...], at: int, verb: str, policy: Policy) -> bool:
    token = tokens[at]
    vocabulary = policy.dialect.vocabulary
    is_definition = verb in ("CREATE", "ALTER")
    if token.name in policy.functions or token.name in vocabulary.table_functions:
        return True
    if token.kind is Kind.WORD:
        if token.name in vocabulary.call_keywords:
            return True
        if is_definition and token.name in vocabulary.definition_keywords:
            return True
    if token.name in vocabulary.type_names and (is_definition or _is_cast_type(tokens, at, policy)):
        return True
    return _is_cte(tokens, at) or _is_target(tokens, at, verb)


def _is_cast_type(tokens: tuple[Token, ...], at: int, policy: Policy) -> bool:
    """`CAST(x AS DECIMAL(10, 2))`: only type names back to AS."""
    for token in reversed(tokens[:at]):
        if token.word == "AS":
            return True
        if token.name not in policy.dialect.vocabulary.type_names:
            return False
    return False


def _is_cte(tokens: tuple[Token, ...], at: int) -> bool:
    """`WITH name(columns) AS [[NOT] MATERIALIZED] (`: nowhere else may ( follow AS after a group."""
    before = tokens[at - 1] if at else None
    if before is None or not (before.word in _BEFORE_CTE or before.is_operator(",")):
        return False
    behind = skip_group(tokens, at + 1)
    words = [token.word or token.text for token in tokens[behind : behind + 4]]
    # The last ( matters: in `SELECT a, f(x) AS materialized` the word is an alias, and f is called.
    return any(words[: len(form)] == form for form in _AFTER_CTE)


def _is_target(tokens: tuple[Token, ...], at: int, verb: str) -> bool:
    """`INSERT INTO [schema.]name [AS alias] (columns)`, `CREATE TABLE name (`, `CREATE INDEX i ON name (`."""
    before = at - 1
    if before >= 1 and tokens[before].word == "AS":
        before -= 2
    if before >= 1 and tokens[before].is_operator("."):
        before -= 2
    if before < 0:
        return False
    if tokens[before].word == "ON":
        return verb == "CREATE" and any(token.word == "INDEX" for token in tokens[1:3])
    return tokens[before].word in _BEFORE_TARGET.get(verb, frozenset())


def _is_hidden(tokens: tuple[Token, ...], at: int, policy: Policy) -> bool:
    token = tokens[at]
    if not is_hidden_name(token.name, policy):
        return False
    if token.kind is not Kind.STRING:
        return True
    # 'dbstat' is a plain text in most places, and a table's name right here.
    before = tokens[at - 1] if at else None
    opens = at + 1 < len(tokens) and tokens[at + 1].is_operator("(")
    return opens or (before is not None and (before.word in _BEFORE_TABLE or before.is_operator(".")))


def is_hidden_name(name: str, policy: Policy) -> bool:
    vocabulary = policy.dialect.vocabulary
    if name in vocabulary.table_functions:
        return False
    return name in vocabulary.hidden_tables or name.startswith(vocabulary.hidden_prefixes)
