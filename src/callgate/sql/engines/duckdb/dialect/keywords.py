"""Which words before ( call nothing. Pure.

Reserved words never do. The others could be the name of a macro (measured on 2.0: `SELECT rename(1)` and
`FROM sample(1)` call one), so each counts as a keyword only in the place where it is one.
"""

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Token, TokenKind, word_set
from callgate.sql.guard.verbs import skip_group

# Cannot be called without quotes or a dot, whatever macros there are.
RESERVED = word_set(
    """
    all and any array as asc between bit case cast char character columns dec decimal desc describe distinct
    else except exists extract float from group having in intersect interval lateral limit not numeric
    offset on or pivot qualify returning select some summarize table then time timestamp to union unpack
    unpivot using values varchar when where window with
    """
)
# Types that take something in parentheses, `x::STRUCT(a INTEGER)`, and are no reserved words.
TYPES = word_set(
    """
    bpchar enum geometry list map nvarchar row string struct text timestamptz tuple union varbinary varying
    """
)
_HOLDERS = word_set("struct map union tuple row list")  # types made of types
_NO_OPERAND = word_set(
    """
    all and any as asc between by case cast desc distinct else except from group having in intersect is join
    lateral like limit not offset on or order qualify returning select set some then to union using values
    when where window with
    """
)
_BEFORE: dict[str, frozenset[str]] = {
    "bernoulli": word_set("sample tablesample"),
    "reservoir": word_set("sample tablesample"),
    "system": word_set("sample tablesample"),
    "by": word_set("group order partition"),
    "join": word_set("inner left right full outer cross natural semi anti asof positional"),
    "key": word_set("using"),
    "materialized": word_set("as not"),
    "over": word_set("nulls"),
    "sample": word_set("using"),
    "set": word_set("update"),
    "sets": word_set("grouping"),
    "nulls": word_set("include exclude"),
}
# Behind a value, a name or a closing parenthesis.
_BEHIND_OPERAND = word_set("ilike join like set tablesample")
# How far back a clause or a type may begin: longer statements must not take the square of their length.
_REACH_TOKENS = 300
_BEHIND_GROUP = word_set("over repeatable exclude rename filter")


def calls_nothing(tokens: Tokens, at: int) -> bool:
    word, before = tokens[at].name, tokens[at - 1] if at else None
    if tokens[at].kind is not TokenKind.WORD or before is None or before.is_operator("."):
        return False
    if before.kind is TokenKind.WORD and before.name in _BEFORE.get(word, ()):
        return True
    if word in _BEHIND_GROUP and before.is_operator(")"):
        return not ends_distinct_on(tokens, at - 1)
    match word:
        case "exclude" | "rename":
            return before.is_operator("*") and _is_star(tokens, at - 1)
        case "insert":  # MERGE … THEN INSERT (a, b) VALUES …
            behind = skip_group(tokens, at + 1)
            return before.word == "THEN" and behind < len(tokens) and tokens[behind].word == "VALUES"
        case "conflict":
            return before.word == "ON" and _is_conflict(tokens, at)
        case "percent":
            return before.kind is TokenKind.NUMBER
        case "rollup" | "cube":
            # `GROUP BY @rollup(a)` calls a macro.
            begins_item = before.word == "BY" or before.text in (",", "(")
            return begins_item and _is_grouping(tokens, at)
        case "try_cast":
            return _holds_as(tokens, at + 1)
        case "like" | "ilike" if before.word == "NOT":
            return at >= 2 and _is_operand(tokens[at - 2])
        case _ if word in TYPES and _is_type(tokens, at):
            return True
        case _:
            return word in _BEHIND_OPERAND and _is_operand(before)


def ends_distinct_on(tokens: Tokens, closing: int) -> bool:
    """`SELECT DISTINCT ON (a) f(x)`: behind this group an expression begins, and f is called."""
    depth = 0
    for at in range(closing, -1, -1):
        depth += tokens[at].is_operator(")") - tokens[at].is_operator("(")
        if depth == 0:
            return [token.word for token in tokens[max(at - 2, 0) : at]] == ["DISTINCT", "ON"]
    return True


def _is_conflict(tokens: Tokens, at: int) -> bool:
    """`ON CONFLICT (a) [WHERE …] DO …`; without DO it is the condition of a JOIN."""
    at = skip_group(tokens, at + 1)
    if at < len(tokens) and tokens[at].word == "WHERE":
        while at < len(tokens) and tokens[at].word not in ("DO", "ON"):
            at = max(at + 1, skip_group(tokens, at))
    words = [token.word for token in tokens[at : at + 2]]
    return words in (["DO", "NOTHING"], ["DO", "UPDATE"])


def _is_operand(token: Token) -> bool:
    if token.kind is TokenKind.WORD:
        return token.name not in _NO_OPERAND
    return token.kind in (TokenKind.QUOTED, TokenKind.STRING, TokenKind.NUMBER) or token.text in (
        ")",
        "]",
        "}",
    )


def _is_star(tokens: Tokens, at: int) -> bool:
    """All columns, and not a multiplication."""
    before = tokens[at - 1] if at else None
    return before is not None and (
        before.word in ("SELECT", "DISTINCT", "ALL") or before.text in (",", ".", "(")
    )


def _is_grouping(tokens: Tokens, at: int) -> bool:
    """Whether GROUP BY, or GROUPING SETS (, is the clause that this stands in."""
    depth = 0
    for index in range(at - 1, max(at - _REACH_TOKENS, -1), -1):
        token = tokens[index]
        if token.is_operator(")"):
            depth += 1
        elif token.is_operator("("):
            if depth == 0:
                return index > 0 and tokens[index - 1].word == "SETS"
            depth -= 1
        elif depth == 0 and token.word == "BY":
            return index > 0 and tokens[index - 1].word == "GROUP"
        elif depth == 0 and token.word in ("SELECT", "FROM", "WHERE", "HAVING", "VALUES", "ON"):
            return False
    return False


def _is_type(tokens: Tokens, at: int) -> bool:
    before = tokens[at - 1]
    if before.is_operator("::") or before.word in ("AS", "CHARACTER", "CHAR", "NATIONAL"):
        return True
    depth = 0
    for index in range(at - 1, max(at - _REACH_TOKENS, 0), -1):
        if tokens[index].is_operator(")"):
            depth += 1
        elif tokens[index].is_operator("("):
            if depth == 0:
                return tokens[index - 1].name in _HOLDERS and _is_type(tokens, index - 1)
            depth -= 1
    return False


def _holds_as(tokens: Tokens, opening: int) -> bool:
    """`TRY_CAST(x AS INTEGER)`: without AS it would be a call."""
    depth = 0
    for token in tokens[opening:]:
        if token.is_operator("("):
            depth += 1
        elif token.is_operator(")"):
            depth -= 1
            if depth == 0:
                return False
        elif depth == 1 and token.word == "AS":
            return True
    return False
