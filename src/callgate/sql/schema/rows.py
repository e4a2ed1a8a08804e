"""Rows of the schema statements as shapes: what engines spell differently, spelled alike. Pure."""

from dataclasses import dataclass

from msgspec.structs import replace

from callgate.ports.source_schema import ForeignKey
from callgate.sql.drivers.driver import Cell
from callgate.sql.schema.shapes import ColumnEntry, ForeignKeyEntry, IndexEntry, TableEntry, TableInfo

Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class ColumnOfIndex:
    name: str
    unique: bool
    column: str
    index_type: str
    comment: str
    is_primary: bool


def text_of(cell: Cell) -> str | None:
    return None if cell is None else str(cell)


def number_of(cell: Cell) -> int | None:
    """Engines hand over wide integers as text or decimals; a negative estimate means that there is none."""
    try:
        number = None if cell is None else int(float(cell)) if isinstance(cell, float) else int(cell)
    except ValueError:
        return None
    return number if number is not None and number >= 0 else None


def is_true(cell: Cell) -> bool:
    return cell in (True, 1, "1", "YES", "t", "true")


def table_entry(row: Row) -> TableEntry:
    name, kind, engine, count, data, index, comment = row
    sizes = (number_of(count), number_of(data), number_of(index))
    return TableEntry(str(name), str(kind), text_of(engine), *sizes, text_of(comment) or "")


def table_info(row: Row) -> TableInfo:
    numbers = [number_of(cell) for cell in row[5:11]]
    return TableInfo(
        str(row[0]),
        str(row[1]),
        str(row[2]),
        text_of(row[3]),
        text_of(row[4]),
        numbers[0],
        numbers[1],
        numbers[2],
        numbers[3],
        numbers[4],
        numbers[5],
        text_of(row[11]),
        text_of(row[12]),
        text_of(row[13]) or "",
    )


def column_entry(row: Row) -> ColumnEntry:
    return ColumnEntry(
        str(row[0]),
        number_of(row[1]) or 0,
        str(row[2]),
        str(row[3]),
        is_true(row[4]),
        text_of(row[5]) or "",
        text_of(row[6]),
        text_of(row[7]) or "",
        text_of(row[8]) or "",
        text_of(row[9]),
        text_of(row[10]),
    )


def index_column(row: Row) -> ColumnOfIndex:
    name, unique, column, kind, comment, primary = row[:6]
    return ColumnOfIndex(
        str(name), is_true(unique), text_of(column) or "", str(kind), text_of(comment) or "", is_true(primary)
    )


def index_entries(columns: list[ColumnOfIndex]) -> tuple[IndexEntry, ...]:
    grouped: dict[str, list[ColumnOfIndex]] = {}
    for column in columns:
        grouped.setdefault(column.name, []).append(column)
    entries: list[IndexEntry] = []
    for name, group in grouped.items():
        first, names = group[0], tuple(of.column for of in group)
        entries.append(IndexEntry(name, first.unique, names, first.index_type, first.comment))
    return tuple(entries)


def with_key(column: ColumnEntry, indexes: list[ColumnOfIndex]) -> ColumnEntry:
    """MySQL says by itself what a column is to the table's indexes; of the others we say it in its words."""
    if column.column_key:
        return column
    return replace(column, column_key=_key_of(column.name, indexes))


def _key_of(name: str, indexes: list[ColumnOfIndex]) -> str:
    if any(of.is_primary and of.column == name for of in indexes):
        return "PRI"
    widths: dict[str, int] = {}
    for of in indexes:
        widths[of.name] = widths.get(of.name, 0) + 1
    firsts = [of for at, of in enumerate(indexes) if at == 0 or indexes[at - 1].name != of.name]
    leading = [of for of in firsts if of.column == name]
    if any(of.unique and widths[of.name] == 1 for of in leading):
        return "UNI"
    return "MUL" if leading else ""


def foreign_keys(rows: tuple[Row, ...], database: str) -> tuple[ForeignKey, ...]:
    """Of either direction; a database that the engine does not name is this one."""
    grouped: dict[tuple[Cell, ...], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row[0], row[2], row[3]), []).append(row)
    return tuple(
        ForeignKey(
            str(name),
            tuple(str(row[1]) for row in group),
            database if schema is None else str(schema),
            str(table),
            tuple(str(row[4]) for row in group),
            str(group[0][5]),
            str(group[0][6]),
        )
        for (name, schema, table), group in grouped.items()
    )


def foreign_key_entries(rows: tuple[Row, ...], database: str) -> tuple[ForeignKeyEntry, ...]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(str(row[0]), []).append(row)
    entries: list[ForeignKeyEntry] = []
    for name, group in grouped.items():
        _, _, schema, table, _, on_update, on_delete = group[0]
        is_near = schema is None or str(schema) == database
        entries.append(
            ForeignKeyEntry(
                name,
                tuple(str(row[1]) for row in group),
                str(table) if is_near else f"{schema}.{table}",
                tuple(str(row[4]) for row in group),
                str(on_update),
                str(on_delete),
            )
        )
    return tuple(entries)
