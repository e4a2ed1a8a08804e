"""Dialect: what we know of one engine's SQL. Pure knowledge; its counterpart is `driver.Driver`.

The guard reads everything engine-specific from here, so that a further engine is a further value: lists of
names (`Vocabulary`), small pure functions that read tokens (`Grammar`), and sentences (`Wording`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from callgate.sql.guard.tokens import Token, fold

Tokens = tuple[Token, ...]  # the significant ones of one statement


class VerbClass(StrEnum):
    READ = "read"
    WRITE = "write"
    TRANSACTION = "transaction"
    DEFINITION = "definition"
    NEVER = "never"
    FORM = "form"  # the dialect has a small grammar for it
    UNKNOWN = "unknown"


class Step(StrEnum):
    """What a transaction statement does to the transaction of its call."""

    BEGIN = "begin"
    END = "end"
    INSIDE = "inside"  # savepoints: they need an open one and leave it open


# What every engine reads alike. What is not listed is refused too; NEVER only buys a better reason.
COMMON_VERBS: Mapping[str, VerbClass] = MappingProxyType(
    {
        **dict.fromkeys(("SELECT", "VALUES"), VerbClass.READ),
        **dict.fromkeys(("INSERT", "UPDATE", "DELETE"), VerbClass.WRITE),
        **dict.fromkeys(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"), VerbClass.TRANSACTION),
        **dict.fromkeys(("CREATE", "ALTER"), VerbClass.DEFINITION),
        **dict.fromkeys(
            (
                *("DROP", "TRUNCATE", "ATTACH", "DETACH", "VACUUM", "REINDEX", "ANALYZE", "GRANT", "REVOKE"),
                *("FLUSH", "KILL", "LOAD", "SET", "CALL", "COPY", "MERGE", "LOCK", "INSTALL", "IMPORT"),
                "EXPORT",
            ),
            VerbClass.NEVER,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one of a dialect's own checks does not accept a statement."""

    rule: str
    reason: str
    hint: str
    is_forbidden: bool = False  # understood, and it would change or reveal something; else: not understood


@dataclass(frozen=True, slots=True)
class FormMatch:
    """A small grammar accepted a statement, provided that what stands inside it is allowed as well."""

    reads: tuple[Tokens, ...] = ()  # inner statements that will run: each must be a read
    explained: tuple[Tokens, ...] = ()  # inner statements that will not run: read or write, never worse
    tables: tuple[str, ...] = ()  # that the form itself names, as written: DESCRIBE shop.orders


@dataclass(frozen=True, slots=True)
class Sized:
    """A function that makes as much as one of its arguments says (`guard.sizes`)."""

    place: int  # of that argument, from 0
    multiplies: bool = False  # what another argument is, so many times
    is_optional: bool = False
    of_array: bool = False  # the argument is an array of sizes: array_fill(0, ARRAY[3, 4])


class FormatStyle(StrEnum):
    PRINTF = "printf"  # %8.2f
    BRACES = "braces"  # {:>8}


