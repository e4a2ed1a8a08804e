"""An unknown column: which tables of the statement it can be of, and what those have instead. Pure.

The engine says which name it did not find; drivers ask the schema for the columns of these tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from callgate.model.near_miss import near_names
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.tokens import Token, TokenKind, fold, significant, word_set

_MOST_TABLES = 5  # each costs a question to the database
_MOST_NEAR = 3  # of several candidates the reader picks one
_MOST_COLUMNS = 20  # named where none is near; wider tables are counted
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
# What may follow a table that has no other name. A word that is missing here costs a suggestion, no more.
_BEHIND_TABLE = word_set(
    """
    ANTI ASOF CROSS EXCEPT FETCH FOR FORCE FULL GROUP HAVING IGNORE INDEXED INNER INTERSECT JOIN LATERAL LEFT
    LIMIT NATURAL NOT OFFSET ON ORDER OUTER PARTITION POSITIONAL QUALIFY RETURNING RIGHT SELECT SEMI SET
    STRAIGHT_JOIN TABLESAMPLE UNION USE USING VALUES WHERE WINDOW
    """
)


@dataclass(frozen=True, slots=True)
class ReadTable:
    written: str  # shop.orders
    called: str  # o, or orders where it has no other name in the statement


def tables_of_column(wanted: str, statement: Statement, dialect: Dialect) -> list[ReadTable]:
    """Of `c.name` the table that is called c; of `name`, or where nothing is called so, all of them."""
    tables = read_tables(statement, dialect)
    owner = _last(wanted.rpartition(".")[0]).lower()
    meant = [table for table in tables if owner in (table.called.lower(), _last(table.written).lower())]
    return list(dict.fromkeys(meant or tables))[:_MOST_TABLES]


def read_tables(statement: Statement, dialect: Dialect) -> list[ReadTable]:
    """Each table as often as it is read, by the name behind it: `shop.orders o`, `shop.orders AS o`."""
    tokens = significant(dialect.lex(statement.text))
    found: list[ReadTable] = []
    for table in statement.tables:
        parts = [fold(part) for part in table.split(".")]
        width = 2 * len(parts) - 1
        aliases = [
            _alias_behind(tokens, at + width)
            for at in range(len(tokens) - width + 1)
            if [fold(token.name) for token in tokens[at : at + width : 2]] == parts
            and all(token.is_operator(".") for token in tokens[at + 1 : at + width : 2])
        ]
        found += [ReadTable(table, alias or _last(table)) for alias in aliases or [None]]
    return found


def column_advice(wanted: str, found: Sequence[tuple[ReadTable, Sequence[str]]]) -> tuple[str, str | None]:
    """A line for the error's hint, and the table that is worth a look."""
    known = [(table, columns) for table, columns in found if columns]
    near = near_names(_last(wanted), {column for _, columns in known for column in columns})
    matches = [(table, name) for name in near for table, columns in known if name in columns][:_MOST_NEAR]
    if matches:
        shown = [name if len(found) == 1 else f"{table.called}.{name}" for table, name in matches]
        return f"Did you mean: {', '.join(shown)}?\n", matches[0][0].written
    line = "".join(f"{table.written} has the columns {_listed(columns)}.\n" for table, columns in known)
    return line, found[0][0].written if found else None


def _listed(columns: Sequence[str]) -> str:
    more = len(columns) - _MOST_COLUMNS
    return ", ".join(columns[:_MOST_COLUMNS]) + (f" and {more} more" if more > 0 else "")


def _alias_behind(tokens: Sequence[Token], at: int) -> str | None:
    if at < len(tokens) and tokens[at].word == "AS":
        at += 1
    if at >= len(tokens) or tokens[at].kind not in _NAMES or tokens[at].word in _BEHIND_TABLE:
        return None
    return tokens[at].spelled


def _last(name: str) -> str:
    return name.rpartition(".")[2]
