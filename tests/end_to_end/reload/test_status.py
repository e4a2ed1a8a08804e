"""`callgate status`: one screen of what needs somebody."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from end_to_end.gateway_process import run_callgate, running_gateway
from waiting import until

HASH = f'token_hash = "sha256:{"0" * 63}'


async def test_what_needs_somebody_is_listed_and_nothing_else(tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    days = {"late": -2, "soon": 3, "fine": 60}
    tokens = "".join(
        f'[principals.{name}]\n{HASH}{at}"\nexpires = {today + timedelta(days=days[name])}\n'
        for at, name in enumerate(days)
    )
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[mcpServers.gone]\nurl = "http://127.0.0.1:9/mcp"\n{tokens}'
    )
    async with running_gateway(tmp_path) as gateway:

        async def is_down() -> bool:
            servers = (await gateway.get("/api/v1/servers"))["servers"]
            return any(one["name"] == "gone" and one["state"] == "down" for one in servers)

        await until(is_down)
        shown = await run_callgate(tmp_path, "status")
        assert shown.exit_code == 0, shown.stderr
        assert "gone is down" in shown.stdout
        assert "the token of late has expired" in shown.stdout
        assert "the token of soon expires" in shown.stdout
        assert "fine" not in shown.stdout
        told = json.loads((await run_callgate(tmp_path, "status", "--json")).stdout)
        assert [(one["kind"], one["name"]) for one in told["needs"]] == [
            ("server", "gone"),
            ("token", "late"),
            ("token", "soon"),
        ]


async def test_with_a_broken_file_both_the_gateway_and_the_problem_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "callgate.toml"
    file.write_text("version = 1\n")
    async with running_gateway(tmp_path) as gateway:
        quiet = await run_callgate(tmp_path, "status")
        assert (quiet.exit_code, "nothing needs you" in quiet.stdout) == (0, True)
        for broken, said in (("version = 1\n[server\n", "line 2"), ("version = 1\nsever = 1\n", "sever")):
            file.write_text(broken)
            shown = await run_callgate(tmp_path, "status")
            assert (shown.exit_code, gateway.announced["url"] in shown.stdout) == (0, True), shown.stderr
            assert said in shown.stdout
    alone = await run_callgate(tmp_path, "status")
    assert (alone.exit_code, alone.stdout) == (5, "")
    assert "sever" in alone.stderr
    assert "No gateway is running" in alone.stderr
