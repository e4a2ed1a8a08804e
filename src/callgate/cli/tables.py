"""Rows for people: a table that fits the terminal, or plain lines with tabs where nobody watches."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from callgate.cli.terminal import stderr, stdout
from callgate.model.terminal_text import one_safe_line


@dataclass(frozen=True, slots=True)
class TableColumn:
    title: str
    is_number: bool = False
    shrinks: bool = False  # gives way when the terminal is narrow; the others are shown whole
    is_spare: bool = False  # is left out when that is not enough


def print_table(columns: Sequence[TableColumn], rows: Sequence[Sequence[Any]]) -> None:
    columns = [replace(column, title=one_safe_line(column.title)) for column in columns]
    texts = [[_text(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in ([column.title for column in columns], *texts):
            sys.stdout.write("\t".join(row) + "\n")
        return
    from rich.table import Table
    from rich.text import Text

    console = stdout()
    every = columns
    columns, texts = _that_fit(every, texts, console.width)
    taken = sum(_width(column, at, texts) for at, column in enumerate(columns) if not column.shrinks)
    shrinking = sum(column.shrinks for column in columns)
    room = (console.width - taken - _GAP * len(columns)) // max(1, shrinking)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for at, column in enumerate(columns):
        table.add_column(
            Text(column.title),  # not markup
            justify="right" if column.is_number else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=None if column.shrinks else _width(column, at, texts),
            max_width=max(room, 1) if column.shrinks else None,
        )
    for row in texts:
        table.add_row(*(Text(text, style=_STYLES.get(text, "")) for text in row))
    console.print(table)
    if missing := [column.title for column in every if column not in columns]:
        told = f"No room for {', '.join(missing)}: a wider terminal or --json shows all"
        stderr().print(told, style="dim", markup=False)


def _that_fit(
    columns: Sequence[TableColumn], rows: list[list[str]], width: int
) -> tuple[Sequence[TableColumn], list[list[str]]]:
    kept = list(range(len(columns)))
    spare = [at for at, column in enumerate(columns) if column.is_spare]
    while spare and sum(_width(columns[at], at, rows) + _GAP for at in kept) > width:
        kept.remove(spare.pop())
    return [columns[at] for at in kept], [[row[at] for at in kept] for row in rows]


def _width(column: TableColumn, at: int, rows: list[list[str]]) -> int:
    """What it needs, at least."""
    if column.shrinks:
        return _SHRUNK
    return max([len(column.title), *(len(row[at]) for row in rows)])


_SHRUNK = 12
_GAP = 2


_STYLES = {
    "answered": "green",
    "tool_error": "yellow",
    "refused": "magenta",
    "failed": "red",
    "lost": "red",
    "cancelled": "dim",
}


def moment(value: str | None) -> str:
    """In the person's own time; the day only when it is another one."""
    if value is None:
        return ""
    at = datetime.fromisoformat(value).astimezone()
    is_today = at.date() == datetime.now().astimezone().date()
    return at.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")


def milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _text(value: Any) -> str:
    return "" if value is None else one_safe_line(str(value))
