"""Sources as an operator configures them: several of a kind, own tools, audit, doctor."""

import asyncio
import json
import shutil
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from databases.database import Database
from end_to_end.forked import forked_callgate, start_forked
from end_to_end.gateway_process import clean_environment, run_callgate, running_gateway, text_in
from mcp import Client
from waiting import until

from callgate.sql.demo.demo import make_demo_shop

CONFIG = """
version = 1
[server]
listen = "127.0.0.1:0"
audit_stderr = true
[[sources]]
id = "shop_one"
dsn = "sqlite:///one.db?schema=shop"
[[sources]]
id = "two"
dsn = "sqlite:///two.db"
mode = "write"
[[tools]]
name = "orders_by_status"
source = "shop_one"
description = "How many orders have a status"
sql = "SELECT count(*) AS n FROM shop.orders WHERE status = :status"
params.status = { type = "string", description = "pending, shipped, …" }
"""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "shop.db"
    make_demo_shop(path)
    return path


@pytest.fixture
def folder(tmp_path: Path, pristine: Path) -> Path:
    for name in ("one.db", "two.db"):
        shutil.copy(pristine, tmp_path / name)
    (tmp_path / "callgate.toml").write_text(CONFIG)
    return tmp_path


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_sources_of_a_kind_have_schemes_and_names_of_their_own(folder: Path, mode: str) -> None:
    async with (
        running_gateway(folder, "--port", "0") as gateway,
        Client(gateway.mcp_url, mode=mode) as client,
        Client(gateway.announced["url"] + "/servers/two/mcp", mode=mode) as direct,
    ):
        uris = [str(entry.uri) for entry in (await client.list_resources()).resources]
        assert uris == [
            *("sqlite+shop.one://databases", "sqlite+shop.one://shop"),
            *("sqlite+two://databases", "sqlite+two://main"),
        ]
        one = await client.read_resource("sqlite+shop.one://shop/orders")
        two = await client.read_resource("sqlite+two://main/orders")
        databases = [json.loads(text_in(read.contents[0]))["table"]["database"] for read in (one, two)]
        assert databases == ["shop", "main"]
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == [
            *(
                "shop_one__query",
                "shop_one__explain",
                "shop_one__search_objects",
                "shop_one__orders_by_status",
            ),
            *("two__query", "two__explain", "two__search_objects"),
        ]
        result = await client.call_tool("shop_one__orders_by_status", {"status": "cancelled"})
        assert result.structured_content is not None
        assert result.structured_content["rows"][0][0] > 10
        read = await direct.read_resource("sqlite://main")
        assert "orders" in text_in(read.contents[1])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_engine_is_asked_alike(
    folder: Path, mariadb: Database, postgres: Database, mode: str
) -> None:
    with closing(duckdb.connect(folder / "duck.db")) as connection:
        connection.execute("CREATE TABLE ducks (id INTEGER)")
    dsns = {
        "my": f"{mariadb.dsn}?ssl=off",
        "pg": f"{postgres.dsn}?ssl=off",
        "lite": "sqlite:///one.db",
        "duck": "duckdb:///duck.db",
    }
    tables = "".join(f'[[sources]]\nid = "{name}"\ndsn = "{dsn}"\n' for name, dsn in dsns.items())
    (folder / "callgate.toml").write_text(f"version = 1\n{tables}")
    async with (
        running_gateway(folder, "--port", "0") as gateway,
        Client(gateway.mcp_url, mode=mode) as client,
    ):
        schemes = ("mysql", "postgres", "sqlite", "duckdb")
        roots = {f"{scheme}://databases" for scheme in schemes}

        async def all_listed() -> bool:
            return roots <= {str(entry.uri) for entry in (await client.list_resources()).resources}

        await until(all_listed)  # a list does not wait for a database that is slow at first
        for name, scheme in zip(dsns, schemes, strict=True):
            listed = await client.read_resource(f"{scheme}://databases")
            assert json.loads(text_in(listed.contents[0]))["totalCount"] >= 1
            answered = await client.call_tool(f"{name}__query", {"query": "SELECT 1 AS one"})
            assert answered.structured_content is not None, answered
            assert answered.structured_content["rows"] == [[1]]
            refused = await client.call_tool(f"{name}__query", {"query": "DROP TABLE x.y"})
            assert refused.meta is not None
            assert refused.meta["callgate/code"] == "refused.forbidden"


