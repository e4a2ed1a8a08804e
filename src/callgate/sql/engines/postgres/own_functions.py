"""Functions that attribute notation could call: `o.f` and `(o).f` run f(o). Learned from the database.

The guard does not know the schema, and takes such a name for a column. Here the names are learned with each
connection: every function of the database's own, and those built in that are on no list of harmless ones
(extensions such as Citus add functions to pg_catalog). A statement that uses one as an attribute is refused
before it is sent; a column of that name is told from it by the table it is asked of. Pure but for `learn`,
which asks the database.
"""

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from callgate.sql.drivers.driver import Cell
from callgate.sql.drivers.near_columns import read_tables
from callgate.sql.engines.postgres.dialect.attributes import attribute_dots
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.tokens import Token, TokenKind, fold, significant

# The code of the fault that stands for such a refusal; no SQLSTATE.
CALLS_OWN_FUNCTION = "callgate.own_function"
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
# A function that is made while we are connected is known after this long; only writers can make one.
_REFRESHED_AFTER_S = 60.0
# Functions that can be called with one argument. No value is of the type internal, so that functions of it
# cannot be called. $1: those built in that are harmless.
_OWN_SQL = """
SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE (n.nspname NOT IN ('pg_catalog', 'information_schema') OR p.proname <> ALL ($1::pg_catalog.name[]))
AND p.prokind <> 'p' AND p.proargtypes[0] <> 'pg_catalog.internal'::pg_catalog.regtype
AND p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1 + (p.provariadic <> 0)::int
"""
# An answer to us is cut when it is long, and a name that was cut off would not be refused.
_PAGE = 2_000
_LONGEST_NAME_BYTES = 63
_NAMES_SQL = f"""
SELECT proname FROM ({_OWN_SQL}) o WHERE proname > $2::pg_catalog.name ORDER BY proname LIMIT $3
"""  # noqa: S608 - texts of ours
# Which tables have a column of such a name, and whether that is the table which is read when its name is
# written without a schema. When this answer is cut, columns are taken for functions, which is safe.
_COLUMNS_SQL = f"""
SELECT o.proname, s.nspname || '.' || c.relname, c.relname, pg_catalog.pg_table_is_visible(c.oid)
FROM ({_OWN_SQL}) o
JOIN pg_catalog.pg_attribute a ON a.attname = o.proname AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
"""  # noqa: S608 - texts of ours
_WORD = re.compile(r"[a-z0-9_$\x80-\U0010FFFF]+")

_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})

Ask = Callable[..., Awaitable[list[tuple[Cell, ...]]]]  # of a text, and of the values of $1, $2 …


