"""`callgate tools`: what is on offer and what it costs, through a running gateway and without one."""

import json
import sys
from pathlib import Path

import pytest
from end_to_end.gateway_process import run_callgate, running_gateway
from relay.real_tools import __file__ as real_tools
from relay.real_tools import tools_by_server

from callgate.recorder.flush.tokens import TokenCounter

SERVERS = ("github", "notion", "time")
RUNNING = pytest.mark.parametrize("running", [False, True], ids=["alone", "through the gateway"])


def configure(folder: Path, *servers: str, settings: str = "") -> None:
    lines = ["version = 1", "[server]", settings]
    for server in servers:
        lines += [f"[mcpServers.{server}]", f"command = {json.dumps(sys.executable)}"]
        lines.append(f"args = {json.dumps(['-S', real_tools, server])}")
    (folder / "callgate.toml").write_text("\n".join(lines))


async def run(folder: Path, running: bool, *arguments: str) -> tuple[int, str, str]:
    if not running:
        done = await run_callgate(folder, "tools", *arguments)
        return done.exit_code, done.stdout, done.stderr
    async with running_gateway(folder):
        done = await run_callgate(folder, "tools", *arguments)
        return done.exit_code, done.stdout, done.stderr


@RUNNING
async def test_tools_and_servers_are_listed_the_dearest_first_with_the_sums(
    tmp_path: Path, running: bool
) -> None:
    configure(tmp_path, *SERVERS)
    code, stdout, _ = await run(tmp_path, running, "--json")
    told = json.loads(stdout)
    known = tools_by_server()
    assert code == 0
    assert told["total"] == len(told["tools"]) == sum(len(known[server]) for server in SERVERS)
    costs = [tool["tokens"] for tool in told["tools"]]
    assert costs == sorted(costs, reverse=True)
    assert told["tokens"] == sum(costs) == sum(server["tokens"] for server in told["servers"])
    assert [server["name"] for server in told["servers"]] == ["notion", "github", "time"]
    (clock,) = [tool for tool in told["tools"] if tool["name"] == "time__convert_time"]
    (definition,) = [tool for tool in known["time"] if tool["name"] == "convert_time"]
    raw = json.dumps({**definition, "name": "time__convert_time"}, separators=(",", ":"))
    assert clock["tokens"] == TokenCounter().count(raw), "by the counter of the record"


async def test_people_get_a_table_the_sums_and_what_to_do_about_them(tmp_path: Path) -> None:
    configure(tmp_path, *SERVERS)
    _, stdout, stderr = await run(tmp_path, False)
    head, *rows = [line.split("\t") for line in stdout.splitlines()]
    assert head == ["tokens", "tool", "server", "description"]
    assert len(rows) == 52
    assert "time: 2 tools, " in stderr
    assert "tokens: in every client's context" in stderr
    assert "tool_search = true" in stderr
    assert "leave_out" in stderr


async def test_one_servers_tools_and_those_that_fit_words(tmp_path: Path) -> None:
    configure(tmp_path, *SERVERS, settings="tool_search = true")
    async with running_gateway(tmp_path):
        of_one = await run_callgate(tmp_path, "tools", "--server", "time")
        found = await run_callgate(tmp_path, "tools", "fork", "repository", "--json")
        shown = await run_callgate(tmp_path, "tools", "fork", "repository")
        unknown = await run_callgate(tmp_path, "tools", "--server", "tim")
    assert {line.split("\t")[1] for line in of_one.stdout.splitlines()[1:]} == {
        "time__convert_time",
        "time__get_current_time",
    }
    assert "github" not in of_one.stderr
    assert "tool_search lists none of it" in of_one.stderr
    assert json.loads(found.stdout)["tools"][0]["name"] == "github__fork_repository"
    assert f"{json.loads(found.stdout)['total']} of 52 tools found, " in shown.stderr
    assert "tool_search lists none of it" not in shown.stderr
    assert json.loads(found.stdout)["tool_search"] is True
    assert (unknown.exit_code, "caller.unknown_server" in unknown.stderr) == (2, True)
