"""Small strict grammars for what sqlglot leaves unread: EXPLAIN, SHOW, transactions, definitions. Pure."""

from callgate.sql.engines.postgres.dialect.attributes import check_attributes
from callgate.sql.engines.postgres.dialect.casts import check_casts
from callgate.sql.engines.postgres.dialect.checks import check_tokens
from callgate.sql.engines.postgres.dialect.functions import ALLOWED
from callgate.sql.engines.postgres.dialect.reading import NAMES, Reading, word_at
from callgate.sql.engines.postgres.dialect.settings_names import all_settings_fault, secret_fault
from callgate.sql.guard.dialect import Fault, FormMatch, Tokens
from callgate.sql.guard.phrases import TransactionPhrases, match_phrase
from callgate.sql.guard.tokens import TokenKind

EXPLAIN_HINT = "Explain a query: EXPLAIN SELECT …, or EXPLAIN (ANALYZE, BUFFERS) SELECT … to run it as well."
_SHOW_HINT = "SHOW name. To list the tables: SELECT table_schema, table_name FROM information_schema.tables"
_DEFINITION_HINT = "CREATE TABLE, CREATE INDEX, CREATE VIEW and ALTER TABLE … ADD or RENAME are."

_QUERIES = frozenset({"select", "with", "values", "table", "("})
_OPTIONS = frozenset(
    {
        *("analyze", "verbose", "costs", "settings", "generic_plan", "buffers", "serialize", "wal", "timing"),
        *("summary", "memory", "format"),
    }
)
_FALSE = frozenset({"false", "off", "0"})

_ISOLATION = "ISOLATION LEVEL {SERIALIZABLE | REPEATABLE READ | READ COMMITTED | READ UNCOMMITTED}"
_MODES = f"{{{_ISOLATION} | READ WRITE | READ ONLY | DEFERRABLE | NOT DEFERRABLE}}"
_MODE_LIST = f"[{_MODES} [[,] {_MODES}] [[,] {_MODES}]]"
TRANSACTION = TransactionPhrases(
    begin=(f"BEGIN [WORK | TRANSACTION] {_MODE_LIST}", f"START TRANSACTION {_MODE_LIST}"),
    end=("{COMMIT | END | ROLLBACK | ABORT} [WORK | TRANSACTION] [AND NO CHAIN]",),
    inside=(
        "SAVEPOINT name",
        "RELEASE [SAVEPOINT] name",
        "ROLLBACK [WORK | TRANSACTION] TO [SAVEPOINT] name",
    ),
)

_SHOW_WORDS = ("SHOW TIME ZONE", "SHOW TRANSACTION ISOLATION LEVEL", "SHOW SESSION AUTHORIZATION")
# What people of other engines ask for.
_FOREIGN_SHOWS = frozenset(
    {"tables", "databases", "schemas", "columns", "create", "index", "indexes", "grants"}
)

_ADDITIONS = frozenset({"add", "rename"})


def explain(tokens: Tokens) -> FormMatch | Fault:
    """`EXPLAIN [ANALYZE] [VERBOSE] statement`, `EXPLAIN (option [value], …) statement`."""
    at = 1
    runs = False
    if word_at(tokens, 1) == "(" and word_at(tokens, 2) not in _QUERIES:
        options = _explain_options(tokens)
        if options is None:
            return Fault("explain", "the options of this EXPLAIN could not be understood.", EXPLAIN_HINT)
        at, runs = options
    else:
        if word_at(tokens, at) in ("analyze", "analyse"):
            runs = True
            at += 1
        if word_at(tokens, at) == "verbose":
            at += 1
    inner = tokens[at:]
    if not inner:
        return Fault("explain", "EXPLAIN needs a statement.", EXPLAIN_HINT)
    return FormMatch(reads=(inner,)) if runs else FormMatch(explained=(inner,))


