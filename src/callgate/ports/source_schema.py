"""Api looks into a database: what is in it, never the rows themselves.

What an engine cannot tell is None. Names are as the engine spells them. Who asks is told of a wrong name by a
CallerError, and of a database that is down or slow by a SourceError.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

TableKind = Literal["table", "view"]
ColumnKey = Literal["primary", "unique", "index"]


@dataclass(frozen=True, slots=True)
class DatabaseOutline:
    """A database, or a schema where the engine has these."""

    name: str
    table_count: int
    character_set: str | None
    collation: str | None


@dataclass(frozen=True, slots=True)
class TableOutline:
    name: str
    kind: TableKind
    engine: str | None
    rows: int | None  # most engines estimate it
    size_bytes: int | None  # with indexes
    comment: str


@dataclass(frozen=True, slots=True)
class TableList:
    database: str
    tables: Sequence[TableOutline]  # of one page
    total: int
    next_offset: int | None  # where the next page begins; None on the last


@dataclass(frozen=True, slots=True)
class ColumnDetail:
    name: str
    position: int
    type: str  # with length and precision
    nullable: bool
    default: str | None  # as an expression of the engine's
    key: ColumnKey | None  # the strongest that it leads
    extra: str
    comment: str


@dataclass(frozen=True, slots=True)
class IndexDetail:
    name: str
    unique: bool
    columns: Sequence[str]
    kind: str
    comment: str


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` are this table's; the other table has as many."""

    name: str
    columns: Sequence[str]
    other_database: str
    other_table: str
    other_columns: Sequence[str]
    on_update: str
    on_delete: str


@dataclass(frozen=True, slots=True)
class TableDetail:
    database: str
    table: TableOutline
    columns: Sequence[ColumnDetail]
    foreign_keys: Sequence[ForeignKey]  # from here to others
    referenced_by: Sequence[ForeignKey]  # from others to here
    indexes: Sequence[IndexDetail]


class SourceSchema(Protocol):
    async def databases(self) -> Sequence[DatabaseOutline]: ...

    async def tables(self, database: str, offset: int = 0) -> TableList: ...

    async def table(self, database: str, table: str) -> TableDetail: ...
