"""The record from the terminal: the same answers through a running gateway and on the files alone."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import duckdb
import pytest
from end_to_end.forked import start_forked
from end_to_end.gateway_process import clean_environment, run_callgate, running_gateway

import callgate

RUNNING = pytest.mark.parametrize("running", [False, True], ids=["on the files", "through the gateway"])


@asynccontextmanager
async def recorded(state: Path, running: bool, *queries: str) -> AsyncIterator[None]:
    """A state folder in which these were asked, with or without a gateway."""
    if not running:
        for query in queries:
            await run_callgate(state, "call", "demo__query", f"query={query}")
        yield
        return
    async with running_gateway(state):
        for query in queries:
            await run_callgate(state, "call", "demo__query", f"query={query}")
        yield


@RUNNING
async def test_calls_are_listed_and_filtered(tmp_path: Path, running: bool) -> None:
    async with recorded(tmp_path, running, "SELECT 1", "DELETE FROM shop.orders"):
        listed = await run_callgate(tmp_path, "calls")
        refused = await run_callgate(tmp_path, "calls", "--outcome", "refused", "--since", "1h", "--json")
        none = await run_callgate(tmp_path, "calls", "--text", "nowhere to be found")
        by_rows = await run_callgate(tmp_path, "calls", "--sort", "most_rows", "--client", "nobody/1")
        code = await run_callgate(tmp_path, "calls", "--error", "refused.read_only", "--sort", "most_rows")
        slow = await run_callgate(tmp_path, "calls", "--slower-than", "1w", "--json")
        wrong = await run_callgate(tmp_path, "calls", "--slower-than", "long")
        sessions = await run_callgate(tmp_path, "sessions", "--json")
    head, *rows = [line.split("\t") for line in listed.stdout.splitlines()]
    assert head == ["time", "outcome", "ms", "tool", "arguments", "client", "id"]
    assert [(row[1], row[4]) for row in rows] == [
        ("refused", "DELETE FROM shop.orders"),
        ("answered", "SELECT 1"),
    ]
    assert [call["sql"] for call in json.loads(refused.stdout)["tool_calls"]] == ["DELETE FROM shop.orders"]
    assert "No calls that fit in the record" in none.stderr
    assert by_rows.stdout.split() == ["time", "outcome", "ms", "rows", "tool", "arguments", "client", "id"]
    assert [line.split("\t")[1] for line in code.stdout.splitlines()] == ["outcome", "refused"]
    assert json.loads(slow.stdout)["total"] == 0
    assert (wrong.exit_code, "500ms" in wrong.stderr) == (2, True)
    assert sum(one["tool_call_count"] for one in json.loads(sessions.stdout)["sessions"]) == 2


@RUNNING
async def test_a_query_answers_and_a_wrong_one_exits_2_and_says_why(tmp_path: Path, running: bool) -> None:
    sql = "SELECT tool_name, count(*) AS n FROM rpc_events WHERE method = 'tools/call' GROUP BY 1"
    async with recorded(tmp_path, running, "SELECT 1"):
        asked = await run_callgate(tmp_path, "query", sql)
        piped = await run_callgate(tmp_path, "query", "-", "--json", stdin=sql.encode())
        wrong = await run_callgate(tmp_path, "query", "DROP TABLE sessions")
    assert asked.stdout.splitlines() == ["tool_name\tn", "demo__query\t1"]
    assert json.loads(piped.stdout)["rows"] == [["demo__query", 1]]
    assert wrong.exit_code == 2
    assert "caller.bad_params" in wrong.stderr


@RUNNING
async def test_an_export_is_a_whole_file_of_any_format(tmp_path: Path, running: bool) -> None:
    async with recorded(tmp_path, running, "SELECT 1"):
        lines = await run_callgate(tmp_path, "export", "--method", "tools/call")
        for kind in ("csv", "parquet"):
            file = tmp_path / f"out.{kind}"
            done = await run_callgate(
                tmp_path, "export", "-f", kind, "-o", str(file), "--method", "tools/call"
            )
            assert done.exit_code == 0, done.stderr
            with duckdb.connect() as connection:
                assert connection.sql(f"SELECT sql FROM '{file}'").fetchall() == [("SELECT 1",)]
    assert [json.loads(line)["sql"] for line in lines.stdout.splitlines()] == ["SELECT 1"]
    assert not list(tmp_path.glob("*.part"))


@RUNNING
async def test_a_call_is_replayed_as_it_was_and_with_other_arguments(tmp_path: Path, running: bool) -> None:
    async with recorded(tmp_path, running, "SELECT 1 AS n"):
        (call,) = json.loads((await run_callgate(tmp_path, "calls", "--json")).stdout)["tool_calls"]
        again = await run_callgate(tmp_path, "replay", call["id"])
        other = await run_callgate(tmp_path, "replay", call["id"], "query=SELECT 42 AS n")
        refused = await run_callgate(tmp_path, "replay", call["id"], "query=DELETE FROM shop.orders")
        unknown = await run_callgate(tmp_path, "replay", "nothing")
        calls = json.loads((await run_callgate(tmp_path, "calls", "--json")).stdout)["tool_calls"]
    assert "| 1 |" in again.stdout
    assert "| 42 |" in other.stdout
    assert (refused.exit_code, unknown.exit_code) == (6, 1)
    assert [one["sql"] for one in calls] == [
        "DELETE FROM shop.orders", "SELECT 42 AS n", "SELECT 1 AS n", "SELECT 1 AS n",
    ]  # fmt: skip
    assert {one["client"] for one in calls} == {f"callgate-cli/{callgate.__version__}"}, "one name for all"


async def test_tail_shows_calls_as_they_end_until_interrupted(tmp_path: Path) -> None:
    async with running_gateway(tmp_path):
        process = await start_forked(
            "tail", "--json", "--tool", "demo__query", stdout=asyncio.subprocess.PIPE,
            env=clean_environment(tmp_path), cwd=tmp_path,
        )  # fmt: skip
        assert process.stdout is not None
        first = asyncio.create_task(process.stdout.readline())
        while not first.done():  # it says nothing once it listens: call until it hears
            await run_callgate(tmp_path, "call", "demo__query", "query=SELECT 5")
        assert json.loads(first.result())["sql"] == "SELECT 5"
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130


async def test_tail_without_a_gateway_exits_5_and_says_how_to_start_one(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "tail")
    assert done.exit_code == 5
    assert "callgate" in done.stderr


async def test_a_gateway_with_tokens_is_asked_with_the_configured_one(tmp_path: Path) -> None:
    config = tmp_path / "callgate.toml"
    config.write_text('version = 1\n[server]\ntokens = ["9f3c27d1a8e64b05c2f7"]\n')
    async with running_gateway(tmp_path, "--config", str(config), "--port", "0") as gateway:
        told = await gateway.get("/api/v1/sessions")
        done = await run_callgate(tmp_path, "sessions", "--json", "--config", str(config))
    assert told["code"] == "refused.unauthenticated"
    assert json.loads(done.stdout)["total"] == 0


@RUNNING
async def test_a_piece_of_an_id_will_do(tmp_path: Path, running: bool) -> None:
    async with recorded(tmp_path, running, "SELECT 1", "SELECT 2"):
        listed = json.loads((await run_callgate(tmp_path, "calls", "--json")).stdout)["tool_calls"]
        newest, oldest = listed
        replayed = await run_callgate(tmp_path, "replay", oldest["id"][-8:])
        found = await run_callgate(tmp_path, "calls", "--session", oldest["session_id"][-8:], "--json")
        several = await run_callgate(tmp_path, "replay", oldest["id"][:4])
    assert (replayed.exit_code, "| 1 |" in replayed.stdout) == (0, True)
    assert oldest["id"] in {call["id"] for call in json.loads(found.stdout)["tool_calls"]}
    assert several.exit_code == 2
    assert "caller.ambiguous_id" in several.stderr
    assert newest["id"] in several.stderr
