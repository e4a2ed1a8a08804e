"""The schema's shapes as Markdown, for people and models that read better than they parse. Pure."""

from collections.abc import Iterable, Sequence

from callgate.model.wording import counted
from callgate.sql.drivers.driver import Cell, Column
from callgate.sql.results.tables import header_lines, row_line
from callgate.sql.schema.shapes import DatabaseList, DatabaseShape, TableDescription


def database_list(shape: DatabaseList) -> str:
    rows = [
        (entry.name, entry.default_character_set, entry.default_collation, entry.table_count)
        for entry in shape.databases
    ]
    table = _table(("Database", "Character set", "Collation", "Tables"), rows)
    return f"# Databases\n\n{table}\n\n{counted(shape.total_count, 'database')}"


def database(shape: DatabaseShape, next_page: str = "") -> str:
    """`next_page`: the address of it."""
    info = shape.database
    rows = [
        (
            entry.name,
            entry.type,
            entry.engine,
            entry.row_count,
            entry.data_length,
            entry.index_length,
            entry.comment,
        )
        for entry in shape.tables
    ]
    lines = [
        f"# Database: {_plain(info.name)}",
        "",
        f"- **Character set**: {_known(info.character_set)}",
        f"- **Collation**: {_known(info.collation)}",
        "",
        "## Tables",
        "",
        _table(("Table", "Type", "Engine", "Rows (about)", "Data bytes", "Index bytes", "Comment"), rows),
        "",
        counted(shape.table_count, "table"),
    ]
    if len(shape.tables) < shape.table_count:
        lines.append(f"{len(shape.tables):,} of them are listed here.")
    if next_page:
        lines.append(f"Read {next_page} for the next ones, or find one by its name with search_objects.")
    return "\n".join(lines)


def table(shape: TableDescription) -> str:
    info = shape.table
    lines = [f"# Table: {_plain(info.database)}.{_plain(info.name)}", ""]
    lines += [f"- **{name}**: {_known(value)}" for name, value in _facts(shape) if value not in (None, "")]
    lines += ["", "## Columns", "", _table(_COLUMN_TITLES, _column_rows(shape))]
    if shape.indexes:
        rows = [
            (
                index.name,
                "yes" if index.unique else "no",
                ", ".join(index.columns),
                index.index_type,
                index.comment,
            )
            for index in shape.indexes
        ]
        lines += ["", "## Indexes", "", _table(("Index", "Unique", "Columns", "Type", "Comment"), rows)]
    if shape.foreign_keys:
        rows = [
            (
                key.name,
                ", ".join(key.columns),
                f"{key.referenced_table} ({', '.join(key.referenced_columns)})",
                key.on_update,
                key.on_delete,
            )
            for key in shape.foreign_keys
        ]
        titles = ("Foreign key", "Columns", "References", "On update", "On delete")
        lines += ["", "## Foreign keys", "", _table(titles, rows)]
    return "\n".join(lines)


_COLUMN_TITLES = ("#", "Column", "Type", "Nullable", "Key", "Default", "Extra", "Comment")


def _column_rows(shape: TableDescription) -> list[tuple[Cell, ...]]:
    return [
        (
            column.ordinal_position,
            column.name,
            column.column_type,
            "yes" if column.is_nullable else "no",
            column.column_key,
            column.default_value,
            column.extra,
            column.comment,
        )
        for column in shape.columns
    ]


def _facts(shape: TableDescription) -> Iterable[tuple[str, Cell]]:
    info = shape.table
    return (
        ("Type", info.type),
        ("Engine", info.engine),
        ("Row format", info.row_format),
        ("Rows (about)", info.row_count),
        ("Data bytes", info.data_length),
        ("Index bytes", info.index_length),
        ("Next auto increment", info.auto_increment),
        ("Created", info.create_time),
        ("Updated", info.update_time),
        ("Comment", info.comment),
    )


def _table(titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Absent and empty both read as nothing here: a table of facts is no result set."""
    lines = [header_lines([Column(title, "") for title in titles])]
    lines += [row_line([" " if cell in (None, "") else cell for cell in row]) for row in rows]
    return "\n".join(lines)


def _known(value: Cell) -> str:
    return "unknown" if value is None else _plain(str(value))


def _plain(text: str) -> str:
    """One line, whatever a name or comment holds."""
    return " ".join(text.split())
