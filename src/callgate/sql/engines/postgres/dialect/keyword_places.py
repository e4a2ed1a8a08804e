"""Words of the grammar before a parenthesis: each is accepted in its own place only. Pure.

    count(*) FILTER (WHERE …)      GROUP BY ROLLUP (a, b)      ON CONFLICT (id) DO NOTHING

Unreserved words can be functions of somebody's own: `SELECT filter(1)`, `JOIN b ON conflict(1)`.
"""

from collections.abc import Callable

from callgate.sql.engines.postgres.dialect import operators
from callgate.sql.engines.postgres.dialect.keywords import RESERVED, RESERVED_OR_FUNCTION, VALUE_WORDS
from callgate.sql.engines.postgres.dialect.reading import NAMES, word_at
from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import TokenKind
from callgate.sql.guard.verbs import skip_group

_SAMPLES = frozenset({"bernoulli", "system", "system_rows", "system_time"})
# Behind these an expression begins, whatever else they may name.
_NO_OPERAND = RESERVED_OR_FUNCTION | {"by", "between", "escape", "zone"}
_BEFORE_JOIN = frozenset({"inner", "left", "right", "full", "outer", "cross", "natural"})
_BEFORE_GROUPING = frozenset({"by", ",", "(", "distinct", "all"})
_CLAUSES = frozenset({"select", "from", "where", "group", "having", "order", "window", "union"})
_TAKE_PASSED = frozenset({"xmltable", "xmlexists", "json_table", "json_value", "json_query", "json_exists"})
# Tokens of a GROUP BY: a hostile text must not make us walk over all of it again and again.
_LONGEST_GROUPING = 400
_QUERIES = frozenset({"select", "with", "values", "table", "insert", "update", "delete", "merge", "("})
# word -> the words that may stand before it
_BEHIND: dict[str, frozenset[str]] = {
    "by": frozenset({"order", "group", "partition"}),
    "sets": frozenset({"grouping"}),
    "zone": frozenset({"time"}),
    "for": frozenset({"collation"}),
    "varying": frozenset({"character", "char", "bit", "nchar"}),
    **dict.fromkeys(_SAMPLES, frozenset({"tablesample"})),
}


def is_in_place(tokens: Tokens, at: int, verb: str) -> bool:
    """For a word with ( behind it."""
    word = word_at(tokens, at)
    before = word_at(tokens, at - 1)
    if before == ".":  # no word is a keyword there
        return False
    if word in _BEHIND:
        return before in _BEHIND[word]
    if word == "insert":  # MERGE … THEN INSERT (a, b) VALUES …
        behind = word_at(tokens, skip_group(tokens, at + 1))
        return verb == "MERGE" and before == "then" and behind in ("values", "overriding")
    return word in _PLACES and _PLACES[word](tokens, at)


def is_prefix_group(tokens: Tokens, closing: int) -> bool:
    """Groups behind which an expression begins: `DISTINCT ON (a) f(x)`, `1 OPERATOR(pg_catalog.+) f(x)`."""
    depth = 0
    for at in range(closing, -1, -1):
        depth += {")": 1, "(": -1}.get(word_at(tokens, at), 0)
        if depth == 0:
            before = word_at(tokens, at - 1)
            return before == "operator" or (before == "on" and word_at(tokens, at - 2) == "distinct")
    return True


def operator_behind(tokens: Tokens, at: int) -> str | None:
    """The sign in `OPERATOR(pg_catalog.+)`; None when it is not one of pg_catalog's."""
    words = [word_at(tokens, at + step) for step in range(1, 6)]
    sign = None
    if words[0] == "(" and words[1] == "pg_catalog" and words[2] == "." and words[4] == ")":
        sign = words[3]
    elif words[0] == "(" and words[2] == ")":
        sign = words[1]
    return sign if sign in operators.ALLOWED else None


def _has_earlier(tokens: Tokens, at: int, word: str) -> bool:
    return any(word_at(tokens, earlier) == word for earlier in range(at))


def _ends_operand(tokens: Tokens, at: int) -> bool:
    if at < 0:
        return False
    word = word_at(tokens, at)
    if tokens[at].kind is TokenKind.OPERATOR:
        return word == "]" or (word == ")" and not is_prefix_group(tokens, at))
    if word_at(tokens, at - 1) == ".":
        return True
    return word in VALUE_WORDS or (word not in RESERVED and word not in _NO_OPERAND)


def _is_filter(tokens: Tokens, at: int) -> bool:
    return word_at(tokens, at + 2) == "where"


def _is_behind_group(tokens: Tokens, at: int) -> bool:
    """`sum(x) OVER (…)`, `TABLESAMPLE system (1) REPEATABLE (2)`."""
    return word_at(tokens, at - 1) == ")" and not is_prefix_group(tokens, at - 1)


def _is_join(tokens: Tokens, at: int) -> bool:
    return word_at(tokens, at - 1) in _BEFORE_JOIN or _ends_operand(tokens, at - 1)


