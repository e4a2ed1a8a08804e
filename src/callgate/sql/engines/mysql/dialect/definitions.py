"""CREATE and ALTER, once the operator allowed them: tables, indexes and views, and nothing taken away. Pure.

Definitions are judged on their tokens alone: a strict beginning, no word that drops data or reaches files and
other servers, usual storage engines, and the calls checked like everywhere else.
"""

from callgate.sql.guard.dialect import Fault, Tokens
from callgate.sql.guard.phrases import match_phrase
from callgate.sql.guard.tokens import TokenKind, word_set

_CREATE = (
    "CREATE TABLE statement",
    "CREATE [UNIQUE | FULLTEXT | SPATIAL] INDEX statement",
    "CREATE [ALGORITHM = {UNDEFINED | MERGE | TEMPTABLE}] VIEW statement",
    "CREATE [ALGORITHM = {UNDEFINED | MERGE | TEMPTABLE}] SQL SECURITY INVOKER VIEW statement",
    "ALTER TABLE statement",
)
# Take data away, reach files or other servers, or hand the table to code of somebody's choosing.
_DANGEROUS = frozenset(
    word.upper()
    for word in word_set(
        """
        connection delete directory discard drop encrypted encryption exchange import into plugin
        tablespace trigger truncate union
        """
    )
)
_ENGINES = word_set("innodb myisam aria memory heap archive ndb ndbcluster rocksdb columnstore")
_SYSTEM = word_set("mysql information_schema performance_schema sys")
_COLUMN_TYPES = word_set(
    "bigint bool boolean char date datetime decimal int json text timestamp tinyint varchar"
)
_BEFORE_TARGET = frozenset({"TABLE", "EXISTS", "VIEW", "ON", "TO"})
_INDEX_WORDS = frozenset({"KEY", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL"})
_HINT = "CREATE TABLE, CREATE INDEX, CREATE VIEW and ALTER TABLE … ADD, MODIFY or RENAME are."


def definition(tokens: Tokens) -> Fault | None:
    if match_phrase(_CREATE, tokens) is None:
        what = " ".join(token.text for token in tokens[:3])[:60]
        return _forbidden("ddl_kind", f"{what} … is never allowed, not even with allow_ddl.")
    for at, token in enumerate(tokens):
        if token.name in _SYSTEM and tokens[at - 1].word in _BEFORE_TARGET and _is(tokens, at + 1, "."):
            return _forbidden("system_table", f"{token.name} belongs to the engine and is never written to.")
        if token.kind is not TokenKind.WORD or _is(tokens, at - 1, "."):
            continue
        if token.word in _DANGEROUS and not _is_harmless(tokens, at):
            if token.word in ("DROP", "TRUNCATE"):
                reason = f"{token.word} operations are dangerous and blocked even in WRITE mode."
            else:
                reason = f"{token.word} in a definition is never allowed, not even with allow_ddl."
            return _forbidden("never", reason)
        if token.word == "ENGINE" and not _is_usual_engine(tokens, at):
            return _forbidden("ddl_kind", "this storage engine is not one of the usual ones.")
    return None


def names_columns(tokens: Tokens, at: int) -> bool:
    """`KEY name (columns)`, and `column(20)` inside such a list: a prefix, not a call."""
    if tokens[at - 1].word in _INDEX_WORDS:
        return True
    is_size = at + 3 < len(tokens) and tokens[at + 2].kind is TokenKind.NUMBER and _is(tokens, at + 3, ")")
    opening = _enclosing(tokens, at) if is_size else -1
    if opening < 2:
        return False
    is_index_of_create = any(token.word == "INDEX" for token in tokens[1:3]) and opening == _first(tokens)
    return (
        is_index_of_create
        or tokens[opening - 1].word in _INDEX_WORDS
        or tokens[opening - 2].word in _INDEX_WORDS
    )


def _is_harmless(tokens: Tokens, at: int) -> bool:
    """`ON DELETE CASCADE`, TRUNCATE() the function, UNION in a query, a column of such a name."""
    word = tokens[at].word
    if word == "DELETE":
        return tokens[at - 1].word == "ON"
    if word == "TRUNCATE":
        return _is(tokens, at + 1, "(")
    if word == "UNION":
        return any(token.word in ("SELECT", "VALUES", "TABLE") for token in tokens[2:at])
    is_column = _is(tokens, at - 1, "(") or _is(tokens, at - 1, ",") or tokens[at - 1].word == "COLUMN"
    return is_column and at + 1 < len(tokens) and tokens[at + 1].name in _COLUMN_TYPES


def _is_usual_engine(tokens: Tokens, at: int) -> bool:
    behind = at + 2 if _is(tokens, at + 1, "=") else at + 1
    engines = _ENGINES - {"memory", "heap"} if tokens[0].word == "ALTER" else _ENGINES
    return behind < len(tokens) and tokens[behind].name in engines


def _is(tokens: Tokens, at: int, sign: str) -> bool:
    return 0 <= at < len(tokens) and tokens[at].is_operator(sign)


def _first(tokens: Tokens) -> int:
    return next((at for at, token in enumerate(tokens) if token.is_operator("(")), -1)


def _enclosing(tokens: Tokens, at: int) -> int:
    """Where the parenthesis around `at` opens; -1: nowhere."""
    depth = 0
    for index in range(at - 1, -1, -1):
        if tokens[index].is_operator(")"):
            depth += 1
        elif tokens[index].is_operator("("):
            if depth == 0:
                return index
            depth -= 1
    return -1


def _forbidden(rule: str, reason: str) -> Fault:
    return Fault(rule, reason, _HINT, is_forbidden=True)
