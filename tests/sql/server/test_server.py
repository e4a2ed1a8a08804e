"""A source as the relay meets it: its tool, its answers, its refusals and errors, its facts and health."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sql.conftest import CLIENT, OpenShop

from callgate.model.errors import CallerError, SetupError
from callgate.model.exchange import Hop
from callgate.model.health import State
from callgate.model.reply import tell_nobody
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import Mode, SourceSettings


async def test_the_tool_tells_the_truth_about_a_read_only_source(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        listed, hop = await source.send("tools/list", {})
    tool = listed["tools"][0]
    assert (tool["name"], tool["title"]) == ("query", "Execute SQLite Query")
    assert tool["annotations"] == {
        "title": "Execute SQLite Query",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": False,
        "openWorldHint": True,
    }
    assert tool["inputSchema"]["additionalProperties"] is False
    assert tool["inputSchema"]["properties"]["query"]["maxLength"] == 10_000
    assert "READ-ONLY" in tool["description"]
    assert "shop.sqlite_master" in tool["description"]
    assert hop.server_version == f"SQLite {sqlite3.sqlite_version}"


async def test_the_tool_tells_the_truth_about_a_writable_source(opened: OpenShop) -> None:
    async with opened(mode=Mode.WRITE) as source:
        listed, _ = await source.send("tools/list", {})
    annotations = listed["tools"][0]["annotations"]
    assert (annotations["readOnlyHint"], annotations["destructiveHint"]) == (False, True)
    assert "WRITE ENABLED" in listed["tools"][0]["description"]


@pytest.mark.parametrize("schema", [None, "shop", "my shop"])
async def test_the_examples_of_the_description_work(opened: OpenShop, schema: str | None) -> None:
    async with opened(schema=schema) as source:
        listed, _ = await source.send("tools/list", {})
        lines = listed["tools"][0]["description"].partition("**Examples**:\n")[2].partition("\n\n")[0]
        examples = [line.partition(": ")[2] for line in lines.splitlines()]
        assert len(examples) >= 4
        for example in examples:
            answer = await source.query(example)
            assert not answer.is_error, answer.text
            assert answer.structured["rowCount"] > 0


async def test_an_answer_has_text_structure_and_facts(opened: OpenShop) -> None:
    async with opened() as source:
        answer = await source.query("SELECT id, name, price FROM products WHERE id <= 2")
    assert answer.structured["columns"][:2] == [
        {"name": "id", "type": "integer"},
        {"name": "name", "type": "text"},
    ]
    assert answer.structured["rows"][0][:2] == [1, "Espresso Beans 250 g"]
    assert (answer.structured["rowCount"], answer.structured["truncated"]) == (2, False)
    assert answer.structured["executionTime"] >= 0
    assert "| 1 | Espresso Beans 250 g |" in answer.text
    assert "\n\n2 rows in " in answer.text
    assert (answer.facts.source_id, answer.facts.mode, answer.facts.verdict) == ("demo", "read_only", "allow")
    assert (answer.facts.statement_type, answer.facts.tables, answer.facts.rows) == (
        "SELECT",
        ("products",),
        2,
    )


async def test_the_structure_fits_the_declared_schema(opened: OpenShop) -> None:
    async with opened() as source:
        listed, _ = await source.send("tools/list", {})
        schema = listed["tools"][0]["outputSchema"]
        for sql in ("SELECT 1", "SELECT 1; SELECT 2", "SELECT * FROM order_items", "SELECT 1 WHERE 0"):
            structured = (await source.query(sql)).structured
            assert set(schema["required"]) <= set(structured) <= set(schema["properties"])


async def test_several_statements_give_the_last_result_and_all_of_them(opened: OpenShop) -> None:
    async with opened() as source:
        answer = await source.query("SELECT 1 AS a; SELECT 2 AS b")
    assert answer.structured["rows"] == [[2]]
    assert [entry["rows"] for entry in answer.structured["statements"]] == [[[1]], [[2]]]
    assert "Statement 1 of 2: SELECT" in answer.text


async def test_json_text_is_the_structured_content(opened: OpenShop) -> None:
    async with opened() as source:
        answer = await source.query("SELECT 1 AS a", response_format="json")
    assert json.loads(answer.text) == answer.structured


async def test_a_schema_name_leads_to_the_same_tables(opened: OpenShop) -> None:
    async with opened(schema="shop") as source:
        plain = await source.query("SELECT count(*) FROM orders")
        qualified = await source.query("SELECT count(*) FROM shop.orders")
        tables = await source.query("SELECT name FROM sqlite_master")
        attached = await source.query("SELECT 1; ATTACH ':memory:' AS x")
    assert plain.structured["rows"] == qualified.structured["rows"] == [[1450]]
    assert qualified.facts.tables == ("shop.orders",)
    assert "shop.sqlite_master" in tables.text
    assert attached.code == "refused.forbidden"


async def test_a_refusal_is_an_answer_with_code_rule_and_facts(opened: OpenShop, shop: Path) -> None:
    before = shop.read_bytes()
    async with opened() as source:
        answer = await source.query("SELECT 1; DELETE FROM orders")
    assert answer.is_error
    assert answer.text.startswith("Query blocked: DELETE operations are not allowed in READ-ONLY mode. ")
    assert (answer.code, answer.rule) == ("refused.read_only", "read_only")
    assert (answer.facts.verdict, answer.facts.rule, answer.facts.rows) == ("deny", "read_only", None)
    assert "structuredContent" not in answer.raw
    assert shop.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "- query: Required"),
        ({"query": ""}, "- query: Query cannot be empty"),
        ({"query": "x" * 10_001}, "- query: Query cannot exceed 10,000 characters"),
        ({"query": 1}, "- query: Expected a string"),
        ({"query": "SELECT 1", "response_format": "xml"}, "- response_format: Expected 'markdown' or 'json'"),
        ({"query": "SELECT 1", "limit": 5}, "- limit: Unrecognized parameter"),
        ([1], "- arguments: Expected an object"),
        (None, "- query: Required"),
    ],
)
async def test_wrong_arguments_are_named_one_by_one(
    opened: OpenShop, arguments: object, problem: str
) -> None:
    async with opened() as source:
        raw, hop = await source.send("tools/call", {"name": "query", "arguments": arguments})
    assert raw["isError"] is True
    text = raw["content"][0]["text"]
    assert text.startswith("Error: Invalid input parameters.\n\n")
    assert problem in text
    assert raw["_meta"] == {"callgate/code": "caller.bad_arguments"}
    assert hop.facts is None


@pytest.mark.parametrize("tool", ["query", "explain", "search_objects"])
@pytest.mark.parametrize(("count", "key_chars"), [(8_000, 6), (40, 2_000), (3, 1_000)])
async def test_any_number_of_wrong_arguments_is_a_short_error(
    opened: OpenShop, tool: str, count: int, key_chars: int
) -> None:
    arguments = {f"{'k' * key_chars}{number}": 1 for number in range(count)}
    async with opened() as source:
        raw, _ = await source.send("tools/call", {"name": tool, "arguments": arguments})
    assert len(json.dumps(raw)) < 2_000
    text = raw["content"][0]["text"]
    assert "k0" in text or "kkk" in text
    if count > 10:
        assert f"- {count - 10:,} more unrecognized parameters" in text


async def test_arguments_that_no_valid_call_could_have_are_not_decoded(opened: OpenShop) -> None:
    """800,000 of them would take a third of a second to decode, on the loop."""
    arguments = {f"key{number}": 1 for number in range(800_000)}
    async with opened() as source:
        raw, _ = await source.send("tools/call", {"name": "query", "arguments": arguments})
        longest = await source.query("SELECT '" + "\U0001f600" * 9_990 + "'")
    assert "- arguments: Expected at most" in raw["content"][0]["text"]
    assert not longest.is_error, "a caller that escapes every character may still use all 10,000"


@pytest.mark.parametrize("nested", ['{"query":' + "[" * 5_000 + "]" * 5_000 + "}", '{"\\ud800":1}'])
async def test_arguments_that_cannot_be_read_are_the_callers_error(opened: OpenShop, nested: str) -> None:
    async with opened() as source:
        hop = Hop("demo", "tools/call", b'{"name":"query","arguments":%b}' % nested.encode(), 0.0)
        with pytest.raises(CallerError) as caught:
            await source.server.ask(hop, CLIENT, tell_nobody)
    assert caught.value.code.code == "caller.bad_params"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("prompts/list", {}, "caller.unknown_method"),
        ("resources/read", {}, "caller.bad_params"),
        ("completion/complete", {}, "caller.bad_params"),
        ("tools/call", {"name": "nope", "arguments": {}}, "caller.unknown_tool"),
        ("tools/call", {"arguments": {}}, "caller.bad_params"),
        ("tools/call", [], "caller.bad_params"),
    ],
)
async def test_what_is_not_ours_to_answer_is_the_callers_error(
    opened: OpenShop, method: str, params: object, code: str
) -> None:
    async with opened() as source:
        with pytest.raises(CallerError) as caught:
            await source.send(method, params)
    assert caught.value.code.code == code


@pytest.mark.parametrize(
    ("sql", "code", "parts"),
    [
        (
            "SELECT * FROM ordrs",
            "source.unknown_table",
            ["Table 'ordrs' does not exist", "Did you mean: orders", "SELECT name FROM sqlite_master"],
        ),
        (
            "SELECT emial FROM customers",
            "source.unknown_column",
            ["Column 'emial' does not exist", "Did you mean: email", "PRAGMA table_info(customers)"],
        ),
        (
            "SELECT c.totl FROM orders o JOIN customers AS c ON o.customer_id = c.id",
            "source.unknown_column",
            ["'c.totl'", "customers has the columns id, name, email", "PRAGMA table_info(customers)"],
        ),
        (
            "SELECT emial FROM orders JOIN customers c ON orders.customer_id = c.id",
            "source.unknown_column",
            ["Did you mean: c.email", "PRAGMA table_info(customers)"],
        ),
        ("SELECT 1 FROM orders ORDER BY 1 BY", "refused.unclear", ["could not be understood"]),
        ("(SELECT 1)", "source.syntax", ["syntax error near '(' (line 1, column 1)"]),
        ("SELECT id FROM orders, customers", "source.failed", ["ambiguous column name", "table.column"]),
        ("SELECT timediff(1, 2), percentile(1, 2)", "source.failed", ["does not exist in SQLite"]),
        (
            "SELECT replace(replace(hex(zeroblob(10000)), '0', 'aaaaaaaaaa'), 'a', 'aa')",
            "source.failed",
            ["too big", "256 KiB"],
        ),
    ],
)
async def test_errors_teach(opened: OpenShop, sql: str, code: str, parts: list[str]) -> None:
    async with opened() as source:
        answer = await source.query(sql)
    assert answer.is_error
    assert answer.code == code
    for part in parts:
        assert part in answer.text


async def test_a_write_source_writes_counts_and_keeps_its_rules(opened: OpenShop, shop: Path) -> None:
    async with opened(mode=Mode.WRITE) as source:
        updated = await source.query("UPDATE products SET stock = 5 WHERE id <= 3")
        returned = await source.query("DELETE FROM order_items WHERE id <= 4 RETURNING id")
        duplicate = await source.query("INSERT INTO customers SELECT * FROM customers WHERE id = 1")
        refused = await source.query("DROP TABLE orders")
    assert updated.structured["rowCount"] == 3
    assert "3 rows affected in " in updated.text
    assert (returned.structured["rows"], returned.structured["rowCount"]) == ([[1], [2], [3], [4]], 4)
    assert (duplicate.code, "duplicate key" in duplicate.text) == ("source.failed", True)
    assert refused.code == "refused.forbidden"
    with closing(sqlite3.connect(shop)) as connection:
        assert connection.execute("SELECT sum(stock) FROM products WHERE id <= 3").fetchone() == (15,)
        assert connection.execute("SELECT count(*) FROM order_items WHERE id <= 4").fetchone() == (0,)


async def test_writes_through_a_schema_name_reach_the_file(opened: OpenShop, shop: Path) -> None:
    async with opened(mode=Mode.WRITE, schema="shop") as source:
        assert not (await source.query("DELETE FROM shop.order_items")).is_error
    with closing(sqlite3.connect(shop)) as connection:
        assert connection.execute("SELECT count(*) FROM order_items").fetchone() == (0,)


async def test_a_returning_clause_is_cut_but_its_write_is_whole(opened: OpenShop, shop: Path) -> None:
    async with opened(mode=Mode.WRITE, max_rows=2) as source:
        answer = await source.query("DELETE FROM order_items RETURNING id")
    assert (len(answer.structured["rows"]), answer.structured["truncated"]) == (2, True)
    with closing(sqlite3.connect(shop)) as connection:
        assert connection.execute("SELECT count(*) FROM order_items").fetchone() == (0,)


async def test_a_failed_transaction_is_rolled_back_and_the_connection_is_clean_again(
    opened: OpenShop,
) -> None:
    async with opened(mode=Mode.WRITE, pool_size=1) as source:
        failed = await source.query("BEGIN; DELETE FROM order_items; SELECT * FROM nowhere; COMMIT")
        left = await source.query("SELECT count(*) FROM order_items")
        done = await source.query("BEGIN; DELETE FROM order_items; COMMIT")
    assert "Statement 3 of 4; 2 before it were run" in failed.text
    assert left.structured["rows"] == [[3097]]
    assert not done.is_error


async def test_ddl_runs_where_it_is_allowed(opened: OpenShop) -> None:
    async with opened(mode=Mode.WRITE, allow_ddl=True) as source:
        for sql in (
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, body VARCHAR(20) DEFAULT ('x'))",
            "CREATE INDEX notes_by_body ON notes (lower(body))",
            "CREATE VIEW bodies AS SELECT body FROM notes",
            "ALTER TABLE notes ADD COLUMN extra TEXT",
            "ALTER TABLE notes RENAME COLUMN extra TO more",
            "INSERT INTO notes (body) VALUES ('a')",
        ):
            answer = await source.query(sql)
            assert not answer.is_error, answer.text
        assert (await source.query("SELECT * FROM bodies")).structured["rows"] == [["a"]]


async def test_a_locked_database_says_so(opened: OpenShop, shop: Path) -> None:
    async with opened(mode=Mode.WRITE) as source:
        with closing(sqlite3.connect(shop, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            answer = await source.query("DELETE FROM orders")
            other.execute("ROLLBACK")
    assert answer.is_error
    assert "locked" in answer.text


async def test_the_engines_own_refusal_is_told_apart(opened: OpenShop, shop: Path) -> None:
    """A view may call what no statement may: the guard does not see into it, the authorizer does."""
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("CREATE VIEW sneaky AS SELECT sqlite_log(1, 'x') AS z")
    async with opened() as source:
        answer = await source.query("SELECT * FROM sneaky")
    assert (answer.code, answer.rule) == ("refused.forbidden", "engine")
    assert (answer.facts.verdict, answer.facts.rule) == ("deny", "engine")


async def test_full_text_tables_can_be_read(opened: OpenShop, shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as connection:
        connection.execute("CREATE VIRTUAL TABLE docs USING fts5(body)")
        connection.execute("INSERT INTO docs VALUES ('hello world'), ('other')")
        connection.commit()
    async with opened() as source:
        answer = await source.query("SELECT highlight(docs, 0, '[', ']') FROM docs WHERE docs MATCH 'hello'")
        called = await source.query("SELECT body FROM docs('hello') ORDER BY rank")
        joined = await source.query("SELECT d.body FROM orders o JOIN main.docs('other') d ON d.rowid = o.id")
    assert answer.structured["rows"] == [["[hello] world"]]
    assert called.structured["rows"] == [["hello world"]]
    assert joined.structured["rows"] == [["other"]]


async def test_a_missing_file_is_down_and_comes_back_by_itself(opened: OpenShop, shop: Path) -> None:
    hidden = shop.rename(shop.with_suffix(".hidden"))
    async with opened() as source:
        health = source.server.health()
        assert (health.state, health.kind, health.error_code) == (State.DOWN, "sql", "source.unavailable")
        assert f"{shop} does not exist" in health.detail
        down = await source.query("SELECT 1")
        assert (down.is_error, down.code) == (True, "source.unavailable")
        assert "the file shop.db does not exist" in down.text
        assert str(shop.parent) not in down.text
        hidden.rename(shop)
        assert not (await source.query("SELECT count(*) FROM orders")).is_error
        assert source.server.health().state is State.UP
        assert source.server.health().detail == "SQLite, READ-ONLY"
        shop.unlink()
        assert (await source.query("SELECT count(*) FROM orders")).code == "source.unavailable"


@pytest.mark.parametrize("size", [100, 5_000])
async def test_a_corrupt_file_is_down_with_a_reason(opened: OpenShop, shop: Path, size: int) -> None:
    good = shop.read_bytes()
    shop.write_bytes(good[:size] + b"\xaa" * 20_000)
    async with opened() as source:
        answer = await source.query("SELECT count(*) FROM orders")
        assert answer.code == "source.unavailable"
        assert source.server.health().state is State.DOWN
    shop.write_bytes(b"this is no database" * 100)
    async with opened() as source:
        assert "not a SQLite database" in source.server.health().detail


async def test_a_replaced_file_is_read_anew(opened: OpenShop, shop: Path, tmp_path: Path) -> None:
    async with opened(pool_size=1) as source:
        await source.query("SELECT 1")
        fresh = tmp_path / "fresh.db"
        with closing(sqlite3.connect(fresh)) as connection:
            connection.execute("CREATE TABLE only_here (a)")
        fresh.replace(shop)
        assert not (await source.query("SELECT * FROM only_here")).is_error


def test_an_engine_that_is_not_spoken_is_a_setup_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        open_source(SourceSettings("x", "oracle", tmp_path))
    assert caught.value.code.code == "setup.engine"
