"""Words before ( that call nothing in one place, and a stored function of that name in every other. Pure.

MariaDB does not reserve them: each was tried on the server with a stored function of its name.
"""

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Kind
from callgate.sql.guard.verbs import skip_group

_SELECT_MODIFIERS = frozenset(
    {"SELECT", "ALL", "DISTINCT", "DISTINCTROW", "HIGH_PRIORITY", "STRAIGHT_JOIN", "SQL_SMALL_RESULT"}
    | {"SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_CACHE", "SQL_NO_CACHE", "SQL_CALC_FOUND_ROWS"}
)


def calls_nothing(tokens: Tokens, at: int) -> bool:
    """`SELECT SQL_NO_CACHE (1)`, `1 MEMBER OF (…)`, `'$[*]' COLUMNS (…)`, `MATCH a AGAINST (…)`."""
    before = tokens[at - 1]
    match tokens[at].word:
        case "SQL_NO_CACHE" | "SQL_BUFFER_RESULT":
            return before.word in _SELECT_MODIFIERS
        case "OF":
            return before.word == "MEMBER"
        case "COLUMNS":
            return before.kind is Kind.STRING
        case "AGAINST":
            return before.is_operator(")") or _stands_behind_match(tokens, at)
        case _:
            return False


def _stands_behind_match(tokens: Tokens, at: int) -> bool:
    while at and (tokens[at - 1].kind in (Kind.WORD, Kind.QUOTED) or tokens[at - 1].text in (".", ",")):
        at -= 1
        if tokens[at].word == "MATCH":
            return True
    return False


def is_json_table(tokens: Tokens, at: int) -> bool:
    """Whether `COLUMNS (` stands in the parentheses: else it is a function that is called so."""
    end = skip_group(tokens, at + 1)
    return any(
        tokens[index].word == "COLUMNS" and tokens[index + 1].is_operator("(")
        for index in range(at + 2, end - 1)
    )
