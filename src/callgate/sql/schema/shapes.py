"""What the schema reader answers: JSON keys are these names in camelCase. Pure values.

What an engine cannot tell is null. A foreign key into another database names its table as `database.table`.
"""

import msgspec


class DatabaseEntry(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    default_character_set: str | None
    default_collation: str | None
    table_count: int


class DatabaseList(msgspec.Struct, frozen=True, rename="camel"):
    databases: tuple[DatabaseEntry, ...]
    total_count: int


class DatabaseInfo(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    character_set: str | None
    collation: str | None


class TableEntry(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    # BASE TABLE or VIEW; on PostgreSQL also MATERIALIZED VIEW, FOREIGN TABLE, PARTITIONED TABLE
    type: str
    engine: str | None
    row_count: int | None  # most engines estimate it
    data_length: int | None  # bytes
    index_length: int | None
    comment: str


class DatabaseShape(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    database: DatabaseInfo
    tables: tuple[TableEntry, ...]  # of one page
    table_count: int  # in all
    next_offset: int | None = None  # where the next page begins; left out on the last


class TableInfo(msgspec.Struct, frozen=True, rename="camel"):
    database: str
    name: str
    type: str
    engine: str | None
    row_format: str | None
    row_count: int | None
    avg_row_length: int | None
    data_length: int | None
    max_data_length: int | None
    index_length: int | None
    auto_increment: int | None
    create_time: str | None
    update_time: str | None
    comment: str


class ColumnEntry(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    ordinal_position: int
    data_type: str
    column_type: str  # with length and precision
    is_nullable: bool
    column_key: str  # PRI, UNI, MUL or nothing
    default_value: str | None
    extra: str
    comment: str
    character_set: str | None
    collation: str | None


class IndexEntry(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    unique: bool
    columns: tuple[str, ...]
    index_type: str
    comment: str


class ForeignKeyEntry(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    columns: tuple[str, ...]
    referenced_table: str
    referenced_columns: tuple[str, ...]
    on_update: str
    on_delete: str


class TableDescription(msgspec.Struct, frozen=True, rename="camel"):
    table: TableInfo
    columns: tuple[ColumnEntry, ...]
    indexes: tuple[IndexEntry, ...]
    foreign_keys: tuple[ForeignKeyEntry, ...]


class FoundTable(msgspec.Struct, frozen=True, rename="camel"):
    database: str
    name: str
    type: str
    row_count: int | None
    comment: str


class FoundColumn(msgspec.Struct, frozen=True, rename="camel"):
    database: str
    table: str
    name: str
    column_type: str
    is_nullable: bool
    comment: str
