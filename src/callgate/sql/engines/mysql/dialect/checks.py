"""What the tokens of a MySQL read or write give away, whatever the parser makes of it. Pure.

The words looked for are reserved: unquoted, and not behind a dot, they can only be the clause itself.
"""

from callgate.sql.engines.mysql.dialect import definitions, functions
from callgate.sql.guard.dialect import Fault, Tokens
from callgate.sql.guard.tokens import TokenKind
from callgate.sql.guard.verbs import skip_group

# Words before ( that call nothing in one place, and a stored function of that name in every other. Pure.
#
# MariaDB does not reserve them: each was tried on the server with a stored function of its name.
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
            return before.kind is TokenKind.STRING
        case "AGAINST":
            return before.is_operator(")") or _stands_behind_match(tokens, at)
        case _:
            return False


def _stands_behind_match(tokens: Tokens, at: int) -> bool:
    while at and (
        tokens[at - 1].kind in (TokenKind.WORD, TokenKind.QUOTED) or tokens[at - 1].text in (".", ",")
    ):
        at -= 1
        if tokens[at].word == "MATCH":
            return True
    return False


def _is_json_table(tokens: Tokens, at: int) -> bool:
    """Whether `COLUMNS (` stands in the parentheses: else it is a function that is called so."""
    end = skip_group(tokens, at + 1)
    return any(
        tokens[index].word == "COLUMNS" and tokens[index + 1].is_operator("(")
        for index in range(at + 2, end - 1)
    )


_INSERT_MODIFIERS = frozenset({"LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"})
# Reserved words of both servers that begin a statement: in a query they can stand for nothing else, but
# sqlglot would take them for aliases.
_STATEMENTS = frozenset(
    {"ALTER", "CALL", "CREATE", "DELETE", "DESCRIBE", "DROP", "GRANT", "INSERT", "KILL", "LOAD", "OPTIMIZE"}
    | {"PURGE", "RENAME", "REPLACE", "REVOKE", "SHOW", "SIGNAL", "RESIGNAL", "TRIGGER", "UNLOCK", "UPDATE"}
)
_BUILT_IN = functions.ALLOWED | functions.IN_WRITE_MODE | {"json_table"}
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
_READS = frozenset({"SELECT", "VALUES", "TABLE"})
_LATERAL_INSIDE = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})


def check_tokens(tokens: Tokens, verb: str, *, may_write: bool) -> Fault | None:
    if _crashes_mariadb(tokens):
        return Fault(
            "server_crash",
            "database.table.column in a query with USING or NATURAL JOIN can crash a MariaDB server.",
            "Give the tables short names (FROM shop.orders AS o) and write o.id.",
        )
    target_into = _into_of_target(tokens, verb)
    for at, token in enumerate(tokens):
        # `UPDATE t SET a := 1` sets a column.
        if token.is_operator(":=") and (verb in _READS or tokens[at - 1].kind is TokenKind.SESSION):
            return _assignment()
        if token.kind is not TokenKind.WORD or (at and tokens[at - 1].is_operator(".")):
            continue
        following = tokens[at + 1].word if at + 1 < len(tokens) else ""
        if token.word == "INTO" and at != target_into:
            return _into(following)
        if verb in _READS and _begins_statement(tokens, at):
            reason = f"{token.word} is not allowed inside a query."
            return _forbidden("hidden_statement", reason, f"A column of that name is written `{token.text}`.")
        if verb == "DELETE" and token.word == "HISTORY" and at == 1 and following == "FROM":
            return _forbidden("never", "DELETE HISTORY is dangerous and never allowed.", "Leave it out.")
        if token.word == "PROCEDURE":
            return _forbidden("procedure", "PROCEDURE ANALYSE is not allowed.", "Use DESCRIBE or aggregates.")
        locks = token.word == "LOCK" or (token.word == "FOR" and following in ("UPDATE", "SHARE"))
        if locks and not may_write:
            return _forbidden(
                "lock", "a SELECT that locks rows is not allowed in READ-ONLY mode.", "Leave FOR UPDATE out."
            )
        if token.word == "LAST_INSERT_ID" and not may_write and _takes_value(tokens, at):
            reason = "LAST_INSERT_ID with a value sets it for the session."
            return _forbidden("session", reason, "LAST_INSERT_ID() reads it.")
        advances = token.word == "NEXT" and following == "VALUE" and _word(tokens, at + 2) == "FOR"
        if advances and not may_write:
            return _forbidden(
                "sequence", "NEXT VALUE FOR advances a sequence.", "PREVIOUS VALUE FOR reads it."
            )
    return None


def _crashes_mariadb(tokens: Tokens) -> bool:
    """`SELECT 1 FROM d.a JOIN d.b USING (id) WHERE d.a.typo` ends MariaDB 10.11.19 (seen, found by fuzzing).

    The name must be one that the server cannot resolve; which those are, only the server knows.
    """
    merges_columns = any(
        token.word == "NATURAL" or (token.word == "USING" and _is(tokens, at + 1, "("))
        for at, token in enumerate(tokens)
    )
    return merges_columns and any(
        tokens[at].kind in _NAMES
        and _is(tokens, at + 1, ".")
        and tokens[at + 2].kind in _NAMES
        and _is(tokens, at + 3, ".")
        and tokens[at + 4].kind in _NAMES
        for at in range(len(tokens) - 4)
    )


