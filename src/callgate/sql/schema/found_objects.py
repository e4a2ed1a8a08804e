"""What a search found, one object each: its JSON form and its row or section in Markdown. Pure."""

from dataclasses import dataclass
from typing import Any

import msgspec

from callgate.sql.drivers.driver import Cell, Column
from callgate.sql.results.tables import header_lines, row_line
from callgate.sql.schema import markdown
from callgate.sql.schema.shapes import FoundColumn, FoundTable, TableDescription

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class FoundObject:
    entry: dict[str, Any]
    row: tuple[Cell, ...]
    section: str = ""

    @property
    def chars(self) -> int:
        return max(len(_encode(self.entry).decode()), len(self.section), len(row_line(self.row))) + 2


def found_table(found: FoundTable, level: str, shape: TableDescription | None) -> FoundObject:
    kind = "view" if "VIEW" in found.type else "table"
    entry: dict[str, Any] = {"type": kind, "database": found.database, "name": found.name}
    row: tuple[Cell, ...] = (kind, found.database, found.name, "")
    if level == "names":
        return FoundObject(entry, row)
    entry |= {"kind": found.type.lower(), "rowCount": found.row_count, "comment": found.comment}
    about = "" if found.row_count is None else f"about {found.row_count:,} rows"
    special = "" if found.type in ("BASE TABLE", "VIEW") else found.type.lower()
    row = (*row[:3], "; ".join(filter(None, (special, about, found.comment))))
    if shape is None:
        return FoundObject(entry, row)
    entry |= msgspec.to_builtins(shape)
    return FoundObject(entry, row, markdown.table(shape))


def found_column(found: FoundColumn, level: str, shape: TableDescription | None) -> FoundObject:
    entry: dict[str, Any] = {
        "type": "column",
        "database": found.database,
        "table": found.table,
        "name": found.name,
    }
    row: tuple[Cell, ...] = ("column", found.database, f"{found.table}.{found.name}", "")
    if level == "names":
        return FoundObject(entry, row)
    entry |= {"columnType": found.column_type, "isNullable": found.is_nullable, "comment": found.comment}
    column = next((one for one in shape.columns if one.name == found.name), None) if shape else None
    if column is not None:
        entry |= msgspec.to_builtins(column)
    nullable = "nullable" if found.is_nullable else "not null"
    key = column.column_key if column else ""
    details = filter(None, (found.column_type, nullable, key, found.comment))
    return FoundObject(entry, (*row[:3], "; ".join(details)))


def objects_markdown(objects: list[FoundObject]) -> str:
    rows = [one for one in objects if not one.section]
    parts = [one.section for one in objects if one.section]
    if rows:
        titles = ("Type", "Database", "Name", "Details")
        width = 4 if any(one.row[3] for one in rows) else 3
        lines = [header_lines([Column(title, "") for title in titles[:width]])]
        lines += [row_line([cell or " " for cell in one.row[:width]]) for one in rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
