"""`callgate FILE…` without any configuration, and `callgate init`."""

import os
import re
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
from end_to_end.gateway_process import run_callgate, running_gateway, text_in
from mcp import Client

from callgate.config.load import load_config
from callgate.config.sources.flags import Flags


async def test_files_of_every_kind_are_served_and_nothing_beside_them(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as made:
        made.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (41)")
    duckdb.sql(f"COPY (SELECT 42 AS a) TO '{tmp_path}/it''s.parquet' (FORMAT parquet)")
    (tmp_path / "Sales.csv").write_text("a,b\n43,x\n")
    (tmp_path / "events.jsonl").write_text('{"a": 44}\n{"a": null}\n')
    (tmp_path / "secret.csv").write_text("a\nhunter2\n")
    names = ["shop.db", "it's.parquet", "Sales.csv", "events.jsonl"]
    async with (
        running_gateway(tmp_path, *names, "--port", "0") as gateway,
        Client(gateway.mcp_url) as client,
    ):

        async def ask(tool: str, sql: str) -> str:
            return text_in((await client.call_tool(tool, {"query": sql})).content[0])

        assert "41" in await ask("shop__query", "SELECT a FROM t")
        assert "42" in await ask("it-s__query", 'SELECT a FROM "it\'s"')
        assert "43" in await ask("sales__query", "SELECT a FROM Sales WHERE b = 'x'")
        assert "44" in await ask("events__query", "SELECT max(a) AS a FROM main.events")
        found = await client.call_tool("sales__search_objects", {"object_type": "table"})
        assert "Sales" in text_in(found.content[0])
        for statement in (
            f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
            f"SELECT * FROM '{tmp_path}/secret.csv'",
            "DROP VIEW Sales",
            f"COPY Sales TO '{tmp_path}/out.csv'",
        ):
            answer = await client.call_tool("sales__query", {"query": statement})
            assert answer.is_error
            assert "hunter2" not in text_in(answer.content[0])
    assert not (tmp_path / "out.csv").exists()


async def test_a_line_that_cannot_be_read_is_not_quoted_however_long(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("a,b\nhunter2" + "x" * 3_000_000 + ",1\n")
    (tmp_path / "callgate.toml").write_text(
        'version = 1\n[[sources]]\nid = "long"\ndsn = "duckdb:///long.csv"\n'
    )
    done = await run_callgate(tmp_path, "doctor")
    assert "Maximum line size" in done.stdout, done
    assert "hunter2" not in done.stdout
    assert len(done.stdout) < 2000


async def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    named = await run_callgate(tmp_path, "pipe.csv")
    assert (named.exit_code, "it is a pipe or a device" in named.stderr) == (3, True), named
    (tmp_path / "callgate.toml").write_text(
        'version = 1\n[[sources]]\nid = "pipe"\ndsn = "duckdb:///pipe.csv"\n'
        '[[sources]]\nid = "other"\ndsn = "sqlite:///pipe.csv"\n'
    )
    done = await run_callgate(tmp_path, "doctor")
    assert done.stdout.count("is a pipe or a device, not a file") == 2, done


async def test_a_file_whose_path_means_many_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "a[b].csv").write_text("a\n1\n")
    async with (
        running_gateway(tmp_path, "a[b].csv", "--port", "0") as gateway,
        Client(gateway.mcp_url) as client,
    ):
        (tool,) = [tool.name for tool in (await client.list_tools()).tools if tool.name.endswith("__query")]
        answer = await client.call_tool(tool, {"query": "SELECT 1"})
    assert "Rename the file" in text_in(answer.content[0])


async def test_init_writes_a_file_that_is_right_and_never_over_another(tmp_path: Path) -> None:
    assert (await run_callgate(tmp_path, "init")).exit_code == 0
    file = tmp_path / "callgate.toml"
    written = file.read_text()
    assert load_config(Flags(config=file), {}).config.is_empty
    again = await run_callgate(tmp_path, "init")
    assert (again.exit_code, file.read_text()) == (3, written)
    assert "already" in again.stderr


async def test_every_example_in_that_file_works_when_its_mark_is_removed(tmp_path: Path) -> None:
    await run_callgate(tmp_path, "init")
    file = tmp_path / "callgate.toml"
    file.write_text(re.sub(r"^#(?! )", "", file.read_text(), flags=re.MULTILINE))
    variables = {"ALICE_TOKEN": secrets.token_urlsafe(32), "SHOP_PASSWORD": "x", "GITHUB_TOKEN": "y"}
    config = load_config(Flags(config=file), variables).config
    assert [source.id for source in config.sources] == ["shop", "notes"]
    assert len(config.tools) == 1
    assert config.mcp_servers.keys() == {"files", "github"}