def called(tokens: Tokens, at: int) -> str:
    """What a name before ( calls: a built-in, or else a stored function.

    Behind a dot, in backticks, or parted by a blank where the server wants none, it is never the built-in.
    """
    token = tokens[at]
    if at >= 2 and tokens[at - 1].is_operator("."):
        package = "…." if at >= 3 and tokens[at - 3].is_operator(".") else ""  # database.package.function
        return f"{package}{tokens[at - 2].name}.{token.name}"
    is_apart = token.end != tokens[at + 1].start
    is_elsewhere = token.name == "json_table" and not _is_json_table(tokens, at)
    if is_elsewhere or (token.kind is TokenKind.QUOTED and token.name in _BUILT_IN):
        return f"`{token.name}`"
    if is_apart and (
        token.name in functions.ADJACENT or (token.name in functions.WINDOW and not _is_over(tokens, at))
    ):
        return f"{token.name} "
    return token.name


def fold_name(name: str, *, is_quoted: bool) -> str:
    """MariaDB takes `t` for the CTE `T`. MySQL may not, where names of tables have a case: so a name that is
    written otherwise counts as a table's."""
    return name


def names_columns(tokens: Tokens, at: int, verb: str) -> bool:
    """A name before ( that calls nothing: a derived table's column list, or the target of a short INSERT."""
    before = tokens[at - 1] if at else None
    if before is None:
        return False
    if tokens[at].word == "LATERAL":
        inside = tokens[at + 2].word if at + 2 < len(tokens) else ""
        return (before.is_operator(",") or before.word == "JOIN") and inside in _LATERAL_INSIDE
    if tokens[at].kind not in (TokenKind.WORD, TokenKind.QUOTED):
        return False
    if calls_nothing(tokens, at):
        return True
    # `FROM (SELECT 1) AS d (a)`, `INSERT … VALUES (1) AS new (a)`: behind a group only a name can stand.
    if before.is_operator(")") or (before.word == "AS" and at >= 2 and tokens[at - 2].is_operator(")")):
        return True
    if verb in ("CREATE", "ALTER"):
        return definitions.names_columns(tokens, at)
    # `INSERT INTO t SET a = 1 AS new (x) ON DUPLICATE KEY UPDATE …`
    if verb == "INSERT" and before.word == "AS":
        return _word(tokens, skip_group(tokens, at + 1) + 1) == "DUPLICATE"
    return verb in ("INSERT", "REPLACE") and at == _bare_target(tokens)


def _bare_target(tokens: Tokens) -> int:
    """Where the table of `INSERT IGNORE shop.orders (id)` stands: INTO may be left out. -1: nowhere."""
    at = 1
    while _word(tokens, at) in _INSERT_MODIFIERS:
        at += 1
    if _word(tokens, at) == "INTO":
        at += 1
    if at + 2 < len(tokens) and tokens[at + 1].is_operator("."):
        at += 2
    return at if at < len(tokens) else -1


def _begins_statement(tokens: Tokens, at: int) -> bool:
    word = tokens[at].word
    if word not in _STATEMENTS:
        return False
    if word in ("INSERT", "REPLACE"):  # the functions of that name
        return at + 1 >= len(tokens) or not tokens[at + 1].is_operator("(")
    return not (word == "UPDATE" and tokens[at - 1].word == "FOR")


def _is_over(tokens: Tokens, at: int) -> bool:
    behind = skip_group(tokens, at + 1)
    if _word(tokens, behind) == "FROM":  # NTH_VALUE(a, 2) FROM FIRST OVER w
        return _word(tokens, behind + 1) in ("FIRST", "LAST")
    return _word(tokens, behind) in ("OVER", "RESPECT", "IGNORE")


def _into_of_target(tokens: Tokens, verb: str) -> int:
    if verb not in ("INSERT", "REPLACE"):
        return -1
    at = 1
    while _word(tokens, at) in _INSERT_MODIFIERS:
        at += 1
    return at


def _takes_value(tokens: Tokens, at: int) -> bool:
    return _is(tokens, at + 1, "(") and not _is(tokens, at + 2, ")")


def _is(tokens: Tokens, at: int, sign: str) -> bool:
    return at < len(tokens) and tokens[at].is_operator(sign)


def _word(tokens: Tokens, at: int) -> str:
    return tokens[at].word if at < len(tokens) else ""


def _into(following: str) -> Fault:
    what = f"INTO {following}" if following in ("OUTFILE", "DUMPFILE") else "SELECT … INTO"
    reason = f"{what} writes to a file or a variable and is never allowed."
    return _forbidden("into", reason, "Leave INTO out: the rows come back as the result.")


def _assignment() -> Fault:
    return _forbidden(
        "assignment",
        "assigning a variable with := is not allowed.",
        "Number rows with ROW_NUMBER() OVER (…) and sum them up with SUM(…) OVER (…).",
    )


def _forbidden(rule: str, reason: str, hint: str) -> Fault:
    return Fault(rule, reason, hint, is_forbidden=True)
