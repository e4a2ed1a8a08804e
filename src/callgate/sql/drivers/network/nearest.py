"""Did you mean …? for names in a database: one line for an error's hint. Pure."""

from collections.abc import Iterable

from callgate.model.near_miss import near_names
from callgate.sql.drivers.driver import Cell

_MOST = 3  # of several candidates the reader picks one
# A database may have tens of thousands of tables: it sorts them itself, and tells us of the likeliest.
NEAR = 500
_PIECE = 3  # letters
_MAX_PIECES = 20


def pieces_of(word: str) -> tuple[str, ...]:
    """What a name that is meant shares with the word, mostly: each three letters in a row."""
    letters = word.casefold()[: _MAX_PIECES + _PIECE - 1]
    return tuple(dict.fromkeys(letters[at : at + _PIECE] for at in range(max(len(letters) - _PIECE + 1, 1))))


def did_you_mean(wanted: str, names: Iterable[str]) -> str:
    return _line(near_names(wanted, names))


def did_you_mean_table(schema: str, table: str, known: Iterable[tuple[Cell, ...]]) -> str:
    """`known` are pairs of schema and table. The same name elsewhere, else those near by, else any."""
    by_table: dict[str, list[str]] = {}
    near_by: list[str] = []
    for owner, name in known:
        by_table.setdefault(str(name), []).append(f"{owner}.{name}")
        if str(owner) == schema:
            near_by.append(str(name))
    found = by_table.get(table) or [f"{schema}.{name}" for name in near_names(table, near_by)]
    return _line((found or [full for name in near_names(table, by_table) for full in by_table[name]])[:_MOST])


def first_column(rows: Iterable[tuple[Cell, ...]]) -> list[str]:
    return [str(row[0]) for row in rows]


def _line(near: list[str]) -> str:
    return f"Did you mean: {', '.join(near)}?\n" if near else ""
