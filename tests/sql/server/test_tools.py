"""The tools beside `query`: explain, search_objects and the operator's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from sql.conftest import OpenShop

from callgate.model.errors import SetupError
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.guard.policy import Policy
from callgate.sql.schema.like import like_exactly, like_pattern
from callgate.sql.server.arguments import Parameter
from callgate.sql.server.custom_tools import ToolFault, ToolSettings, prepare_tool
from callgate.sql.settings import Mode

BY_CUSTOMER = ToolSettings(
    "orders_by_customer",
    "SELECT id, status FROM shop.orders WHERE customer_id = :customer_id AND status = :status LIMIT :most",
    "Orders of one customer",
    (
        Parameter("customer_id", "integer", "The customer's number", required=True),
        Parameter("status", "string", required=True),
        Parameter("most", "integer", default=2),
    ),
)


async def test_every_tool_says_what_it_is(opened: OpenShop) -> None:
    async with opened(schema="shop", mode=Mode.WRITE, tools=[BY_CUSTOMER]) as source:
        tools = await source.tools()
    assert list(tools) == ["query", "explain", "search_objects", "orders_by_customer"]
    read_only = {name: tool["annotations"]["readOnlyHint"] for name, tool in tools.items()}
    # The source may be written to; these three never do.
    assert read_only == {"query": False, "explain": True, "search_objects": True, "orders_by_customer": True}
    for tool in tools.values():
        assert tool["title"] == tool["annotations"]["title"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["type"] == "object"


# ---- explain


async def test_explain_shows_the_plan_and_runs_nothing(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        plan = await source.call("explain", query="SELECT * FROM shop.orders WHERE customer_id = 3;")
        explained = await source.call("explain", query="EXPLAIN QUERY PLAN SELECT 1")
    assert "orders_by_customer (customer_id=?)" in plan.text
    assert (plan.facts.statement_type, plan.facts.tables) == ("EXPLAIN", ("shop.orders",))
    assert plan.facts.sql == "EXPLAIN QUERY PLAN SELECT * FROM shop.orders WHERE customer_id = 3"
    assert not explained.is_error


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("DELETE FROM orders", "refused.forbidden"),
        ("SELECT 1; SELECT 2", "refused.forbidden"),
        ("PRAGMA table_info(orders)", "refused.forbidden"),
        ("DROP TABLE orders", "refused.forbidden"),
        ("QUERY PLAN DELETE FROM orders", "refused.unclear"),
        ("SELECT load_extension('x')", "refused.forbidden"),
    ],
)
async def test_only_one_read_is_explained(opened: OpenShop, shop: Path, query: str, code: str) -> None:
    before = shop.read_bytes()
    async with opened(mode=Mode.WRITE) as source:
        answer = await source.call("explain", query=query)
    assert (answer.is_error, answer.code, answer.facts.verdict) == (True, code, "deny")
    assert answer.text.startswith("Query blocked: ")
    assert shop.read_bytes() == before


# ---- search_objects


async def test_tables_and_columns_are_found_by_part_of_their_name(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        found = await source.call("search_objects", pattern="ORDER")
    assert [(entry["type"], entry.get("table"), entry["name"]) for entry in found.structured["objects"]] == [
        ("table", None, "order_items"),
        ("view", None, "order_totals"),
        ("table", None, "orders"),
        ("column", "order_items", "order_id"),
        ("column", "order_totals", "order_id"),
        ("column", "order_totals", "ordered_at"),
        ("column", "orders", "ordered_at"),
    ]
    assert (found.structured["count"], found.structured["truncated"]) == (7, False)
    assert "| column | shop | orders.ordered_at |" in found.text


async def test_three_levels_of_detail(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        answers = [
            await source.call("search_objects", pattern="orders", detail_level=level)
            for level in ("names", "summary", "full")
        ]
        column = await source.call(
            "search_objects", pattern="*_at", object_type="column", detail_level="summary", limit=1
        )
    names, summary, full = (answer.structured["objects"][0] for answer in answers)
    assert names == {"type": "table", "database": "shop", "name": "orders"}
    assert summary == names | {"kind": "base table", "rowCount": None, "comment": ""}
    assert [entry["name"] for entry in full["columns"]][:2] == ["id", "customer_id"]
    assert full["foreignKeys"][0]["referencedTable"] == "customers"
    assert column.structured["objects"][0] == {
        "type": "column",
        "database": "shop",
        "table": "customers",
        "name": "created_at",
        "columnType": "DATE",
        "isNullable": False,
        "comment": "",
    }
    assert column.structured["truncated"] is True
    assert "Only the first 1 are shown" in column.text


async def test_json_text_is_the_structured_content_and_nothing_found_says_so(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        found = await source.call("search_objects", pattern="zzz", response_format="json")
        wrong = await source.call("search_objects", database="shpo")
        small = await source.call("search_objects", limit=0)
    assert json.loads(found.text) == found.structured
    assert "Nothing is named like 'zzz'" in found.structured["message"]
    assert wrong.code == "caller.bad_arguments"
    assert "- database: 'shpo' does not exist or is not accessible. Did you mean shop?" in wrong.text
    assert "- limit: Expected an integer from 1 to 500" in small.text


async def test_the_answer_stays_within_the_character_limit(opened: OpenShop) -> None:
    async with opened(schema="shop", character_limit=2_000) as source:
        found = await source.call("search_objects", detail_level="full")
    assert found.structured["truncated"] is True
    assert len(found.text) <= 2_000


async def test_search_on_a_source_that_is_down_teaches(opened: OpenShop, shop: Path) -> None:
    shop.unlink()
    async with opened() as source:
        answer = await source.call("search_objects")
    assert (answer.is_error, answer.code) == (True, "source.unavailable")
    assert answer.text.startswith("Error: the file shop.db does not exist.")


@pytest.mark.parametrize(
    ("pattern", "like"),
    [
        ("a_b", "%a|_b%"),
        ("a*", "a%"),
        ("?a", "_a"),
        ("50%", "50%"),
        ("a|b", "%a||b%"),
        ("*", "%"),
        ("", "%%"),
    ],
)
def test_patterns(pattern: str, like: str) -> None:
    assert like_pattern(pattern) == like


def test_a_name_that_is_meant_exactly_holds_no_wildcard() -> None:
    assert like_exactly("a_b%|") == "a|_b|%||"


# ---- the operator's own tools


async def test_values_are_bound_and_never_part_of_the_text(opened: OpenShop) -> None:
    async with opened(schema="shop", tools=[BY_CUSTOMER]) as source:
        tool = (await source.tools())["orders_by_customer"]
        found = await source.call("orders_by_customer", customer_id=2, status="delivered")
        more = await source.call("orders_by_customer", customer_id=2, status="delivered", most=5)
        injected = await source.call("orders_by_customer", customer_id=2, status="' OR 1 = 1 --")
    assert tool["description"] == "Orders of one customer"
    assert tool["inputSchema"]["required"] == ["customer_id", "status"]
    assert tool["inputSchema"]["properties"]["most"] == {"type": "integer", "default": 2}
    assert (found.structured["rowCount"], more.structured["rowCount"]) == (2, 5)
    assert injected.structured["rowCount"] == 0
    assert found.facts.sql == BY_CUSTOMER.sql
    assert (found.facts.tables, found.facts.rows) == (("shop.orders",), 2)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"status": "x"}, "- customer_id: Required"),
        ({"customer_id": "1", "status": "x"}, "- customer_id: Expected an integer"),
        ({"customer_id": True, "status": "x"}, "- customer_id: Expected an integer"),
        ({"customer_id": 1.5, "status": "x"}, "- customer_id: Expected an integer"),
        ({"customer_id": 2**63, "status": "x"}, "- customer_id: Expected an integer from"),
        ({"customer_id": 1, "status": None}, "- status: Expected a string"),
        ({"customer_id": 1, "status": "x", "extra": 1}, "- extra: Unrecognized parameter"),
    ],
)
async def test_arguments_of_another_type_are_named(
    opened: OpenShop, arguments: dict[str, Any], problem: str
) -> None:
    async with opened(schema="shop", tools=[BY_CUSTOMER]) as source:
        answer = await source.call("orders_by_customer", **arguments)
    assert answer.code == "caller.bad_arguments"
    assert problem in answer.text


async def test_a_tool_may_hold_several_statements_and_write(opened: OpenShop) -> None:
    tool = ToolSettings(
        "restock",
        "BEGIN; UPDATE products SET stock = stock + :n WHERE id = :id; "
        "SELECT stock FROM products WHERE id = :id; COMMIT",
        parameters=(Parameter("n", "integer", required=True), Parameter("id", "integer", required=True)),
    )
    async with opened(mode=Mode.WRITE, tools=[tool]) as source:
        annotations = (await source.tools())["restock"]["annotations"]
        before = await source.query("SELECT stock FROM products WHERE id = 7")
        answer = await source.call("restock", n=5, id=7)
        after = await source.query("SELECT stock FROM products WHERE id = 7")
    assert (annotations["readOnlyHint"], annotations["destructiveHint"]) == (False, True)
    assert not answer.is_error, answer.text
    assert after.structured["rows"][0][0] == before.structured["rows"][0][0] + 5


@pytest.mark.parametrize(
    ("name", "sql", "parameters", "message"),
    [
        ("wipe", "DELETE FROM orders", {}, "(rule read_only): DELETE operations are not allowed"),
        ("query", "SELECT 1", {}, "name: every source has a tool query already"),
        ("a", "SELECT :x", {}, "sql: :x is used in it, but there is no params.x"),
        ("a", "SELECT 1", {"x": "integer"}, "params.x: :x is not used in the sql"),
        ("a", "SELECT readfile(:x)", {"x": "string"}, "(rule forbidden_function)"),
        ("a", "SELECT instr(name, :x) FROM t", {"x": "string"}, "(rule needle)"),
        ("a", "SELECT zeroblob(:x)", {"x": "integer"}, "(rule size)"),
        ("a", "SELECT printf(:x, 1)", {"x": "string"}, "(rule size)"),
        ("a", "SELECT printf('%.*c', :x, 'a')", {"x": "number"}, "(rule size)"),
        (
            "a",
            "SELECT :response_format",
            {"response_format": "string"},
            "every tool has this parameter already",
        ),
    ],
)
async def test_a_tool_that_cannot_be_offered_is_a_setup_error_that_names_the_rule(
    opened: OpenShop, name: str, sql: str, parameters: dict[str, Any], message: str
) -> None:
    tool = ToolSettings(name, sql, "", tuple(Parameter(key, kind) for key, kind in parameters.items()))
    with pytest.raises(SetupError) as caught:
        async with opened(tools=[tool]):
            pass
    assert message in caught.value.message


def test_a_caller_s_text_names_no_secret_setting() -> None:
    tool = ToolSettings("a", "SELECT current_setting(:x)", "", (Parameter("x", "string"),))
    outcome = prepare_tool(tool, Policy(POSTGRES))
    assert isinstance(outcome, ToolFault)
    assert "(rule secret_setting)" in outcome.message
