"""Stored functions that are called like a built-in one which this server does not have. Learned from it.

The guard allows the built-in functions of MySQL and MariaDB in all their versions. A name that this server
does not know as built in calls a stored function of the default database, if there is one, and that may
write. Stored functions of such names are few: each is tried on the server, which says of a call that cannot
run whose function it would be. Pure but for `learn`, which asks the database.
"""

import time
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from callgate.sql.drivers.driver import Cell
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.tokens import TokenKind, significant

# The code of the fault that stands for such a refusal; no number of the server's.
CALLS_OWN_FUNCTION = "callgate.own_function"
# A function that is made while we are connected is known after this long; only writers can make one.
_REFRESHED_AFTER_S = 60.0
# Built in only with an argument, on MariaDB: `polygon()` calls a stored function.
_BUILT_IN_WITH_ARGUMENTS = frozenset(
    ("geometrycollection", "linestring", "multilinestring", "multipoint", "multipolygon", "point", "polygon")
)
STORED_SQL = """
SELECT routine_name FROM information_schema.routines
WHERE routine_type = 'FUNCTION' AND routine_schema = DATABASE()
"""

Ask = Callable[[str], Awaitable[list[tuple[Cell, ...]]]]
IsStored = Callable[[str], Awaitable[bool]]


@dataclass(slots=True)
class OwnFunctions:
    """Shared by all connections of a source."""

    allowed: frozenset[str] = frozenset()  # by the operator's allow_functions
    built_in: frozenset[str] = frozenset()  # somewhere
    names: frozenset[str] = frozenset()  # of stored functions that a bare name would call
    names_without_arguments: frozenset[str] = frozenset()  # of those that only an empty call would
    _learned_mono: float | None = None

    @property
    def is_empty(self) -> bool:
        """There are none, as was learned not long ago: no statement calls one."""
        return not self._is_due and not self.names and not self.names_without_arguments

    @property
    def _is_due(self) -> bool:
        learned_mono = self._learned_mono
        return learned_mono is None or time.monotonic() - learned_mono >= _REFRESHED_AFTER_S

    async def learn(self, ask: Ask, is_stored: IsStored) -> None:
        """When it is time to."""
        if not self._is_due:
            return
        now = time.monotonic()
        stored = {_as_compared(str(row[0])) for row in await ask(STORED_SQL)}
        alike = sorted(stored & (self.built_in - self.allowed))
        self.names = frozenset([name for name in alike if await is_stored(name)])
        self.names_without_arguments = frozenset(alike) & _BUILT_IN_WITH_ARGUMENTS
        self._learned_mono = now

    def called_by(self, statement: Statement, dialect: Dialect) -> str | None:
        """The first of them that the statement calls."""
        if not self.names and not self.names_without_arguments:
            return None
        tokens = significant(dialect.lex(statement.text))
        for at, token in enumerate(tokens[:-1]):
            is_call = token.kind is TokenKind.WORD and tokens[at + 1].is_operator("(")
            if not is_call or (at and tokens[at - 1].is_operator(".")):
                continue
            is_empty = at + 2 < len(tokens) and tokens[at + 2].is_operator(")")
            if token.name in self.names or (is_empty and token.name in self.names_without_arguments):
                return token.name
        return None


def _as_compared(name: str) -> str:
    """Names of routines are compared without regard to case and accents."""
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
