"""A DuckDB statement in the spelling that sqlglot reads. For analysis only, never run. Pure.

Every name and every text stays; only signs and words that sqlglot does not know are put in others' places.
"""

from itertools import takewhile

from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Token, TokenKind

PIVOTS = frozenset({"PIVOT", "UNPIVOT", "PIVOT_WIDER", "PIVOT_LONGER"})
_PIVOT_WORDS = {"PIVOT_WIDER": "PIVOT", "PIVOT_LONGER": "UNPIVOT"}
_BEHIND_PIVOT = frozenset({"ORDER", "LIMIT", "OFFSET"})
# Binary operators that sqlglot lacks: which one it is changes no verdict.
_AS_EQUALS = frozenset({"~~~", "!~~~", "!~", "!~*", "~~*", "!~~", "!~~*", "<->", "<=>", "^@"})
_OPENS_QUERY = frozenset({"SELECT", "FROM", "WITH", "VALUES", "TABLE"}) | PIVOTS
# Functions that sqlglot takes for a join (APPLY) or for Presto's with four arguments (reduce).
_FULL_NAMES = {"APPLY": "list_apply", "REDUCE": "list_reduce"}
# In FROM, a statement in parentheses that tells about a table or a query.
TELLING = frozenset({"DESCRIBE", "DESC", "SUMMARIZE"})


def canonical(tokens: Tokens, verb: Token) -> str:
    pieces: list[str] = []
    pivot_depth: int | None = None  # of the parentheses, while the statement's own PIVOT is open
    depth = 0
    skip_until = -1
    for at, token in enumerate(tokens):
        if at <= skip_until:
            continue
        if pivot_depth is not None and depth == pivot_depth and _ends_pivot(tokens, at):
            pieces.append(")")
            pivot_depth = None
        if token.is_operator("("):
            depth += 1
        elif token.is_operator(")"):
            depth -= 1
        if token is verb and verb.word in PIVOTS:
            pieces += ["SELECT * FROM (", _PIVOT_WORDS.get(verb.word, verb.word)]
            pivot_depth = depth
        elif _tells(tokens, at):
            if not _opens_query(tokens, at + 1):
                pieces.append("SELECT * FROM")
                skip_until = at + 1 if tokens[at + 1].word == "TABLE" else at
        elif (listing := listed_behind(tokens, at)) is not None:
            pieces.append("SELECT 1")
            skip_until = listing
        elif verb.word == "INSERT" and _is_by_position(tokens, at):
            skip_until = at + 1
        else:
            pieces.append(_piece(tokens, at))
    if pivot_depth is not None:
        pieces.append(")")
    return " ".join(pieces)


def _is_by_position(tokens: Tokens, at: int) -> bool:
    """`INSERT INTO t BY POSITION SELECT …`, which is what INSERT does anyway; not `ORDER BY position`."""
    words = [token.word for token in tokens[at : at + 2]]
    return words == ["BY", "POSITION"] and tokens[at - 1].word not in ("ORDER", "GROUP", "PARTITION")


def _piece(tokens: Tokens, at: int) -> str:
    token = tokens[at]
    if token.kind is TokenKind.STRING:
        if tokens[at - 1].kind is TokenKind.STRING and at > 0:
            return ""  # it was joined with the one before
        parts = (part.name for part in takewhile(lambda part: part.kind is TokenKind.STRING, tokens[at:]))
        return "'" + "".join(parts).replace("'", "''") + "'"  # E'…' and $$…$$ too
    if token.kind is TokenKind.BLOB:
        return "'0'"
    if token.kind is TokenKind.OPERATOR:
        if token.text in ("!", "@"):  # factorial and absolute value
            return ""
        if token.text == "%" and at + 1 < len(tokens) and tokens[at + 1].kind is TokenKind.NUMBER:
            return "*"  # behind LIMIT sqlglot takes it for a percentage; both bind alike
        return "=" if token.text in _AS_EQUALS else token.text
    if token.word == "TABLE":
        return "SELECT * FROM"  # reserved: it cannot be a name
    if token.word in _FULL_NAMES and at + 1 < len(tokens) and tokens[at + 1].is_operator("("):
        return _FULL_NAMES[token.word]
    return _PIVOT_WORDS.get(token.word, token.text)


def _ends_pivot(tokens: Tokens, at: int) -> bool:
    if tokens[at].is_operator(")") or tokens[at].word in _BEHIND_PIVOT:
        return True
    return tokens[at].word == "USING" and at + 1 < len(tokens) and tokens[at + 1].word == "SAMPLE"


def _opens_query(tokens: Tokens, at: int) -> bool:
    if at < len(tokens) and tokens[at].word == "TABLE":
        return False
    return at < len(tokens) and (tokens[at].is_operator("(") or tokens[at].word in _OPENS_QUERY)


def _tells(tokens: Tokens, at: int) -> bool:
    """`FROM (DESCRIBE orders)`, `FROM (SUMMARIZE SELECT …)`."""
    return (
        0 < at < len(tokens) - 1 and tokens[at].word in TELLING and tokens[at - 1].is_operator("(")
    ) and not tokens[at + 1].is_operator(")")


def listed_behind(tokens: Tokens, at: int) -> int | None:
    """`FROM (SHOW [ALL] TABLES)`: where its last word stands; None when there is no such thing."""
    if not 0 < at < len(tokens) - 2 or tokens[at].word != "SHOW" or not tokens[at - 1].is_operator("("):
        return None
    last = at + 2 if tokens[at + 1].word == "ALL" else at + 1
    is_listing = tokens[last].word in ("TABLES", "DATABASES", "SCHEMAS")
    closes = last + 1 < len(tokens) and tokens[last + 1].is_operator(")")
    return last if is_listing and closes else None
