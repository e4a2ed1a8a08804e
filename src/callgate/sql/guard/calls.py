"""Every name directly before a parenthesis must be an allowed function or mean something else there.

Checked on the dialect's tokens, because the parser renames functions and reads names it does not know as
something else. Table-valued functions need no parentheses, so hidden tables are looked for too. Pure.
"""

import unicodedata

from callgate.model.verdict import Deny
from callgate.sql.guard import refusals
from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.sizes import check_sizes
from callgate.sql.guard.tokens import Token, TokenKind
from callgate.sql.guard.verbs import skip_group, skip_key

_NAMES = (TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING)
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
_BEFORE_STAR = frozenset({"SELECT", "ALL", "DISTINCT", "DISTINCTROW"})
_BEHIND_STAR = frozenset(
    {"FROM", "INTO", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "FOR", "LOCK", "UNION", "EXCEPT"}
    | {"INTERSECT", "PROCEDURE", "AS", "ON"}
)
_BEFORE_TABLE = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "IN"})
# Longer than any word or set of characters that people look for; 3 ms a call on the longest value.
_MAX_NEEDLE_CHARS = 200
_LITERALS = (TokenKind.STRING, TokenKind.BLOB, TokenKind.NUMBER)
_OPERATORS = frozenset({"||", "(", ")", ","})
# Give back about as much as they are given: `char(10) || ' '`, `lower('X')`.
_HARMLESS_CALLS = frozenset({"char", "lower", "upper"})


def check_calls(tokens: Tokens, verb: str, policy: Policy) -> Deny | None:
    for at, token in enumerate(tokens):
        if token.kind not in _NAMES:
            continue
        if _is_hidden(tokens, at, policy):
            return refusals.hidden_table(token.name, policy)
        if (
            at + 1 < len(tokens)
            and tokens[at + 1].is_operator("(")
            and not _may_precede(tokens, at, verb, policy)
        ):
            return refusals.function(policy.dialect.grammar.called(tokens, at), policy)
    return _check_needles(tokens, policy) or check_sizes(tokens, policy)


def _may_precede(tokens: Tokens, at: int, verb: str, policy: Policy) -> bool:
    token = tokens[at]
    vocabulary = policy.dialect.vocabulary
    grammar = policy.dialect.grammar
    is_definition = verb in ("CREATE", "ALTER")
    name = grammar.called(tokens, at)
    if name in policy.functions or name in vocabulary.table_functions:
        return True
    # Behind a dot no word is a keyword: `shop.if(1)` calls a stored function.
    is_qualified = at > 0 and tokens[at - 1].is_operator(".")
    if token.kind is TokenKind.WORD and not is_qualified:
        if token.name in vocabulary.call_keywords:
            return True
        if is_definition and token.name in vocabulary.definition_keywords:
            return True
    is_type = token.kind is TokenKind.WORD and token.name in vocabulary.type_names and not is_qualified
    if is_type and (is_definition or _is_cast_type(tokens, at, policy)):
        return True
    return _is_cte(tokens, at) or _is_target(tokens, at, verb) or grammar.names_columns(tokens, at, verb)


def _is_cast_type(tokens: Tokens, at: int, policy: Policy) -> bool:
    """`CAST(x AS DECIMAL(10, 2))`: only type names back to AS."""
    for token in reversed(tokens[:at]):
        if token.word == "AS":
            return True
        if token.name not in policy.dialect.vocabulary.type_names:
            return False
    return False


def _is_cte(tokens: Tokens, at: int) -> bool:
    """`WITH name(columns) AS [[NOT] MATERIALIZED] (`: nowhere else may ( follow AS after a group."""
    before = tokens[at - 1] if at else None
    if before is None or not (before.word in _BEFORE_CTE or before.is_operator(",")):
        return False
    behind = skip_key(tokens, skip_group(tokens, at + 1))
    words = [token.word or token.text for token in tokens[behind : behind + 4]]
    # The last ( matters: in `SELECT a, f(x) AS materialized` the word is an alias, and f is called.
    return any(words[: len(form)] == form for form in _AFTER_CTE)


def _is_target(tokens: Tokens, at: int, verb: str) -> bool:
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


