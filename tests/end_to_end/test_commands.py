"""The command line as people and scripts use it."""

import json
import socket
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest
from end_to_end.gateway_process import CALLGATE, clean_environment, run_callgate, running_gateway
from waiting import until

import callgate

COUNT = "query=SELECT count(*) AS n FROM shop.orders"


def busy_port() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


async def test_a_file_with_just_the_version_serves_the_demo(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("version = 1\n")
    async with running_gateway(tmp_path, "--config", str(file), "--port", "0") as gateway:
        assert gateway.announced["config"] == str(file)
        (server,) = (await gateway.get("/healthz"))["servers"]
        assert (server["name"], server["state"]) == ("demo", "up")
        assert "READ-ONLY" in server["detail"]


async def test_a_busy_explicit_port_exits_4_and_says_what_to_do(tmp_path: Path) -> None:
    with busy_port() as taken:
        done = await run_callgate(tmp_path, "serve", "--port", str(taken.getsockname()[1]))
    assert done.exit_code == 4
    assert "--port" in done.stderr
    assert "setup.port" in done.stderr


async def test_a_port_that_callgate_has_is_told_with_its_process(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as gateway:
        url = gateway.announced["url"]
        done = await run_callgate(tmp_path, "serve", "-p", url.rpartition(":")[2])
        assert done.exit_code == 4
        assert (
            f"Callgate already runs at {url} (pid {gateway.process.pid}, state folder {tmp_path})"
            in done.stderr
        )
        assert f"kill {gateway.process.pid}" in done.stderr


@pytest.mark.parametrize("token", ["", "x7-a-long-enough-token-2b8c31"])
async def test_a_port_that_callgate_has_with_another_state_folder_is_told(tmp_path: Path, token: str) -> None:
    if token:
        (tmp_path / "callgate.toml").write_text(f'version = 1\n[server]\ntokens = ["{token}"]\n')
    other = tmp_path / "other"
    other.mkdir()
    async with running_gateway(tmp_path) as gateway:
        url = gateway.announced["url"]
        done = await run_callgate(other, "serve", "-p", url.rpartition(":")[2])
    assert done.exit_code == 4
    assert f"Callgate already runs at {url}, on another state folder than {other}" in done.stderr
    assert "--port" in done.stderr


async def test_the_default_port_moves_to_the_next_free_one_and_says_so(tmp_path: Path) -> None:
    flags = ("--state-dir", str(tmp_path))
    async with running_gateway(tmp_path, *flags) as first, running_gateway(tmp_path, *flags) as second:
        assert first.announced["url"] != second.announced["url"]
        assert (await second.get("/healthz"))["status"] == "ok"
        assert "already runs" in " ".join(second.announced["warnings"])


@pytest.mark.parametrize("running", [False, True], ids=["by itself", "through the gateway"])
async def test_call_answers_with_and_without_a_running_gateway(tmp_path: Path, running: bool) -> None:
    if running:
        async with running_gateway(tmp_path) as gateway:
            done = await run_callgate(tmp_path, "call", "demo__query", COUNT)
            assert [entry["client"] for entry in await gateway.requests()] == [
                f"callgate-cli/{callgate.__version__}"
            ]

            async def is_over() -> bool:
                sessions = (await gateway.get("/api/v1/sessions"))["sessions"]
                assert [one["client_name"] for one in sessions] == ["callgate-cli"], "one client, one session"
                return sessions[0]["status"] != "open"

            await until(is_over)
    else:
        done = await run_callgate(tmp_path, "call", "demo__query", COUNT)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "| n |" in done.stdout


async def test_a_value_without_a_key_for_an_unlisted_tool_names_the_one_that_is_meant(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "call", "query", "SELECT 1")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "No tool query is listed, so 'SELECT 1' needs a key" in done.stderr
    assert "Did you mean demo__query?" in done.stderr


async def test_a_busy_port_is_told_in_plain_words(tmp_path: Path) -> None:
    with busy_port() as taken:
        port = taken.getsockname()[1]
        done = await run_callgate(tmp_path, "serve", "--port", str(port))
    assert done.stderr.startswith(f"Error: Cannot listen on 127.0.0.1:{port}: address already in use\n")


@pytest.mark.parametrize("running", [False, True], ids=["by itself", "through the gateway"])
async def test_call_of_a_server_that_is_down_says_so(tmp_path: Path, running: bool) -> None:
    (tmp_path / "callgate.toml").write_text(
        'version = 1\n[mcpServers.dead]\nurl = "http://127.0.0.1:1/mcp"\n'
        '[mcpServers.missing]\ncommand = "no-such-program"\n'
    )
    if running:
        async with running_gateway(tmp_path) as gateway:
            dead = await run_callgate(tmp_path, "call", "dead__greet", "name=Zoë")
            missing = await run_callgate(tmp_path, "call", "missing__greet")
            (row,) = (await gateway.get("/api/v1/tool-calls?server=dead"))["tool_calls"]
            assert (row["tool"], row["arguments"]) == ("dead__greet", '{"name":"Zoë"}')
    else:
        dead = await run_callgate(tmp_path, "call", "dead__greet", "name=Zoë")
        missing = await run_callgate(tmp_path, "call", "missing__greet")
    assert (dead.exit_code, "upstream.unavailable" in dead.stderr) == (5, True), dead.stderr
    assert "http://127.0.0.1:1 refused the connection" in dead.stderr
    assert (missing.exit_code, "no-such-program was not found" in missing.stderr) == (5, True), missing.stderr


async def test_call_reaches_tools_that_are_found_by_search_only(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "call", "demo__query", COUNT, CALLGATE_SERVER_TOOL_SEARCH="true")
    assert (done.exit_code, "| n |" in done.stdout) == (0, True), done.stderr
    wrong = await run_callgate(tmp_path, "call", "demo__qery", COUNT, CALLGATE_SERVER_TOOL_SEARCH="true")
    assert (wrong.exit_code, "Did you mean demo__query" in wrong.stderr) == (2, True), wrong.stderr


async def test_call_joins_a_gateway_of_the_same_file_whatever_port_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text('version = 1\n[server]\nlisten = "127.0.0.1:7499"\n')
    async with running_gateway(tmp_path, "--host", "127.0.0.1", "--port", "0") as gateway:
        done = await run_callgate(tmp_path, "call", "demo__query", COUNT)
        with urlopen(f"{gateway.announced['url']}/metrics") as answer:
            counted = answer.read().decode()
    assert (done.exit_code, done.stderr) == (0, "")
    assert 'callgate_exchanges_total{server="demo",method="tools/call",outcome="answered"} 1' in counted


async def test_call_as_json_is_the_whole_result(tmp_path: Path) -> None:
    done = await run_callgate(
        tmp_path, "call", "demo__query", "query=SELECT 1 AS one", "response_format=json", "--json"
    )
    assert json.loads(done.stdout)["structuredContent"]["rows"] == [[1]]


async def test_a_refused_call_exits_6_and_says_why_on_stderr(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "call", "demo__query", "query=DELETE FROM shop.orders")
    assert (done.exit_code, done.stdout) == (6, "")
    assert "READ-ONLY" in done.stderr


async def test_a_wrong_tool_exits_2_with_the_nearest_name(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "call", "demo_query", COUNT)
    assert done.exit_code == 2
    assert "demo__query" in done.stderr


async def test_a_wrong_argument_exits_2(tmp_path: Path) -> None:
    for arguments in (["query"], ["query:=nope"], ["nonsense=1", COUNT]):
        done = await run_callgate(tmp_path, "call", "demo__query", *arguments)
        assert done.exit_code == 2, arguments


async def test_three_mistakes_print_three_problems_and_exit_3(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(
        'version = 1\n[server]\nlisen = "127.0.0.1:1"\n[[sources]]\nid = "shop"\n'
        'dsn = "sqlite:///x.db"\nmode = "readonly"\n[record]\nkeep = "a while"\n'
    )
    for command in (["config", "check"], ["serve"], ["call", "x"]):
        done = await run_callgate(tmp_path, *command)
        assert done.exit_code == 3
        for key_path in ("server.lisen", "sources[0].mode", "record.keep"):
            assert key_path in done.stderr
        assert "listen" in done.stderr
        assert "read_only" in done.stderr
        assert "3 problems" in done.stderr


async def test_what_was_ignored_is_told_beside_the_problems(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"one": {"command": "x", "autoApprove": [], "timeout_s": "soon"}}}')
    for command in (["config", "check"], ["doctor"]):
        done = await run_callgate(tmp_path, *command, "--config", str(path))
        assert done.exit_code == 3
        assert "timeout_s" in done.stdout + done.stderr
        assert "autoApprove" in done.stdout
    told = await run_callgate(tmp_path, "doctor", "--json", "--config", str(path))
    assert "autoApprove" in json.loads(told.stdout)["config"]["notes"][0]["message"]


async def test_a_password_is_in_no_output(tmp_path: Path) -> None:
    secret = "s3cr3t-s3cr3t"
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[[sources]]\nid = "x"\ndsn = "mysql://me:{secret}@db/x"\nmoed = 1\n'
    )
    for command in (["config", "check"], ["serve"]):
        done = await run_callgate(tmp_path, *command)
        assert secret not in done.stdout + done.stderr
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[[sources]]\nid = "x"\ndsn = "mysql://me:{secret}@db/x"\n'
    )
    done = await run_callgate(tmp_path, "config", "show")
    assert done.exit_code == 0
    assert "***" in done.stdout
    assert secret not in done.stdout + done.stderr