# A small grammar for what the parser leaves unread.
Form = Callable[[Tokens], FormMatch | Fault]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names, as the lexer folds them, that decide what may be called or read."""

    functions: frozenset[str]  # harmless built-ins, reviewed by hand
    forbidden_functions: frozenset[str]  # never, even if the operator lists them
    table_functions: frozenset[str]  # callable in FROM, with or without parentheses
    type_names: frozenset[str]  # may stand before (10, 2) in a CAST or a column definition
    call_keywords: frozenset[str]  # words that may stand before ( without calling anything
    definition_keywords: frozenset[str]  # the same, in CREATE and ALTER only
    # Tables that show more than the operator's data; plain, or as schema.table.
    hidden_tables: frozenset[str] = frozenset()
    # Of these, schema.table, only the named columns are hidden: a query that says which columns it wants may
    # read the others.
    partly_hidden: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    hidden_prefixes: tuple[str, ...] = ()  # families of such names, unless in table_functions
    # Schemas of the engine's own, and what may be read there all the same.
    hidden_schemas: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    system_schemas: frozenset[str] = frozenset()  # may be read, never written to
    system_prefixes: tuple[str, ...] = ()  # the same for names of tables
    bare_tables: frozenset[str] = frozenset()  # need no schema before them even where all others do
    bare_prefixes: tuple[str, ...] = ()
    write_functions: frozenset[str] = frozenset()  # in write mode also these: they advance a sequence
    # Their second argument must be short and written out: nothing stops them (`guard.calls`).
    needle_functions: frozenset[str] = frozenset()
    # They make as much as a number tells them, which must be small (`guard.sizes`): by a count, by the widths
    # in a text, or from a number to a number when they stand for a value (as tables their rows are streamed).
    sized_functions: Mapping[str, Sized] = field(default_factory=dict[str, Sized])
    format_functions: Mapping[str, FormatStyle] = field(default_factory=dict[str, FormatStyle])
    series_functions: frozenset[str] = frozenset()
    calls_methods: bool = False  # `x.f(y)` calls f(x, y)
    # In a statement with such a name the values decide too, also behind a comparison (`guard.shapes`).
    valued_names: frozenset[str] = frozenset()
    telling_names: frozenset[str] = frozenset()  # further ones at which a check looks: of no plain read


def _no_fault(tokens: Tokens, verb: str, *, may_write: bool) -> Fault | None:
    return None


def _no_tree_fault(nodes: Iterable[Any]) -> Fault | None:
    return None


def _no_name_fault(tokens: Tokens, functions: frozenset[str], types: frozenset[str]) -> Fault | None:
    return None


def _no_columns(tokens: Tokens, at: int, verb: str) -> bool:
    return False


def called_as_written(tokens: Tokens, at: int) -> str:
    """The name a call is looked up by: `f`, or `schema.f`, which is on no list of built-ins."""
    if at >= 2 and tokens[at - 1].is_operator("."):
        return f"{tokens[at - 2].name}.{tokens[at].name}"
    return tokens[at].name


def fold_ascii(name: str, *, is_quoted: bool) -> str:
    return fold(name)


@dataclass(frozen=True, slots=True)
class Grammar:
    """How statements of one engine are told apart and read. Every member is pure and total."""

    verbs: Mapping[str, VerbClass]
    forms: Mapping[str, Form]  # verb -> small grammar; wins over `verbs`
    # The statement in the one spelling that sqlglot and the engine read alike. For analysis only, never run.
    canonical: Callable[[Tokens, Token], str]
    transaction: Callable[[Tokens], Step | None]  # None: not one of the few forms that are understood
    definition: Callable[[Tokens], Fault | None]  # CREATE and ALTER, once the operator allowed them
    # Reads and writes: what the tokens alone give away (INTO, locks), whatever the parser makes of it.
    check_tokens: Callable[..., Fault | None] = _no_fault
    # What runs code without a parenthesis (casts, attributes); given what may be called by name, and the
    # types of the database that are known to run none.
    check_names: Callable[[Tokens, frozenset[str], frozenset[str]], Fault | None] = _no_name_fault
    # The same on the nodes of sqlglot's tree; import sqlglot inside the function, it costs 95 ms.
    check_tree: Callable[[Iterable[Any]], Fault | None] = _no_tree_fault
    called: Callable[[Tokens, int], str] = called_as_written  # what a name before ( calls
    # A name before ( that gets a column list there and calls nothing, beyond CTEs and INSERT INTO t (…).
    names_columns: Callable[[Tokens, int, str], bool] = _no_columns
    fold_name: Callable[..., str] = fold_ascii  # as the engine compares names of tables
    locks_in_write_mode: bool = False  # SELECT … FOR UPDATE there: honest inside a transaction
    writes_in_ctes: bool = False  # WITH d AS (DELETE … RETURNING *) SELECT …: a write, and allowed as one


def _table_list_as_is(schema: str | None) -> str:
    return "information_schema.tables"


def _no_note(tables: Iterable[str], schema: str | None) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Wording:
    """How one engine is spoken about, in the tool's description and in refusals."""

    reads: str  # what may be written in every mode
    never: str  # what is refused in every mode, the words that are worth a warning
    read_hint: str  # what to write instead of a refused statement
    explain_hint: str
    hidden_hint: str  # where to look instead of a hidden table
    list_tables_sql: str  # {master} is filled in with the name of that table
    describe_table_sql: str  # {table} is filled in
    examples: tuple[str, ...]  # of the description; {master} as above
    write_examples: tuple[str, ...]
    foreign_verbs: Mapping[str, str]  # verbs of other engines -> what to write here instead
    table_list: Callable[[str | None], str] = _table_list_as_is  # where tables are listed, given the schema
    note_on: Callable[[Iterable[str], str | None], str] = _no_note  # what a reader of these should know
    explain_prefix: str = "EXPLAIN"
    qualified_name: str = "database.table"  # a table's name in full
    smallest_of: str = "least"  # the function
    # Of a source that is set up by the environment (`config.sources.environment_sources`).
    write_variable: str | None = None
    timeout_variable: str | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    name: str  # as in a DSN: "sqlite"
    display_name: str
    parser_name: str  # sqlglot's word for it
    lex: Callable[[str], tuple[Token, ...]]
    vocabulary: Vocabulary
    grammar: Grammar
    wording: Wording
    # The signs that open a text or a name and close it again. Empty: texts have no shapes (`guard.shapes`).
    quotes: str = ""

    def __hash__(self) -> int:
        # One value per engine: its name says it all (mappings cannot be hashed).
        return hash(self.name)