@dataclass(slots=True)
class OwnFunctions:
    """Shared by all connections of a source."""

    allowed: frozenset[str] = frozenset()  # by the operator's allow_functions
    harmless: frozenset[str] = frozenset()  # of those built in
    # Function -> the tables that have a column of that name: `shop.orders`, and `orders` where that will do.
    tables_by_name: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _words: frozenset[str] = frozenset()  # the names without regard to case
    _has_odd_names: bool = False  # of several words, with a quote in it, or as long as a name can be
    _learned_mono: float | None = None

    async def learn(self, ask: Ask) -> None:
        """When it is time to."""
        now = time.monotonic()
        if self._learned_mono is not None and now - self._learned_mono < _REFRESHED_AFTER_S:
            return
        harmless = ",".join(name for name in self.harmless if _WORD.fullmatch(name))
        found: dict[str, set[str]] = {}
        last = ""
        while names := [str(row[0]) for row in await ask(_NAMES_SQL, f"{{{harmless}}}", last, str(_PAGE))]:
            found |= {name: set() for name in names if fold(name) not in self.allowed}
            last = names[-1]
        for name, table, bare_table, is_visible in await ask(_COLUMNS_SQL, f"{{{harmless}}}"):
            tables = found.get(str(name), set())
            tables.add(str(table))
            if is_visible:
                tables.add(str(bare_table))
        self.tables_by_name = found
        self._words = frozenset(fold(name) for name in found)
        self._has_odd_names = not all(
            _WORD.fullmatch(word) and len(word.encode()) < _LONGEST_NAME_BYTES for word in self._words
        )
        self._learned_mono = now

    def called_by(self, statement: Statement, dialect: Dialect) -> str | None:
        """The first of them that the statement calls as an attribute, or may call."""
        text = fold(statement.text)
        # Most statements mention none of them. What is escaped in a name (U&"…") only the lexer can read.
        may_be_hidden = self._has_odd_names or "u&" in text
        if not may_be_hidden and self._words.isdisjoint(_WORD.findall(text)):
            return None
        tokens = significant(dialect.lex(statement.text))
        for at in attribute_dots(tokens):
            name = _as_stored(tokens[at + 1].name)
            if name not in self.tables_by_name or _names_table(tokens, at - 1):
                continue
            if not self._is_column(name, tokens, at - 1, statement, dialect):
                return name
        return None

    def _is_column(
        self, name: str, tokens: tuple[Token, ...], owner_at: int, statement: Statement, dialect: Dialect
    ) -> bool:
        """Whether whatever is called so in this statement is a table that has such a column."""
        owner = tokens[owner_at]
        is_plain = owner.kind in _NAMES and not _hangs_on_group(tokens, owner_at)
        if not is_plain or _names_query(tokens, owner.name):
            return False
        tables = [
            table.written
            for table in read_tables(statement, dialect)
            if fold(owner.name) in (fold(table.called), fold(table.written.rpartition(".")[2]))
        ]
        # Whether a name was quoted is not known here: in capitals it may be one table or another.
        return bool(tables) and {*tables, *map(fold, tables)} <= self.tables_by_name[name]


def _as_stored(name: str) -> str:
    """PostgreSQL cuts off what is too long for a name."""
    return name.encode(errors="surrogatepass")[:_LONGEST_NAME_BYTES].decode(errors="ignore")


def _names_table(tokens: tuple[Token, ...], owner_at: int) -> bool:
    """`FROM information_schema.columns`: a table, not what `x IS DISTINCT FROM o.columns` asks for.

    Only right behind FROM and JOIN: commas part expressions too.
    """
    at = owner_at
    while at >= 2 and tokens[at - 1].is_operator(".") and tokens[at - 2].kind in _NAMES:
        at -= 2
    before = tokens[at - 1] if at else None
    if before is None or before.word != "FROM":
        return before is not None and before.word == "JOIN"
    if at >= 2 and tokens[at - 2].word == "DISTINCT":
        return False
    depth = 0
    for earlier in range(at - 2, -1, -1):
        depth += tokens[earlier].is_operator(")") - tokens[earlier].is_operator("(")
        if depth < 0:  # of a query, and not of EXTRACT(epoch FROM o.f) or TRIM(FROM o.f)
            return tokens[earlier + 1].word in _QUERIES
    return True


def _hangs_on_group(tokens: tuple[Token, ...], at: int) -> bool:
    """`(x).a.b`: a is an attribute of x and no table."""
    while at >= 2 and tokens[at - 1].is_operator("."):
        at -= 2
    return tokens[at].kind not in _NAMES


def _names_query(tokens: tuple[Token, ...], name: str) -> bool:
    """`(SELECT …) o`, `f(…) AS o`, `o AS (SELECT …)`: what is called so is no table. The columns of
    `orders o (a, b)` go by other names."""
    for at, token in enumerate(tokens):
        if token.kind not in _NAMES or token.name != name:
            continue
        before = tokens[at - 2] if at > 1 and tokens[at - 1].word == "AS" else tokens[at - 1] if at else None
        if before is not None and before.is_operator(")"):
            return True
        follows = [one.word or one.text for one in tokens[at + 1 : at + 3]]
        if follows[:1] == ["("]:
            return True
        if follows[:1] == ["AS"] and follows[1:] in (["("], ["MATERIALIZED"], ["NOT"]):
            return True
    return False
