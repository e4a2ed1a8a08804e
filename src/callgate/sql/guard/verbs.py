"""What a statement does, read from the dialect's own tokens: its verb, past any WITH clause.

The parser is not asked: it takes `reindex` for a column and `REPLACE INTO` for an unknown command. Pure.
"""

from enum import StrEnum

from callgate.sql.tokens import Kind, Token


class Class(StrEnum):
    READ = "read"
    WRITE = "write"
    TRANSACTION = "transaction"
    DEFINITION = "definition"
    NEVER = "never"
    EXPLAIN = "explain"
    FORM = "form"  # the dialect has a small grammar for it
    UNKNOWN = "unknown"


_CLASS_OF: dict[str, Class] = {
    **dict.fromkeys(("SELECT", "VALUES"), Class.READ),
    **dict.fromkeys(("INSERT", "REPLACE", "UPDATE", "DELETE"), Class.WRITE),
    **dict.fromkeys(("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"), Class.TRANSACTION),
    **dict.fromkeys(("CREATE", "ALTER"), Class.DEFINITION),
    **dict.fromkeys(
        (
            *("DROP", "TRUNCATE", "ATTACH", "DETACH", "VACUUM", "REINDEX", "ANALYZE", "GRANT", "REVOKE"),
            *("FLUSH", "KILL", "LOAD", "SET", "CALL", "COPY", "MERGE", "LOCK", "INSTALL", "IMPORT", "EXPORT"),
        ),
        Class.NEVER,
    ),
    "EXPLAIN": Class.EXPLAIN,
}


def class_of(verb: str, forms: frozenset[str]) -> Class:
    return Class.FORM if verb in forms else _CLASS_OF.get(verb, Class.UNKNOWN)


def find_verb(tokens: tuple[Token, ...]) -> Token | None:
    """The token that says what happens; None when a WITH clause is not well-formed.

    `WITH a AS (…) DELETE …` is a DELETE, `((SELECT 1))` a SELECT.
    """
    if tokens[0].word == "WITH":
        at = _after_with(tokens)
        return tokens[at] if at is not None and at < len(tokens) else None
    for token in tokens:
        if not token.is_operator("("):
            return token
    return None


def _after_with(tokens: tuple[Token, ...]) -> int | None:
    at = 1
    if at < len(tokens) and tokens[at].word == "RECURSIVE":
        at += 1
    while at + 2 < len(tokens):
        if tokens[at].kind not in (Kind.WORD, Kind.QUOTED, Kind.STRING):
            return None
        at = skip_group(tokens, at + 1)
        if at >= len(tokens) or tokens[at].word != "AS":
            return None
        at += 1
        if at < len(tokens) and tokens[at].word == "NOT":
            at += 1
        if at < len(tokens) and tokens[at].word == "MATERIALIZED":
            at += 1
        behind = skip_group(tokens, at)
        if behind == at:
            return None
        at = behind
        if at >= len(tokens) or not tokens[at].is_operator(","):
            return at
        at += 1
    return None


def skip_group(tokens: tuple[Token, ...], at: int) -> int:
    """The index behind the parenthesised group that opens at `at`; `at` itself when none opens there."""
    if at >= len(tokens) or not tokens[at].is_operator("("):
        return at
    depth = 0
    for index in range(at, len(tokens)):
        if tokens[index].is_operator("("):
            depth += 1
        elif tokens[index].is_operator(")"):
            depth -= 1
            if depth == 0:
                return index + 1
    return len(tokens)
