"""The schema browser, over a whole gateway."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from api.real_gateway import Whole, whole_gateway


@pytest.fixture
async def whole(tmp_path: Path) -> AsyncIterator[Whole]:
    async with whole_gateway(tmp_path) as whole:
        yield whole


async def test_databases_lead_to_tables_and_tables_to_their_keys(whole: Whole) -> None:
    found = await whole.get("/api/v1/servers/shop/schema")
    assert (found["server"], [entry["name"] for entry in found["databases"]]) == ("shop", ["shop"])
    tables = await whole.get("/api/v1/servers/shop/schema/tables?database=shop")
    rows = {table["name"]: (table["kind"], table["rows"]) for table in tables["tables"]}
    assert rows["orders"] == ("table", 1450)
    assert tables["total"] == len(rows)
    orders = await whole.get("/api/v1/servers/shop/schema/table?database=shop&table=orders")
    keys = {column["name"]: column["key"] for column in orders["columns"]}
    assert keys["id"] == "primary"
    assert [key["other_table"] for key in orders["foreign_keys"]] == ["customers"]
    assert [(key["other_table"], key["on_delete"]) for key in orders["referenced_by"]] == [
        ("order_items", "CASCADE")
    ]


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        ("nobody/schema", 404, "caller.unknown_server"),
        ("files/schema", 404, "caller.not_found"),
        ("gone/schema", 502, "source.unavailable"),
        ("gone/schema/table?database=main&table=x", 502, "source.unavailable"),
        ("shop/schema/tables", 400, "caller.bad_params"),
        ("shop/schema/tables?database=", 400, "caller.bad_params"),
        ("shop/schema/tables?database=shap", 404, "caller.not_found"),
        ("shop/schema/table?database=shop&table=a%2Fb", 404, "caller.not_found"),
        ("shop/schema/table?database=shop&table=%00", 404, "caller.not_found"),
        ("shop/schema/table?database=shop&table=%ED%A0%80", 404, "caller.not_found"),
        ("shop/schema/table?database=shop&table=%27%20OR%201", 404, "caller.not_found"),
        ("sh%00op/schema", 404, "caller.unknown_server"),
        ("a/b/schema", 404, "caller.not_found"),
    ],
)
async def test_what_cannot_be_shown_says_why(whole: Whole, target: str, status: int, code: str) -> None:
    answered = await whole.ask(f"/api/v1/servers/{target}")
    assert (answered.status, answered.json["code"]) == (status, code)
    assert answered.headers["content-type"] == "application/problem+json"


async def test_a_misspelt_table_is_met_with_the_right_spelling(whole: Whole) -> None:
    answered = await whole.ask("/api/v1/servers/shop/schema/table?database=shop&table=ordrs")
    assert "orders" in answered.json["hint"]
    assert "DSN" in (await whole.ask("/api/v1/servers/gone/schema")).json["hint"]
