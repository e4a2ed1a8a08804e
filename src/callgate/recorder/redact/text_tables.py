"""Texts in which a secret's name heads a column: Markdown, the tables of psql and mysql, CSV, INSERT.

Every line is looked at once: what belongs to a table is not taken for the head of another.
"""

import re
from collections.abc import Iterable

from callgate.recorder.redact.secret_names import NameKind, kind_of
from callgate.recorder.redact.secret_values import is_secret_value
from callgate.recorder.redact.value_extents import Name, Span

_RULE = re.compile(r"[\s|+:=-]*-[\s|+:=-]*", re.ASCII)
_HEAD_CELL = re.compile(r"\s*[\"'`*]*((?:2fa|[A-Za-z_])[\w .\xc3\xb1\x91-]{0,60}?)[\"'`*]*\s*", re.ASCII)
_KEY_AND_VALUE = re.compile(r"\|\s*values?\s*\|", re.IGNORECASE)
_EXPANDED = "-[ RECORD"
_INSERT = re.compile(
    r"\binto\s+(?:table\s+)?[\w.`\"\[\]$]{1,200}\s*\(([^()]{1,4000})\)\s*(?:overriding\s+\w+\s+value\s+)?(values?|select)\b",
    re.ASCII | re.IGNORECASE,
)
_CELL = re.compile(
    r"\s*(?:\w+\s*\(\s*)*((?:[A-Za-z]{0,2}'(?:[^'\\]|''|\\.)*'|\"[^\"]*\"|[^,()'\"])*)", re.ASCII | re.DOTALL
)
_CSV_CELL = {
    delimiter: re.compile(rf"\"(?:[^\"]|\"\")*\"|[^{delimiter}\"]*[^{delimiter}]*", re.ASCII)
    for delimiter in (",", ";", "\t")
}


def table_spans(text: str, names: Iterable[Name]) -> list[Span]:
    """`names`: those that no value stands beside."""
    spans: list[Span] = []
    table_end = 0
    has_values = None
    for name in names:
        if name.start < table_end:
            continue
        line_start = text.rfind("\n", table_end, name.start) + 1 or table_end
        line_end = _end_of_line(text, name.end)
        line = text[line_start:line_end]
        found, rows_end = _below(text, line, line_end)
        if not found and "|" in line:
            if has_values is None:
                has_values = bool(_KEY_AND_VALUE.search(text)) or _EXPANDED in text
            if has_values:
                found, rows_end = _second_cell(line, line_start, name), line_end
        spans += found
        table_end = max(line_end, rows_end)
    return spans


def insert_spans(text: str) -> list[Span]:
    spans: list[Span] = []
    at = 0
    while (found := _INSERT.search(text, at)) is not None:
        places = _places(found[1].split(","))
        at = found.end()
        if places:
            added, at = _rows_of_insert(text, at, places, is_select=found[2].lower() == "select")
            spans += added
    return spans


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _places(cells: list[str]) -> dict[int, NameKind]:
    kinds: dict[int, NameKind] = {}
    for place, cell in enumerate(cells):
        found = _HEAD_CELL.fullmatch(cell.strip(" []"))
        kind = kind_of(found[1]) if found else None
        if kind is not None:
            kinds[place] = kind
    return kinds


def _below(text: str, head: str, head_end: int) -> tuple[list[Span], int]:
    second_end = _end_of_line(text, head_end + 1)
    second = text[head_end + 1 : second_end]
    if "|" in head and _RULE.fullmatch(second):
        return _piped_rows(text, head, second_end)
    for delimiter in ("\t", ",", ";"):
        if delimiter in head:
            return _delimited_rows(text, head, head_end, delimiter)
    return [], head_end


def _piped_rows(text: str, head: str, at: int) -> tuple[list[Span], int]:
    places = _places(head.split("|"))
    spans: list[Span] = []
    while at < len(text):
        start, end = at + 1, _end_of_line(text, at + 1)
        line = text[start:end]
        if "|" not in line and not _RULE.fullmatch(line):
            break
        if "|" in line:
            spans += _cells(line.split("|"), start, places)
        at = end
    return spans, at


def _cells(cells: list[str], at: int, places: dict[int, NameKind]) -> list[Span]:
    spans: list[Span] = []
    for place, cell in enumerate(cells):
        kind = places.get(place)
        if kind is not None and is_secret_value(kind, cell.strip().strip('"')):
            start = at + len(cell) - len(cell.lstrip())
            spans.append((start, start + len(cell.strip())))
        at += len(cell) + 1
    return spans


def _delimited_rows(text: str, head: str, at: int, delimiter: str) -> tuple[list[Span], int]:
    """Only below a line of nothing but names, and only rows with as many cells."""
    heads = head.rstrip("\r").split(delimiter)
    if any(_HEAD_CELL.fullmatch(cell) is None for cell in heads):
        return [], at
    places = _places(heads)
    spans: list[Span] = []
    while at < len(text):
        start, end = at + 1, _end_of_line(text, at + 1)
        cells = _split(text[start:end].rstrip("\r"), delimiter)
        if len(cells) != len(heads):
            break
        spans += _cells(cells, start, places)
        at = end
    return spans, at


def _split(line: str, delimiter: str) -> list[str]:
    if '"' not in line:
        return line.split(delimiter)
    cells: list[str] = []
    at = 0
    while True:
        found = _CSV_CELL[delimiter].match(line, at)
        end = found.end() if found else at
        cells.append(line[at:end])
        if end >= len(line) or line[end] != delimiter:
            return cells
        at = end + 1


def _second_cell(line: str, line_start: int, name: Name) -> list[Span]:
    """A table of keys and values, and psql's expanded form."""
    cells = line.strip().strip("|").split("|")
    if len(cells) != 2 or kind_of(cells[0].strip(" `*")) is None:
        return []
    start = line_start + line.index(cells[1], line.index(cells[0]) + len(cells[0]))
    return _cells([cells[1]], start, {0: name.kind})


def _rows_of_insert(
    text: str, at: int, places: dict[int, NameKind], *, is_select: bool
) -> tuple[list[Span], int]:
    spans: list[Span] = []
    opening = re.compile(r"[\s,]*(?:row\s*)?\(", re.IGNORECASE)
    while is_select or (row := opening.match(text, at)) is not None:
        at = at if is_select else row.end()  # pyright: ignore[reportPossiblyUnboundVariable]
        added, at = _cells_of_insert(text, at, places)
        spans += added
        if is_select:
            break
    return spans, at


def _cells_of_insert(text: str, at: int, places: dict[int, NameKind]) -> tuple[list[Span], int]:
    spans: list[Span] = []
    place = 0
    while (cell := _CELL.match(text, at)) is not None:
        start, end = cell.span(1)
        value = text[start:end].strip()
        kind = places.get(place)
        quoted = re.fullmatch(r"[A-Za-z]{0,2}(['\"])(.*)\1", value, re.DOTALL)
        if kind is not None and quoted is not None and is_secret_value(kind, quoted[2]):
            first = text.index(quoted[1], start)
            spans.append((first + 1, first + 1 + len(quoted[2])))
        elif kind is not None and value.isdigit():
            spans.append((start, end))
        at = end
        closers = re.compile(r"[\s)]*").match(text, at)
        after = closers.end() if closers else at
        if (text.startswith(",", after) and ")" not in text[at:after].rstrip()) or (
            text.startswith(",", after) and text.count("(", cell.start(), start) >= text.count(")", at, after)
        ):
            place += 1
            at = after + 1
            continue
        return spans, after
    return spans, at
