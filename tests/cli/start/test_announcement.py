"""What `serve` says once it listens is true, and works when it is typed."""

import json
import subprocess
import sys
from pathlib import Path

from cli.terminal_stage import run_on_terminal
from end_to_end.gateway_process import CALLGATE, clean_environment, run_callgate, running_gateway

TOKEN = "a-token-that-nobody-may-see-0123456789"
TOOLS = '[[tools]]\nname = "orders"\nsource = "shop"\ndescription = "All"\nsql = "SELECT 1 AS n"\n'


def announced(folder: Path, **extra: str) -> str:
    command = [*CALLGATE, "serve", "--port", "0"]
    environment = clean_environment(folder, TERM="dumb", **extra)
    shown = run_on_terminal(command, environment, folder, until="claude mcp add")
    assert shown.exit_code == 130
    return shown.text


async def test_nothing_is_said_against_tools_that_are_served(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"\n{TOOLS}'
    )
    (tmp_path / "shop.db").touch()
    async with running_gateway(tmp_path) as gateway:
        assert gateway.announced["warnings"] == []
        called = await run_callgate(tmp_path, "call", "shop__orders")
        assert (called.exit_code, "| n |" in called.stdout) == (0, True)


def test_the_sample_works_in_whatever_folder_it_is_typed(tmp_path: Path) -> None:
    """From a checkout, where `callgate` is not on the path."""
    checkout, elsewhere = tmp_path / "a folder", tmp_path / "elsewhere"
    checkout.mkdir()
    elsewhere.mkdir()
    (checkout / "callgate").symlink_to(Path(sys.executable).with_name("callgate"))
    environment = clean_environment(tmp_path, TERM="dumb", PATH="/usr/bin:/bin")
    command = [str(checkout / "callgate"), "serve", "--port", "0"]
    shown = run_on_terminal(command, environment, checkout, until="claude mcp add")
    # The terminal may have broken the line.
    sample = "".join(shown.text.partition("another terminal:")[2].partition("claude mcp add")[0].splitlines())
    told = subprocess.run(
        ["bash", "-c", sample], env=environment, cwd=elsewhere, capture_output=True, text=True, check=False
    )
    assert (told.returncode, "| count(*) |" in told.stdout) == (0, True), (sample, told.stderr)


def test_the_line_for_claude_has_no_header_where_no_token_is_needed(tmp_path: Path) -> None:
    line = claude_line(announced(tmp_path))
    assert line.endswith("/mcp")


def test_a_record_in_a_database_is_shown_with_its_journal(tmp_path: Path) -> None:
    store = "clickhouse://me:hunter2hunter2@127.0.0.1:1/calls"
    shown = "".join(announced(tmp_path, CALLGATE_RECORD_STORE=store).splitlines())
    assert "127.0.0.1:1/calls (journal in" in shown
    assert "hunter2" not in shown


def test_the_line_for_claude_carries_the_token_of_the_shell(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text('version = 1\n[server]\ntokens = ["${CALLGATE_TOKEN}"]\n')
    shown = announced(tmp_path, CALLGATE_TOKEN=TOKEN)
    assert TOKEN not in shown
    # As a shell reads it, with a program of that name that tells its arguments.
    tell = 'claude() { python3 -c "import json, sys; print(json.dumps(sys.argv[1:]))" "$@"; }'
    script = f"{tell}\n{claude_line(shown)}"
    told = subprocess.run(
        ["bash", "-c", script], env=clean_environment(tmp_path, CALLGATE_TOKEN=TOKEN), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert json.loads(told.stdout)[-2:] == ["--header", f"Authorization: Bearer {TOKEN}"]
    unset = subprocess.run(
        ["bash", "-c", script], env=clean_environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert (unset.returncode != 0, unset.stdout) == (True, "")
    assert "CALLGATE_TOKEN" in unset.stderr


def claude_line(shown: str) -> str:
    (line,) = [line.strip() for line in shown.splitlines() if "claude mcp add" in line]
    return line


def test_a_server_that_is_still_connecting_is_not_shown_as_failed(tmp_path: Path) -> None:
    """As a terminal with colours shows it: red is for what is down."""
    slow = "import sys; sys.stdin.read()"
    (tmp_path / "callgate.toml").write_text(
        f"version = 1\n[mcpServers.slow]\ncommand = {sys.executable!r}\nargs = ['-c', {slow!r}]\n"
    )
    environment = clean_environment(tmp_path, TERM="xterm-256color")
    shown = run_on_terminal(
        [*CALLGATE, "serve", "--port", "0"], environment, tmp_path, until="claude mcp add"
    )
    (line,) = [line for line in shown.lines if "slow  " in line]
    assert "○" in line
    assert "\x1b[31m" not in line


def test_what_is_down_has_another_mark_than_what_is_up_on_a_terminal_without_colours(tmp_path: Path) -> None:
    (tmp_path / "shop.db").touch()
    names = ("shop", "lost")
    sources = "".join(f"[[sources]]\nid = '{name}'\ndsn = 'sqlite:///{name}.db'\n" for name in names)
    (tmp_path / "callgate.toml").write_text(f"version = 1\n{sources}")
    words = [line.split() for line in announced(tmp_path).splitlines() if line.startswith("  ")]
    assert {told[1]: told[0] for told in words if told[1] in names} == {"shop": "●", "lost": "✗"}


async def test_a_source_of_the_environment_is_told_where_no_file_is(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    (tmp_path / "shop.db").touch()
    shown = announced(tmp_path, DATABASE_URL=url)
    examined = await run_callgate(tmp_path, "doctor", DATABASE_URL=url)
    for told in (shown, examined.stdout):
        assert "no file; the environment names the source" in told
        assert "all defaults" not in told
    assert "no file, all defaults" in (await run_callgate(tmp_path, "doctor")).stdout


async def test_a_gateway_that_wants_a_token_is_told_in_words_for_a_terminal(tmp_path: Path) -> None:
    config = tmp_path / "other.toml"
    config.write_text(f'version = 1\n[server]\ntokens = ["{TOKEN}"]\n')
    async with running_gateway(tmp_path, "--port", "0", "--config", str(config)):
        refused = await run_callgate(tmp_path, "calls")
        allowed = await run_callgate(tmp_path, "calls", "--config", str(config))
    assert "--config callgate.toml" in refused.stderr
    assert "Authorization" not in refused.stderr
    assert allowed.exit_code == 0
