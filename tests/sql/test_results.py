"""Faithful values, readable tables, and limits that cut text and structure at the same row."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sql.conftest import OpenShop

from callgate.sql.drivers.driver import Cell
from callgate.sql.results.cells import to_cell
from callgate.sql.results.tables import row_line, row_lines


@pytest.mark.parametrize(
    ("expression", "cell", "shown"),
    [
        ("NULL", None, "NULL"),
        ("''", "", "''"),
        ("'NULL'", "NULL", "'NULL'"),
        ("'a|b'", "a|b", r"a\|b"),
        ("'a' || char(10) || 'b'", "a\nb", r"a\nb"),
        (r"'a\nb'", r"a\nb", r"a\\nb"),
        ("9223372036854775807", "9223372036854775807", "9223372036854775807"),
        ("-9007199254740993", "-9007199254740993", "-9007199254740993"),
        ("9007199254740991", 9007199254740991, "9007199254740991"),
        ("9007199254740992", "9007199254740992", "9007199254740992"),
        ("1234567890123456.0", 1234567890123456.0, "1234567890123456.0"),
        ("0.1 + 0.2", 0.30000000000000004, "0.30000000000000004"),
        ("9e999", "Infinity", "Infinity"),
        ("-9e999", "-Infinity", "-Infinity"),
        ("x'00FF'", "0x00ff", "0x00ff"),
        ("x''", "0x", "0x"),
        ("CAST(x'ff41' AS TEXT)", r"\xffA", r"\\xffA"),
        ("'a' || char(0) || 'b'", "a\0b", "a\0b"),
        ("'日本 🗾'", "日本 🗾", "日本 🗾"),
    ],
)
async def test_values_are_faithful(
    opened: OpenShop, expression: str, cell: float | int | str | None, shown: str
) -> None:
    async with opened() as source:
        answer = await source.query(f"SELECT {expression} AS v, 1 AS one")
    assert answer.structured["rows"] == [[cell, 1]]
    assert f"\n| {shown} | 1 |\n" in answer.text


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("VALUES (1), (NULL)", "integer"),
        ("VALUES (1), (2.5)", "numeric"),
        ("VALUES ('a'), (1)", "mixed"),
        ("VALUES (NULL)", "null"),
        ("VALUES (x'00')", "blob"),
        ("VALUES (1.5)", "real"),
    ],
)
async def test_a_columns_type_is_what_it_holds(opened: OpenShop, sql: str, kind: str) -> None:
    async with opened() as source:
        assert (await source.query(sql)).structured["columns"][0]["type"] == kind


def test_long_cells_are_cut_between_characters_and_say_so() -> None:
    assert to_cell(bytearray("é" * 10, "utf-8"), 5) == "éé… [cut: 4 of 20 bytes shown]"
    assert to_cell(b"\x01" * 10, 8) == "0x01010101… [cut: 4 of 10 bytes shown]"
    assert to_cell("é" * 3, 5) == "éé… [cut: 4 of 6 bytes shown]"
    assert to_cell(bytearray("abc", "utf-8"), 3) == "abc"


async def test_the_row_limit_is_exact(opened: OpenShop) -> None:
    async with opened(max_rows=10) as source:
        exact = await source.query("SELECT id FROM orders ORDER BY id LIMIT 10")
        cut = await source.query("SELECT id FROM orders ORDER BY id LIMIT 11")
    assert (exact.structured["rowCount"], exact.structured["truncated"]) == (10, False)
    assert (cut.structured["rowCount"], cut.structured["truncated"]) == (10, True)
    assert "truncated" not in exact.text
    assert "LIMIT 10 OFFSET 10" in cut.text
    assert "LIMIT 10 OFFSET 10" in cut.structured["message"]
    assert (cut.facts.rows, cut.facts.truncated) == (10, True)


@pytest.mark.parametrize("response_format", ["markdown", "json"])
async def test_the_character_limit_cuts_text_and_structure_at_the_same_row(
    opened: OpenShop, response_format: str
) -> None:
    async with opened(character_limit=5_000) as source:
        answer = await source.query("SELECT * FROM customers", response_format=response_format)
    assert len(answer.text) <= 5_000
    assert answer.structured["truncated"] is True
    rows = answer.structured["rows"]
    assert 10 < len(rows) == answer.structured["rowCount"] == answer.facts.rows
    if response_format == "json":
        assert json.loads(answer.text)["rows"] == rows
    else:
        assert sum(line.startswith("| ") for line in answer.text.splitlines()) == len(rows) + 2
    assert "5,000 characters" in answer.text
    assert f"OFFSET {len(rows)}" in answer.text


async def test_a_first_row_that_is_too_long_says_what_to_do(opened: OpenShop) -> None:
    async with opened(character_limit=2_000) as source:
        answer = await source.query("SELECT printf('%.*c', 5000, 'a')")
    assert answer.structured["rows"] == []
    assert "the first row alone" in answer.text
    assert len(answer.text) <= 2_000


async def test_several_results_share_the_limit(opened: OpenShop) -> None:
    async with opened(character_limit=5_000) as source:
        answer = await source.query("SELECT * FROM customers; SELECT * FROM products; SELECT 1")
    assert len(answer.text) <= 5_000
    assert [entry["truncated"] for entry in answer.structured["statements"]] == [True, True, True]


async def test_a_large_cell_does_not_fill_the_reply(opened: OpenShop) -> None:
    async with opened() as source:
        answer = await source.query(
            "SELECT replace(hex(zeroblob(10000)), '00', 'aaaaaaaaaaaaaaaaaaaa') AS a, hex(1) AS b"
        )
    assert "of 200,000 bytes shown]" in answer.text
    assert len(answer.text) < 9_000


async def test_no_rows_still_show_their_columns(opened: OpenShop) -> None:
    async with opened() as source:
        answer = await source.query("SELECT id, name FROM customers WHERE 0")
    assert answer.text.startswith("| id | name |\n| --- | --- |\n\n0 rows in ")


_CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_SPECIAL_CELLS = st.sampled_from(["", "NULL", "|", "\0"])


@given(
    st.integers(0, 4).flatmap(
        lambda width: st.lists(st.tuples(*[_CELLS | _SPECIAL_CELLS] * width), max_size=8)
    )
)
def test_lines_of_many_rows_are_those_of_each_row(rows: list[tuple[Cell, ...]]) -> None:
    assert row_lines(rows) == [row_line(row) for row in rows]


@pytest.mark.parametrize("response_format", ["markdown", "json"])
async def test_the_limit_counts_characters_whatever_their_bytes(
    opened: OpenShop, response_format: str
) -> None:
    async with opened(character_limit=3_000) as source:
        kept = [
            len((await source.query(_long_rows(text), response_format=response_format)).structured["rows"])
            for text in ("a", "é", "🗾")
        ]
    assert kept[0] == kept[1] == kept[2]
    assert 20 < kept[0] < 100


def _long_rows(text: str) -> str:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n LIMIT 100)"
    return f"{numbers} SELECT i, '{text * 30}' AS long FROM n"
