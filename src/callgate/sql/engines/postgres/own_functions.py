"""Functions of the database's own that attribute notation could call: `o.f` and `(o).f` run f(o). Learned.

The guard does not know the schema, and takes such a name for a column. Here the names are learned with each
connection, and a statement that uses one as an attribute is refused before it is sent; a column of that name
is told from it by the table it is asked of. Pure but for `learn`, which asks the database.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.near_columns import read_tables
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.tokens import Kind, Token, fold, significant

# The code of the fault that stands for such a refusal; no SQLSTATE.
CALLS_OWN_FUNCTION = "callgate.own_function"
_NAMES = (Kind.WORD, Kind.QUOTED)
# A function that is made while we are connected is known after this long; only writers can make one.
_REFRESHED_AFTER_S = 60.0
# Functions that can be called with one argument, and which tables have a column of the same name.
_LEARN_SQL = """
WITH own AS (
    SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.prokind <> 'p'
    AND p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1 + (p.provariadic <> 0)::int
)
SELECT o.proname, s.nspname || '.' || c.relname FROM own o
LEFT JOIN pg_catalog.pg_attribute a ON a.attname = o.proname AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
LEFT JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
"""

Ask = Callable[[str], Awaitable[list[tuple[Cell, ...]]]]


@dataclass(slots=True)
class OwnFunctions:
    """Shared by all connections of a source."""

    allowed: frozenset[str] = frozenset()  # by the operator's allow_functions
    tables_by_name: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _learned_mono: float | None = None

    async def learn(self, ask: Ask) -> None:
        """When it is time to."""
        now = time.monotonic()
        if self._learned_mono is not None and now - self._learned_mono < _REFRESHED_AFTER_S:
            return
        found: dict[str, set[str]] = {}
        for name, table in await ask(_LEARN_SQL):
            tables = found.setdefault(fold(str(name)), set())
            if table is not None:
                tables.add(str(table))
        self.tables_by_name = {name: tables for name, tables in found.items() if name not in self.allowed}
        self._learned_mono = now

    def called_by(self, statement: Statement, dialect: Dialect) -> str | None:
        """The first of them that the statement calls as an attribute, or may call."""
        text = statement.text
        # Most statements mention none of them. What is escaped in a name (U&"…") only the lexer can read.
        lowered = text.lower()
        if "u&" not in lowered and not any(name in lowered for name in self.tables_by_name):
            return None
        tokens = significant(dialect.lex(text))
        for at in range(1, len(tokens) - 1):
            name = fold(tokens[at + 1].name)
            if not tokens[at].is_operator(".") or tokens[at + 1].kind not in _NAMES:
                continue
            behind = tokens[at + 2] if at + 2 < len(tokens) else None
            if behind is not None and (behind.is_operator("(") or behind.is_operator(".")):
                continue  # a call, which the guard has judged, or a schema
            if name in self.tables_by_name and not self._is_column(name, tokens, at - 1, statement, dialect):
                return name
        return None

    def _is_column(
        self, name: str, tokens: tuple[Token, ...], owner_at: int, statement: Statement, dialect: Dialect
    ) -> bool:
        """Whether whatever is called so in this statement is a table that has such a column."""
        owner = tokens[owner_at]
        if owner.kind not in _NAMES or _names_query(tokens, owner.name):
            return False
        tables = [
            table.written
            for table in read_tables(statement, dialect)
            if fold(owner.name) in (fold(table.called), fold(table.written.rpartition(".")[2]))
        ]
        having = self.tables_by_name[name]
        having_bare = {table.rpartition(".")[2] for table in having}
        return bool(tables) and all(table in (having if "." in table else having_bare) for table in tables)


def _names_query(tokens: tuple[Token, ...], name: str) -> bool:
    """`(SELECT …) o`, `f(…) AS o`, `o AS (SELECT …)`: what is called so is no table."""
    for at, token in enumerate(tokens):
        if token.kind not in _NAMES or token.name != name:
            continue
        before = tokens[at - 2] if at > 1 and tokens[at - 1].word == "AS" else tokens[at - 1] if at else None
        if before is not None and before.is_operator(")"):
            return True
        follows = [one.word or one.text for one in tokens[at + 1 : at + 3]]
        if follows[:1] == ["AS"] and follows[1:] in (["("], ["MATERIALIZED"], ["NOT"]):
            return True
    return False