def _is_hidden(tokens: Tokens, at: int, policy: Policy) -> bool:
    token = tokens[at]
    qualified = at >= 2 and tokens[at - 1].is_operator(".")
    schema = tokens[at - 2].name if qualified else ""
    if not hidden_in(schema, token.name, policy):
        return False
    columns = policy.dialect.vocabulary.partly_hidden.get(f"{schema}.{token.name}")
    if columns is not None and _says_which_columns(tokens, columns):
        return False
    if token.kind is not TokenKind.STRING:
        return True
    # 'dbstat' is a plain text in most places, and a table's name right here.
    before = tokens[at - 1] if at else None
    opens = at + 1 < len(tokens) and tokens[at + 1].is_operator("(")
    return opens or (before is not None and (before.word in _BEFORE_TABLE or before.is_operator(".")))


def _says_which_columns(tokens: Tokens, hidden: frozenset[str]) -> bool:
    """Whether no column can be read but those that are named, and none of them is hidden.

    Names above ASCII are not looked at: MySQL finds a column under `query_ßample_text` too.
    """
    for at, token in enumerate(tokens):
        if (
            token.name in hidden
            or token.word == "TABLE"
            or (token.kind in _NAMES and not token.name.isascii())
        ):
            return False
        if token.is_operator("*") and not _is_count_or_product(tokens, at):
            return False
    return True


def _is_count_or_product(tokens: Tokens, at: int) -> bool:
    """`count(*)` and `a * b`; `SELECT *` and `t.*` stand before a sign, a word of the grammar or the end."""
    before, behind = tokens[at - 1], tokens[at + 1] if at + 1 < len(tokens) else None
    if behind is None or before.is_operator("."):
        return False
    if before.is_operator("("):
        return behind.is_operator(")") and at >= 2 and tokens[at - 2].word == "COUNT"
    if behind.kind is TokenKind.WORD:
        return behind.word not in _BEHIND_STAR and before.word not in _BEFORE_STAR
    return behind.kind in (TokenKind.NUMBER, TokenKind.QUOTED) or behind.is_operator("(")


def hidden_in(schema: str, name: str, policy: Policy) -> bool:
    vocabulary = policy.dialect.vocabulary
    schema, name = _without_accents(schema), _without_accents(name)
    if schema in vocabulary.hidden_schemas and name not in vocabulary.hidden_schemas[schema]:
        return True
    if name in vocabulary.table_functions:
        return False
    return (
        name in vocabulary.hidden_tables
        or f"{schema}.{name}" in vocabulary.hidden_tables
        or name.startswith(vocabulary.hidden_prefixes)
    )


def _without_accents(name: str) -> str:
    """MariaDB finds information_schema.user_variables under user_varİables too."""
    if name.isascii():
        return name
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


def _check_needles(tokens: tuple[Token, ...], policy: Policy) -> Deny | None:
    """What a text is searched for, or stripped of, must be short and written out.

    `instr(x, y)`, `trim(x, y)` and `unhex(x, y)` take as long as x times y, look at no interrupt, and hand
    back too little for a limit to bite (`engines.sqlite.session_limits`): 20,000 characters to be stripped
    hold a worker for 15 seconds, and such calls can be strung together. A text out of the query itself is
    short. Pure.
    """
    searching = policy.dialect.vocabulary.needle_functions
    for at, token in enumerate(tokens[:-1]):
        if token.name in searching and tokens[at + 1].is_operator("("):
            needle = _second_argument(tokens, at + 1)
            if not _is_short_constant(needle):
                return refusals.needle(token.name)
    return None


def _second_argument(tokens: tuple[Token, ...], opening: int) -> tuple[Token, ...]:
    """Of the call whose parenthesis opens there; empty when it has one argument only."""
    depth = 0
    begin = None
    for at in range(opening, len(tokens)):
        token = tokens[at]
        if token.is_operator("("):
            depth += 1
        elif token.is_operator(")"):
            depth -= 1
        if depth == 0 or (depth == 1 and token.is_operator(",") and begin is not None):
            return tokens[begin:at] if begin is not None else ()
        if depth == 1 and token.is_operator(","):
            begin = at + 1
    return tokens[begin:] if begin is not None else ()


def _is_short_constant(needle: tuple[Token, ...]) -> bool:
    if sum(len(token.text) for token in needle) > _MAX_NEEDLE_CHARS:
        return False
    return all(
        token.kind in _LITERALS
        or (token.kind is TokenKind.OPERATOR and token.text in _OPERATORS)
        or (token.kind is TokenKind.WORD and token.name in _HARMLESS_CALLS)
        for token in needle
    )
