"""The engine's own gate: SQLite asks it about every table, function and pragma while it prepares a statement.

Default deny, and independent of the guard: with the guard switched off it still stops every write and every
change of the schema (tests/sql/guard/test_corpus.py runs the attacks against it alone). Pure decision.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from callgate.sql.engines.sqlite.dialect import functions, pragmas
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import fold

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]

_SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"})
_WRITES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_TRANSACTIONS = frozenset({sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT})
# Nothing TEMP: it would stay on the pooled connection and be seen by the next caller. CREATE INDEX asks for
# REINDEX of the new index; the statement REINDEX itself is the guard's to refuse, and harmless.
_DEFINITIONS = frozenset(
    {
        *(sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_VIEW),
        *(sqlite3.SQLITE_ALTER_TABLE, sqlite3.SQLITE_REINDEX),
    }
)
_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE})


@dataclass(frozen=True, slots=True)
class _Gate:
    policy: Policy
    callable_names: frozenset[str]
    plans_write: bool

    def allows(self, action: int, first: str, second: str | None) -> bool:
        match action:
            case sqlite3.SQLITE_READ:
                return self._may_read(fold(first))
            case sqlite3.SQLITE_FUNCTION:
                return fold(second or "") in self.callable_names
            case sqlite3.SQLITE_PRAGMA:
                return pragmas.may_run(fold(first), second)
            case _ if action in _WRITES:
                return self._may_write(action, fold(first))
            case _ if action in _TRANSACTIONS:
                return self.policy.may_write
            case _ if action in _DEFINITIONS:
                return self.policy.may_define
            case _:
                return action in _READS

    def _may_read(self, table: str) -> bool:
        vocabulary = self.policy.dialect.vocabulary
        if table in vocabulary.table_functions:
            return True
        return table not in vocabulary.hidden_tables and not table.startswith(vocabulary.hidden_prefixes)

    def _may_write(self, action: int, table: str) -> bool:
        if table not in _SCHEMA_TABLES:
            return (self.policy.may_write or self.plans_write) and not table.startswith("sqlite_")
        if self.policy.may_define:
            return action != sqlite3.SQLITE_DELETE
        # Connecting a virtual table (json_each, FTS) parses its declaration and asks for this. A real UPDATE
        # of the schema fails all the same: it needs PRAGMA writable_schema, which is denied.
        return action == sqlite3.SQLITE_UPDATE


def make_authorizer(policy: Policy, *, plans_write: bool = False) -> Authorizer:
    """`plans_write`: for EXPLAIN of a write, which SQLite prepares and does not run."""
    callable_names = policy.functions | functions.OF_OPERATORS
    if policy.may_define:
        callable_names |= functions.OF_ALTER
    gate = _Gate(policy, callable_names, plans_write)

    def authorize(action: int, first: str | None, second: str | None, db: str | None, _by: str | None) -> int:
        # With the file attached as a schema, main is an empty database in memory: what is made there is lost.
        if policy.schema and db == "main" and action in _DEFINITIONS:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if gate.allows(action, first or "", second) else sqlite3.SQLITE_DENY

    return authorize
