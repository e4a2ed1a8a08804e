"""What the page's schema browser shows, the same on every engine."""

from pathlib import Path

import pytest
from sql.test_schema_engines import PRIMARY, settings  # noqa: F401 - a fixture

from callgate.model.errors import CallerError, SourceError
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings


async def test_tables_are_shown_with_what_the_engine_knows_of_them(settings: SourceSettings) -> None:  # noqa: F811
    source = open_source(settings)
    try:
        databases = {entry.name: entry for entry in await source.schema.databases()}
        listed = await source.schema.tables("cat")
    finally:
        await source.close()
    assert databases["cat"].table_count == 3
    assert (listed.database, listed.total) == ("cat", 3)
    assert [(table.name, table.kind) for table in listed.tables] == [
        ("kids", "table"),
        ("parents", "table"),
        ("totals", "view"),
    ]
    if settings.engine in ("sqlite", "duckdb"):  # the others estimate, once they looked
        assert [table.rows for table in listed.tables] == [3, 2, None]


async def test_keys_are_shown_from_both_sides(settings: SourceSettings) -> None:  # noqa: F811
    source = open_source(settings)
    try:
        kids = await source.schema.table("cat", "kids")
        parents = await source.schema.table("CAT", "Parents")
    finally:
        await source.close()
    columns = {column.name: column for column in kids.columns}
    assert [columns[name].key for name in ("id", "code", "amount", "b")] in (
        ["primary", "unique", "index", None],
        ["primary", "unique", "index", "index"],
    )
    assert (columns["amount"].nullable, columns["a"].nullable) == (False, True)
    indexes = {index.name: index for index in kids.indexes}
    assert indexes["kids_by_amount"].columns == ("amount", "code")
    assert indexes[PRIMARY[settings.engine]].unique
    (outward,), (inward,) = kids.foreign_keys, parents.referenced_by
    assert (outward.columns, outward.other_database, outward.other_table, outward.other_columns) == (
        ("a", "b"), "cat", "parents", ("a", "b"),
    )  # fmt: skip
    assert (inward.columns, inward.other_database, inward.other_table, inward.other_columns) == (
        ("a", "b"), "cat", "kids", ("a", "b"),
    )  # fmt: skip
    rule = "NO ACTION" if settings.engine == "duckdb" else "CASCADE"
    assert (inward.on_delete, outward.on_delete) == (rule, rule)
    assert (kids.referenced_by, parents.foreign_keys) == ((), ())


@pytest.mark.parametrize("name", ["kidz", "a/b", "\0", "'; DROP TABLE kids --", "🦆" * 200, "", "\ud800"])
async def test_a_name_that_is_not_there_is_said_to_be_so(settings: SourceSettings, name: str) -> None:  # noqa: F811
    source = open_source(settings)
    try:
        with pytest.raises(CallerError) as no_table:
            await source.schema.table("cat", name)
        with pytest.raises(CallerError) as no_database:
            await source.schema.tables(name)
    finally:
        await source.close()
    assert no_table.value.code.code == no_database.value.code.code == "caller.not_found"
    if name == "kidz":
        assert "kids" in no_table.value.hint


async def test_a_database_that_is_down_says_so(tmp_path: Path) -> None:
    source = open_source(SourceSettings("it", "sqlite", tmp_path / "nowhere.db"))
    try:
        with pytest.raises(SourceError) as caught:
            await source.schema.databases()
    finally:
        await source.close()
    assert caught.value.code.code == "source.unavailable"
