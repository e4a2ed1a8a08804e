"""Dialect: what we know of one engine's SQL. Pure knowledge; its counterpart is `driver.Driver`.

The guard reads everything engine-specific from here, so that a further engine is a further value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from callgate.sql.tokens import Token


@dataclass(frozen=True, slots=True)
class FormFault:
    """One of our small grammars did not accept a statement."""

    rule: str
    reason: str
    hint: str
    is_write: bool = False  # understood well enough to say that it would change something


# A small grammar for what the parser leaves unread: the significant tokens in, None when harmless.
Form = Callable[[tuple[Token, ...]], FormFault | None]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names, all ASCII-lowered, that decide what may be called or read."""

    functions: frozenset[str]  # harmless built-ins, reviewed by hand
    forbidden_functions: frozenset[str]  # never, even if the operator lists them
    table_functions: frozenset[str]  # callable in FROM, with or without parentheses
    type_names: frozenset[str]  # may stand before (10, 2) in a CAST or a column definition
    call_keywords: frozenset[str]  # words that may stand before ( without calling anything
    definition_keywords: frozenset[str]  # the same, in CREATE and ALTER only
    hidden_tables: frozenset[str]  # virtual tables that show more than the operator's data
    hidden_prefixes: tuple[str, ...]  # families of such names, unless in table_functions
    # Their second argument must be short and written out: nothing stops them (`guard.needles`).
    needle_functions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Dialect:
    name: str  # as in a DSN: "sqlite"
    display_name: str
    parser_name: str  # sqlglot's word for it
    lex: Callable[[str], tuple[Token, ...]]
    vocabulary: Vocabulary
    forms: Mapping[str, Form]  # verb -> small grammar, for statements that the parser cannot judge
    foreign_verbs: Mapping[str, str]  # verbs of other engines -> what to write here instead
    list_tables_sql: str  # {master} is filled in with the catalogue's name
    describe_table_sql: str  # {table} is filled in

    def __hash__(self) -> int:
        # One value per engine: its name says it all (mappings cannot be hashed).
        return hash(self.name)
