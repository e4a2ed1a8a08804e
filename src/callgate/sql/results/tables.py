"""Markdown: a result as a table that a person and a model can read. Pure.

NULL and the empty text look different, and so do a line break and the two characters \\n: every escape
here can be undone. A line break or a pipe inside a cell would break the table.
"""

import re
from collections.abc import Sequence
from typing import cast

from callgate.sql.drivers.driver import Cell, Column

_ESCAPED = "\\|\n\r\t"
_ESCAPES = str.maketrans(dict(zip(_ESCAPED, ("\\\\", "\\|", "\\n", "\\r", "\\t"), strict=True)))
_has_escapes = re.compile(f"[{re.escape(_ESCAPED)}]").search
_SHOWN_WITH_CARE = {str, type(None)}


def header_lines(columns: Sequence[Column]) -> str:
    names = " | ".join(column.name.translate(_ESCAPES) for column in columns)
    rule = " | ".join("---" for _ in columns)
    return f"| {names} |\n| {rule} |"


def row_lines(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """The lines of all rows, a column at a time: most hold nothing to be escaped, seen at one look."""
    if not rows or not rows[0]:
        return [row_line(row) for row in rows]
    columns = [_shown_column(column) for column in zip(*rows, strict=True)]
    return [f"| {' | '.join(cells)} |" for cells in zip(*columns, strict=True)]


def row_line(row: Sequence[Cell]) -> str:
    return f"| {' | '.join(map(_shown, row))} |"


def _shown_column(column: Sequence[Cell]) -> Sequence[str]:
    types = set(map(type, column))
    if types == {str}:
        texts = cast(Sequence[str], column)
        joined = "".join(texts)
        if "" not in texts and "NULL" not in texts and not any(mark in joined for mark in _ESCAPED):
            return texts
    elif not types & _SHOWN_WITH_CARE:
        return list(map(str, column))
    return list(map(_shown, column))


def _shown(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    if not isinstance(cell, str):
        return str(cell)
    if cell in ("", "NULL"):
        return f"'{cell}'"
    return cell.translate(_ESCAPES) if _has_escapes(cell) else cell