def _is_ilike(tokens: Tokens, at: int) -> bool:
    return _ends_operand(tokens, at - 2 if word_at(tokens, at - 1) == "not" else at - 1)


def _is_grouping(tokens: Tokens, at: int) -> bool:
    """In a GROUP BY, GROUPING SETS (…) included: `ORDER BY rollup(1)` calls somebody's function."""
    if word_at(tokens, at - 1) not in _BEFORE_GROUPING:
        return False
    depth = 0
    for earlier in range(at - 1, max(at - _LONGEST_GROUPING, 0), -1):
        word = word_at(tokens, earlier)
        if word == "(" and depth == 0:
            if word_at(tokens, earlier - 1) != "sets":
                return False
            continue
        depth += {")": 1, "(": -1}.get(word, 0)
        if depth == 0 and word in _CLAUSES and word_at(tokens, earlier - 1) not in (".", "as"):
            return word == "group" and word_at(tokens, earlier + 1) == "by"
    return False


def _is_conflict(tokens: Tokens, at: int) -> bool:
    """`INSERT … ON CONFLICT (a) [WHERE …] DO …`; without DO it is the condition of a JOIN."""
    if word_at(tokens, at - 1) != "on" or not _has_earlier(tokens, at, "insert"):
        return False
    at = skip_group(tokens, at + 1)
    if word_at(tokens, at) == "where":
        while at < len(tokens) and word_at(tokens, at) not in ("do", "on", ")"):
            at = max(at + 1, skip_group(tokens, at))
    is_plain = word_at(tokens, at - 1) not in (".", "as")
    return is_plain and word_at(tokens, at) == "do" and word_at(tokens, at + 1) in ("nothing", "update")


def _is_body(tokens: Tokens, at: int) -> bool:
    """`WITH x AS [NOT] MATERIALIZED (SELECT …)`."""
    as_at = at - 2 if word_at(tokens, at - 1) == "not" else at - 1
    return word_at(tokens, as_at) == "as" and word_at(tokens, at + 2) in _QUERIES


def _is_of_json_table(tokens: Tokens, at: int) -> bool:
    """`JSON_TABLE(x, '$' COLUMNS (…))`, `NESTED PATH '$' COLUMNS (…)`: right in that group."""
    if not _ends_operand(tokens, at - 1) or word_at(tokens, at - 1) == "passing":
        return False
    depth = 0
    for earlier in range(at - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(word_at(tokens, earlier), 0)
        if depth < 0:
            return word_at(tokens, earlier - 1) in ("json_table", "columns")
    return False


def _is_passing(tokens: Tokens, at: int) -> bool:
    """`XMLTABLE('/r' PASSING (x) COLUMNS …)`, `XMLEXISTS('/r' PASSING BY REF (x))`: right in that group."""
    passing = at
    if word_at(tokens, at) != "passing":
        if word_at(tokens, at - 1) != "by" or word_at(tokens, at - 2) != "passing":
            return False
        passing = at - 2
    # `PASSING passing(1)` calls a function of that name.
    if not _ends_operand(tokens, passing - 1) or word_at(tokens, passing - 1) in ("passing", "ref", "value"):
        return False
    depth = 0
    for earlier in range(passing - 1, max(passing - _LONGEST_GROUPING, 0), -1):
        depth += {")": 1, "(": -1}.get(word_at(tokens, earlier), 0)
        if depth < 0:
            return word_at(tokens, earlier - 1) in _TAKE_PASSED
    return False


def _is_operator(tokens: Tokens, at: int) -> bool:
    return operator_behind(tokens, at) is not None


def _is_seconds(tokens: Tokens, at: int) -> bool:
    """`INTERVAL '1.5' SECOND (2)`, `INTERVAL '1:2' HOUR TO SECOND (2)`; not `SIMILAR TO second(1)`."""
    before = word_at(tokens, at - 1)
    is_range = before == "to" and word_at(tokens, at - 2) in ("day", "hour", "minute")
    return is_range or before == "interval" or (at > 0 and tokens[at - 1].kind is TokenKind.STRING)


def _is_assignment(tokens: Tokens, at: int) -> bool:
    """`UPDATE t SET (a, b) = …`, `DO UPDATE SET (a, b) = …`."""
    is_named = at > 0 and tokens[at - 1].kind in NAMES and word_at(tokens, at - 1) not in _NO_OPERAND
    return is_named and _has_earlier(tokens, at, "update")


_PLACES: dict[str, Callable[[Tokens, int], bool]] = {
    "filter": _is_filter,
    "over": _is_behind_group,
    "repeatable": _is_behind_group,
    "rollup": _is_grouping,
    "cube": _is_grouping,
    "join": _is_join,
    "ilike": _is_ilike,
    "conflict": _is_conflict,
    "materialized": _is_body,
    "columns": _is_of_json_table,
    "operator": _is_operator,
    "passing": _is_passing,
    "ref": _is_passing,
    "value": _is_passing,
    "second": _is_seconds,
    "set": _is_assignment,
}