async def test_a_statement_is_audited_on_stderr_and_its_secrets_are_not(folder: Path) -> None:
    process = await start_forked(
        "stdio",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=clean_environment(folder), cwd=folder,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    calls = [
        ("shop_one__query", {"query": "SELECT 'mysql://me:hunter2@db/x' FROM shop.orders LIMIT 3"}),
        ("shop_one__query", {"query": "DROP TABLE orders"}),
    ]
    for number, (name, arguments) in enumerate(calls):
        params = {"name": name, "arguments": arguments, "_meta": meta}
        request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        await process.stdin.drain()
        assert b'"result"' in await process.stdout.readline()
    process.stdin.close()
    stderr = await process.stderr.read()
    await process.wait()
    executed, blocked = (json.loads(line) for line in stderr.splitlines() if line.startswith(b"{"))
    assert (executed["source"], executed["mode"], executed["allowed"]) == ("shop_one", "READ_ONLY", True)
    assert (executed["queryType"], executed["rows"], executed["tables"]) == ("SELECT", 3, ["shop.orders"])
    assert executed["executionTime"] > 0
    assert (blocked["allowed"], blocked["rule"], blocked["query"]) == (False, "never", "DROP TABLE orders")
    assert b"hunter2" not in stderr


async def test_a_refused_tool_keeps_the_gateway_from_starting_and_names_the_rule(folder: Path) -> None:
    text = CONFIG.replace("SELECT count(*) AS n FROM", "DELETE FROM")
    (folder / "callgate.toml").write_text(text)
    for command in (("serve",), ("config", "check"), ("doctor",)):
        done = await run_callgate(folder, *command)
        assert done.exit_code == 3
        said = done.stdout + done.stderr
        assert "tools[0].sql: the guard refuses it (rule read_only): DELETE operations" in said


async def test_doctor_says_what_is_up_what_is_down_and_what_to_do(folder: Path) -> None:
    healthy = await run_callgate(folder, "doctor")
    assert healthy.exit_code == 0
    assert "✓ source shop_one: reachable (SQLite" in healthy.stdout
    (folder / "two.db").unlink()
    done = await run_callgate(folder, "doctor")
    assert done.exit_code == 5
    assert "✗ source two: down" in done.stdout
    assert "Check the path in the source's DSN." in done.stdout
    told = json.loads((await run_callgate(folder, "doctor", "--json")).stdout)
    assert told["ok"] is False
    assert [(one["name"], one["reachable"], one["mode"]) for one in told["upstreams"]] == [
        ("shop_one", True, "read_only"),
        ("two", False, "write"),
    ]


@pytest.mark.parametrize(
    ("dsn", "words"),
    [
        ("mysql://u:p@127.0.0.1:1/x", "connection refused. Is the server running, and is the port right?"),
        ("postgres://u:p@127.0.0.1:1/x", "connection refused. Is the server running, and is the port right?"),
        ("sqlite:///no-database.txt", "is not a SQLite database"),
        ("sqlite:///broken.db", "cannot be opened"),
        ("duckdb:///no-database.txt", "is not a DuckDB"),
        ("duckdb:///broken.duckdb", "database file"),
    ],
)
async def test_doctor_speaks_to_the_operator(tmp_path: Path, dsn: str, words: str) -> None:
    (tmp_path / "no-database.txt").write_text("a text, and long enough to have a header. " * 100)
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    (tmp_path / "broken.duckdb").write_bytes(bytes(8) + b"DUCK" + b"\xff" * 20000)
    (tmp_path / "callgate.toml").write_text(f"version = 1\n[[sources]]\nid = 'x'\ndsn = '{dsn}'\n")
    done = await run_callgate(tmp_path, "doctor")
    assert done.exit_code == 5, done.stdout
    assert words in done.stdout
    assert "operator" not in done.stdout


async def test_doctor_without_anything_to_look_at_says_so(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "doctor")
    assert done.exit_code == 0
    assert "the read-only demo shop would be served" in done.stdout


async def test_doctor_reports_every_problem_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text("version = 1\n[server]\nlisten = 1\n[[sources]]\nid = 'x'\n")
    done = await run_callgate(tmp_path, "doctor", "--json")
    assert done.exit_code == 3
    keys = [problem["key"] for problem in json.loads(done.stdout)["config"]["problems"]]
    assert {"server.listen", "sources[0].dsn"} <= set(keys)


async def test_doctor_asks_mcp_servers_too(tmp_path: Path) -> None:
    inner = {"CALLGATE_STATE_DIR": tmp_path / "inner", "CALLGATE_CONFIG": tmp_path / "i.toml"}
    env = ", ".join(f"{name} = '{value}'" for name, value in inner.items())
    command, *arguments = [*forked_callgate(), "stdio"]
    (tmp_path / "callgate.toml").write_text(
        "version = 1\n"
        f"[mcpServers.demo]\ncommand = '{command}'\nargs = {arguments}\n"
        f"env = {{ {env} }}\n"
        "[mcpServers.gone]\ncommand = 'no-such-program-here'\n"
    )
    (tmp_path / "i.toml").write_text("version = 1\n")
    told = json.loads((await run_callgate(tmp_path, "doctor", "--json")).stdout)
    assert [(one["name"], one["kind"], one["reachable"]) for one in told["upstreams"]] == [
        ("demo", "mcp", True),
        ("gone", "mcp", False),
    ]
    assert told["upstreams"][1]["findings"][0]["severity"] == "problem"


async def test_doctor_warns_of_an_account_that_may_do_too_much(tmp_path: Path, mariadb: Database) -> None:
    (tmp_path / "callgate.toml").write_text(
        f"version = 1\n[[sources]]\nid = 'big'\ndsn = '{mariadb.dsn}?ssl=off'\n"
    )
    done = await run_callgate(tmp_path, "doctor")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "! The account has all privileges on everything." in done.stdout
    assert mariadb.password not in done.stdout + done.stderr


async def test_doctor_says_each_warning_once(tmp_path: Path, postgres: Database) -> None:
    (tmp_path / "callgate.toml").write_text(f"version = 1\n[[sources]]\nid = 'x'\ndsn = '{postgres.dsn}'\n")
    done = await run_callgate(tmp_path, "doctor")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "! The role is a superuser" in done.stdout