async def test_config_commands_answer(tmp_path: Path) -> None:
    schema = await run_callgate(tmp_path, "config", "schema")
    assert "sources" in json.loads(schema.stdout)["properties"]
    places = await run_callgate(tmp_path, "config", "path", "--json")
    assert json.loads(places.stdout)["state"] == str(tmp_path)


async def test_a_database_that_is_down_does_not_stop_the_start_and_is_shown_as_down(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(
        'version = 1\n[[sources]]\nid = "shop"\ndsn = "mysql://me@127.0.0.1:1/shop"\n'
    )
    async with running_gateway(tmp_path) as gateway:
        asked = await run_callgate(tmp_path, "call", "shop__query", "query=SELECT 1")
        assert (asked.exit_code, "cannot be reached" in asked.stderr) == (5, True)
        health = await gateway.get("/healthz")
        assert health["status"] == "degraded"
        assert [(entry["name"], entry["state"], entry["code"]) for entry in health["servers"]] == [
            ("shop", "down", "source.unavailable")
        ]


def test_help_needs_no_heavy_import(tmp_path: Path) -> None:
    """What makes `--help` and completion quick; scripts/bench start measures the time itself."""
    environment = clean_environment(tmp_path)
    done = subprocess.run([*CALLGATE, "--help"], capture_output=True, env=environment, check=True)
    assert b"stdio" in done.stdout
    show_modules = "import sys, callgate.cli.main; print(*sys.modules)"
    loaded = subprocess.run(
        [CALLGATE[0], "-c", show_modules], capture_output=True, env=environment, check=True, text=True
    ).stdout.split()
    assert not {"pydantic", "msgspec", "duckdb", "sqlglot", "starlette", "uvloop"} & set(loaded)