def _explain_options(tokens: Tokens) -> tuple[int, bool] | None:
    """Where the statement begins, and whether it will run; None when an option is not known."""
    at = 2
    runs = False
    while at < len(tokens):
        if tokens[at].kind not in NAMES:
            return None
        name = "analyze" if tokens[at].name == "analyse" else tokens[at].name
        if name not in _OPTIONS:
            return None
        at += 1
        value = "true"
        if word_at(tokens, at) not in (",", ")"):
            if at >= len(tokens) or tokens[at].kind not in (*NAMES, TokenKind.STRING, TokenKind.NUMBER):
                return None
            value = (tokens[at].name or tokens[at].text).lower()
            at += 1
        runs = runs or (name == "analyze" and value not in _FALSE)
        if word_at(tokens, at) == ")":
            return at + 1, runs
        if word_at(tokens, at) != ",":
            return None
        at += 1
    return None


def show(tokens: Tokens) -> FormMatch | Fault:
    if match_phrase(_SHOW_WORDS, tokens) is not None:
        return FormMatch()
    if match_phrase(("SHOW ALL",), tokens) is not None:
        return all_settings_fault()
    names = tokens[1::2]
    if not names or len(names) > 2 or any(token.kind not in NAMES for token in names):
        return Fault("show", "this SHOW could not be understood.", _SHOW_HINT)
    if len(tokens) % 2 or any(token.text != "." for token in tokens[2::2]):
        return Fault("show", "this SHOW could not be understood.", _SHOW_HINT)
    if word_at(tokens, 1) in _FOREIGN_SHOWS:
        return Fault("show", f"SHOW {word_at(tokens, 1).upper()} is not PostgreSQL.", _SHOW_HINT)
    return secret_fault(".".join(token.name for token in names)) or FormMatch()


def definition(tokens: Tokens) -> Fault | None:
    """CREATE TABLE | INDEX | VIEW, ALTER TABLE … ADD | RENAME; never in the engine's own schemas."""
    verb = word_at(tokens, 0)
    at = 1
    if verb == "create" and word_at(tokens, 1) == "or":
        at = 3
    elif verb == "create" and word_at(tokens, 1) in ("unique", "unlogged"):
        at = 2
    kind = word_at(tokens, at)
    if kind not in (("table", "index", "view") if verb == "create" else ("table",)):
        return _never(f"{verb.upper()} {kind.upper()}".strip())
    if verb == "alter" and not _only_adds(tokens):
        return _never("ALTER TABLE other than ADD and RENAME")
    for token in tokens:
        if token.kind in NAMES and token.name in ("pg_catalog", "information_schema", "pg_toast", "execute"):
            return _never(f"{token.name} in a definition")
    return check_tokens(tokens, verb.upper(), may_write=True) or _check_query(tokens)


def _check_query(tokens: Tokens) -> Fault | None:
    """Of CREATE TABLE … AS: it runs now. The columns of other tables may be of any type."""
    for at in range(1, len(tokens)):
        if word_at(tokens, at - 1) == "as" and word_at(tokens, at) in _QUERIES:
            read = Reading(tokens[at:])
            return check_casts(read, frozenset()) or check_attributes(read, ALLOWED)
    return None


def _only_adds(tokens: Tokens) -> bool:
    """The word behind the table's name, and behind each comma outside of parentheses."""
    at = 2
    if [word_at(tokens, at), word_at(tokens, at + 1)] == ["if", "exists"]:
        at += 2
    if word_at(tokens, at) == "only":
        at += 1
    at += 1
    while word_at(tokens, at) == ".":
        at += 2
    depth = 0
    is_action = True
    for index in range(at, len(tokens)):
        word = word_at(tokens, index)
        if is_action and word not in _ADDITIONS:
            return False
        depth += {"(": 1, ")": -1}.get(word, 0)
        is_action = word == "," and depth == 0
    return not is_action


def _never(what: str) -> Fault:
    return Fault(
        "ddl_kind", f"{what} is never allowed, not even with allow_ddl.", _DEFINITION_HINT, is_forbidden=True
    )
