"""SchemaQueries: the statements with which one engine answers the schema questions.

Parameters are `:database`, `:table` and `:like` (a LIKE pattern with | as its escape, case does not matter);
where all databases may be meant, an empty `:database` means them. Lists that may be long are asked for in
pages, by `:limit` and `:offset`. Columns come in the order of the shape's fields. System schemas are left out
by the statements.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchemaQueries:
    schemata: str  # name, character set, collation
    table_counts: str  # database, count; of :database
    table_names: str  # database, table as `name`, in the order of these names; :like, :database, a page
    tables: str  # TableEntry's fields; of :database, the names from :first to :last in that order
    table: str  # TableInfo's fields; of :database, :table
    columns: str  # ColumnEntry's fields; is_nullable and column_key as the engine has them
    indexes: str  # name, unique, column, type, comment, is_primary, (what to order by); a row for each column
    foreign_keys: str  # name, column, database, table, column, on update, on delete; a row for each column
    # The same, with the columns of :table first, of keys in other tables that lead to it. Where there is
    # `referencing`: of those in :from_table of :from_database.
    referenced_by: str
    find_columns: str  # FoundColumn's fields; :like, :database, a page
    find_tables: str = ""  # FoundTable's fields; :like, :database, a page; none where there is `find_names`
    # Schema, name, whether the name alone will do: of types to which a cast runs nobody's code. None: the
    # guard asks for no such thing.
    own_types: str | None = None
    # For an engine that looks through all tables for keys: database and table of those with a key that leads
    # to :table, where the account may ask that; and else of all keys database and table, and those of the
    # table that each leads to, which takes long and is asked once a minute.
    referencing: str | None = None
    references: str | None = None
    # For an engine that opens each table of which it tells more than the name: database and name,
    # instead of `find_tables`; then FoundTable's fields of so many tables, of :database and :name_0 ….
    find_names: str | None = None
    named_tables: Callable[[int], str] = str
    # For an engine that keeps no estimate: a statement that counts the rows of one table, within reason.
    count_rows: Callable[[str, str], str] | None = None
