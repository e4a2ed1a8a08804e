"""Markdown: a result as a table that a person and a model can read. Pure.

NULL and the empty text look different, and so do a line break and the two characters \\n: every escape
here can be undone. A line break or a pipe inside a cell would break the table.
"""

import re
from collections.abc import Sequence

from callgate.sql.driver import Cell, Column

_ESCAPES = str.maketrans({"\\": "\\\\", "|": "\\|", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_has_escapes = re.compile(r"[\\|\n\r\t]").search


def header_lines(columns: Sequence[Column]) -> str:
    names = " | ".join(column.name.translate(_ESCAPES) for column in columns)
    rule = " | ".join("---" for _ in columns)
    return f"| {names} |\n| {rule} |"


def row_line(row: Sequence[Cell]) -> str:
    """The hot part of an answer: most rows hold nothing to be escaped, which is seen at one look."""
    if None in row or "" in row or "NULL" in row:
        return f"| {' | '.join(map(_shown, row))} |"
    plain = "\0".join([cell if isinstance(cell, str) else str(cell) for cell in row])
    if _has_escapes(plain) or plain.count("\0") >= len(row):
        return f"| {' | '.join(map(_shown, row))} |"
    return f"| {plain.replace(chr(0), ' | ')} |"


def _shown(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    if not isinstance(cell, str):
        return str(cell)
    if cell in ("", "NULL"):
        return f"'{cell}'"
    return cell.translate(_ESCAPES) if _has_escapes(cell) else cell
