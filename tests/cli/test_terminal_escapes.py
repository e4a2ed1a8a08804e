"""No stranger's text acts on the terminal, whatever command shows it.

Every command of the program is fed here. A new one has to say what it is fed with: see `FEEDS`.
"""

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import typer
from cli.hostile_stage import Stage, toml_text
from cli.hostile_text import ACTS, FORBIDDEN, FORGED, HOSTILE, MARK, OWN
from cli.setup_feeds import SETUP_FEEDS
from cli.terminal_stage import Shown, run_on_terminal
from end_to_end.forked import forked_callgate
from end_to_end.gateway_process import CALLGATE, clean_environment, run_callgate

from callgate.cli.main import app
from callgate.client import ServerFault, connect

SERVER = Path(__file__).with_name("hostile_server.py")
SPELLED = " || ".join(f"chr({ord(char)})" for char in HOSTILE)  # for SQL


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    state = tmp_path_factory.mktemp("state")
    folder = tmp_path_factory.mktemp("config") / HOSTILE
    folder.mkdir()
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute("CREATE TABLE words (word TEXT)")
        database.execute("INSERT INTO words VALUES (?)", [HOSTILE])
    database.close()
    config = folder / "callgate.toml"
    config.write_text(
        "version = 1\n[[sources]]\nid = 'shop'\ndsn = 'sqlite:///shop.db'\n"
        f"[mcpServers.hostile]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = [{json.dumps(str(SERVER))}, {toml_text(HOSTILE)}]\n"
        "isolation = 'shared'\n"  # it keeps nothing, and is called again and again by new clients
        "trust = 'free'\n"  # the scan would hold all of it
        f"[mcpServers.pinned]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = [{json.dumps(str(SERVER))}]\nisolation = 'shared'\n"
        f"[mcpServers.dying]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = [{json.dumps(str(SERVER))}, '--dies']\n"
    )
    process = subprocess.Popen(
        [*forked_callgate(), "serve", "--json", "--port", "0"], stdout=subprocess.PIPE,
        env=clean_environment(state), cwd=folder,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        for tool in ("talk", "break", "refuse"):
            call_tool(url, f"hostile__{tool}")
        yield Stage(state, config, url)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def call_tool(url: str, tool: str) -> None:
    async def call() -> None:
        async with connect(f"{url}/mcp", client_name=HOSTILE) as server:
            with suppress(ServerFault):
                await server.call_tool(tool, {"text": HOSTILE})

    asyncio.run(call())


# ---- what each command is fed with; all of it is shown again with --json where the command has that


def feed_serve(stage: Stage) -> Iterator[Shown]:
    state = stage.state / "another"
    yield stage.run("serve", "--port", "0", "--state-dir", str(state), until="claude mcp add")
    yield stage.run("serve", "--json", "--port", "0", "--state-dir", str(state), until='"url"')
    audited = stage.config.with_name("audited.toml")
    audited.write_text(f"{stage.config.read_text()}[server]\naudit_stderr = true\n")
    flags = ("--config", str(audited), "--state-dir", str(state))
    ask = ("call", "shop__query", f"query=SELECT '{HOSTILE}' AS x FROM words", *flags)

    def call() -> None:
        asyncio.run(run_callgate(state, *ask, cwd=audited.parent))

    with going_on(call):
        yield stage.run("serve", "--port", "0", *flags, until='"queryType"')


def feed_init(stage: Stage) -> Iterator[Shown]:
    """The folder's own name is shown, when it is made and when it is there."""
    folder = stage.state / HOSTILE
    folder.mkdir()
    for _ in range(2):
        yield run_on_terminal([*CALLGATE, "init"], clean_environment(stage.state), folder)


def feed_stdio(stage: Stage) -> Iterator[Shown]:
    """Its stdout is the protocol; on stderr it says what is wrong."""
    yield stage.run("stdio", "--config", str(stage.config.with_name(f"missing {HOSTILE}")))


def feed_call(stage: Stage) -> Iterator[Shown]:
    upstream = ("--upstream", f"{sys.executable} {SERVER}")
    for json_too in ((), ("--json",)):
        for tool in ("talk", "break", "refuse"):
            yield stage.run("call", f"hostile__{tool}", *json_too)
        yield stage.run("call", "shop__query", "query=SELECT word FROM words", *json_too)
        yield stage.run("call", *upstream, "talk", *json_too)
    yield stage.run("call", *upstream, "talk", "--help")
    yield stage.run("call", *upstream, "nothing like it")
    yield stage.run("call", *upstream, f"unknown {HOSTILE}")


def feed_servers(stage: Stage) -> Iterator[Shown]:
    yield stage.run("servers")
    yield stage.run("servers", "--json")


def feed_status(stage: Stage) -> Iterator[Shown]:
    yield stage.run("status", "--json")
    yield stage.run("status", "--config", str(stage.config.with_name(f"missing {HOSTILE}")))


def feed_guard(stage: Stage) -> Iterator[Shown]:
    for statement in ('SELECT * FROM "{}"', "DELETE FROM `{}`"):
        for json_too in ((), ("--json",)):
            yield stage.run("guard", statement.format(HOSTILE), "--dialect", "sqlite", *json_too)
    yield stage.run("guard", "SELECT 1", "--dialect", HOSTILE)


def feed_doctor(stage: Stage) -> Iterator[Shown]:
    yield stage.run("doctor")
    yield stage.run("doctor", "--json")


def feed_sessions(stage: Stage) -> Iterator[Shown]:
    yield stage.run("sessions")
    yield stage.run("sessions", "--json")


def feed_calls(stage: Stage) -> Iterator[Shown]:
    yield stage.run("calls")
    yield stage.run("calls", "--json")
    yield stage.run("calls", "--since", HOSTILE)


def feed_tools(stage: Stage) -> Iterator[Shown]:
    yield stage.run("tools")
    yield stage.run("tools", "--json")
    yield stage.run("tools", "--server", HOSTILE)
    yield stage.run("tools", HOSTILE)


def feed_tail(stage: Stage) -> Iterator[Shown]:
    for json_too in ((), ("--json",)):
        with going_on(lambda: call_tool(stage.url, "hostile__talk")):
            yield stage.run("tail", *json_too, until=MARK)


@contextmanager
def going_on(call: Callable[[], None]) -> Iterator[None]:
    """Again and again: who has begun to look sees one of them."""
    enough = threading.Event()

    def call_until_enough() -> None:
        while not enough.is_set():
            call()

    thread = threading.Thread(target=call_until_enough)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def feed_query(stage: Stage) -> Iterator[Shown]:
    for json_too in ((), ("--json",)):
        yield stage.run("query", f'SELECT {SPELLED} AS "{HOSTILE}"', *json_too)
        yield stage.run("query", f'SELECT "{HOSTILE}"', *json_too)


def feed_export(stage: Stage) -> Iterator[Shown]:
    yield stage.run("export", "--format", "jsonl")
    yield stage.run("export", "--format", "csv")
    yield stage.run("export", "--output", str(stage.state / HOSTILE))


def feed_replay(stage: Stage) -> Iterator[Shown]:
    for json_too in ((), ("--json",)):
        for tool in ("talk", "break", "refuse"):
            yield stage.run("replay", stage.call_id(tool), *json_too)


def feed_config_check(stage: Stage) -> Iterator[Shown]:
    yield stage.run("config", "check")
    yield stage.run("config", "check", "--json")
    broken = stage.config.with_name("broken.toml")
    broken.write_text(f"version = 1\n[mcpServers.{toml_text(HOSTILE)}]\nurl = {toml_text(HOSTILE)}\n")
    yield stage.run("config", "check", "--config", str(broken))


def feed_config_show(stage: Stage) -> Iterator[Shown]:
    yield stage.run("config", "show")
    yield stage.run("config", "show", "--json")


def feed_config_schema(stage: Stage) -> Iterator[Shown]:
    """It shows nothing of anybody's: only its usage can be wrong."""
    yield stage.run("config", "schema", HOSTILE)


def feed_config_path(stage: Stage) -> Iterator[Shown]:
    yield stage.run("config", "path")
    yield stage.run("config", "path", "--json")


def feed_record_migrate(stage: Stage) -> Iterator[Shown]:
    """Of a record in files it shows nothing: only its usage can be wrong."""
    yield stage.run("record", "migrate", HOSTILE)


def feed_record_copy(stage: Stage) -> Iterator[Shown]:
    yield stage.run("record", "copy", "--to", f"duckdb:/dev/null/{HOSTILE}")


def feed_record_archive(stage: Stage) -> Iterator[Shown]:
    yield stage.run("record", "archive", "--to", f"/dev/null/{HOSTILE}")


def feed_service_install(stage: Stage) -> Iterator[Shown]:
    yield stage.run("service", "install", "--print", "--config", f"/dev/null/{HOSTILE}")
    yield stage.run("service", "install", "--system", "--config", f"/home/{HOSTILE}")


def feed_reload(stage: Stage) -> Iterator[Shown]:
    yield stage.run("reload", "--config", str(stage.config.with_name(f"missing {HOSTILE}")))


def feed_token_add(stage: Stage) -> Iterator[Shown]:
    yield stage.run("token", "add", HOSTILE)
    yield stage.run("token", "add", "x", "--role", HOSTILE)
    yield stage.run("token", "add", "x", "--expires", HOSTILE)


def feed_token_list(stage: Stage) -> Iterator[Shown]:
    """A name may hold anything that can be printed: what turns the direction of writing cannot."""
    named = stage.config.with_name("named.toml")
    entry = f'token_hash = "sha256:{"0" * 64}"\n'
    named.write_text(f"version = 1\n[principals.{toml_text(HOSTILE)}]\n{entry}")
    yield stage.run("token", "list", "--config", str(named))
    yield stage.run("token", "list", "--config", str(stage.config.with_name(f"missing {HOSTILE}")))


def feed_token_revoke(stage: Stage) -> Iterator[Shown]:
    yield stage.run("token", "revoke", HOSTILE)


def feed_trust_diff(stage: Stage) -> Iterator[Shown]:
    """The scan holds everything that `pinned` says."""
    for command in (("trust",), ("trust", "diff"), ("trust", "diff", "pinned")):
        shown = stage.run(*command)
        assert "pinned" in "".join(shown.lines)
        yield shown
    yield stage.run("trust", "--json")
    yield stage.run("trust", "--check")
    yield stage.run("trust", "diff", "--json")
    yield stage.run("trust", "diff", HOSTILE)
    yield stage.run("trust", "diff", "pinned", HOSTILE)
    lock = stage.config.with_name("callgate.lock")
    whole = lock.read_bytes() if lock.exists() else b""
    lock.write_text(f"<<<<<<< {HOSTILE}\n")
    yield stage.run("trust")
    lock.write_bytes(whole)


def feed_trust_accept(stage: Stage) -> Iterator[Shown]:
    yield stage.run("trust", "accept", "pinned", HOSTILE)
    yield stage.run("trust", "accept", HOSTILE)
    yield stage.run("trust", "accept", "pinned", f"named-{HOSTILE}", answers={"[y/N]": "n"})
    yield stage.run("trust", "accept", "pinned", f"named-{HOSTILE}", "--yes")


def feed_trust_block(stage: Stage) -> Iterator[Shown]:
    yield stage.run("trust", "block", "pinned", HOSTILE)
    yield stage.run("trust", "block", "pinned", f"named-{HOSTILE}")


def feed_trust_unblock(stage: Stage) -> Iterator[Shown]:
    yield stage.run("trust", "unblock", "pinned", HOSTILE)
    yield stage.run("trust", "unblock", "pinned", f"named-{HOSTILE}")


FEEDS = {
    ("serve",): feed_serve,
    ("init",): feed_init,
    ("stdio",): feed_stdio,
    ("call",): feed_call,
    ("tools",): feed_tools,
    ("servers",): feed_servers,
    ("status",): feed_status,
    ("guard",): feed_guard,
    ("doctor",): feed_doctor,
    ("sessions",): feed_sessions,
    ("calls",): feed_calls,
    ("tail",): feed_tail,
    ("query",): feed_query,
    ("export",): feed_export,
    ("replay",): feed_replay,
    ("record", "migrate"): feed_record_migrate,
    ("record", "copy"): feed_record_copy,
    ("record", "archive"): feed_record_archive,
    ("service", "install"): feed_service_install,
    ("reload",): feed_reload,
    ("token", "add"): feed_token_add,
    ("token", "list"): feed_token_list,
    ("token", "revoke"): feed_token_revoke,
    ("trust", "diff"): feed_trust_diff,
    ("trust", "accept"): feed_trust_accept,
    ("trust", "block"): feed_trust_block,
    ("trust", "unblock"): feed_trust_unblock,
    ("config", "check"): feed_config_check,
    ("config", "show"): feed_config_show,
    ("config", "schema"): feed_config_schema,
    ("config", "path"): feed_config_path,
    **SETUP_FEEDS,
}
# What a tool said is shown with its lines, an export is somebody's rows: a line of theirs may look like ours.
OWN_LINES = {("call",), ("replay",), ("export",)}


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


def test_every_command_is_fed() -> None:
    assert set(FEEDS) == set(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("command", FEEDS, ids=" ".join)
def test_nothing_that_a_command_shows_acts_on_the_terminal(stage: Stage, command: tuple[str, ...]) -> None:
    for shown in FEEDS[command](stage):
        assert_harmless(shown)
        if command not in OWN_LINES:
            assert [line for line in shown.lines if line.startswith(FORGED)] == []


@pytest.mark.parametrize(
    "command",
    [("--{}",), ("call", "x", "--{}"), ("config", "{}"), ("{}",)],
    ids=" ".join,
)
def test_what_was_typed_wrongly_is_shown_and_does_not_act(stage: Stage, command: tuple[str, ...]) -> None:
    shown = stage.run(*(part.format(HOSTILE) for part in command))
    assert shown.exit_code == 2
    assert_harmless(shown)


def assert_harmless(shown: Shown) -> None:
    assert MARK in shown.text  # the feed got through, so that this test can fail
    rest = re.sub("|".join(OWN), "", shown.text)
    assert FORBIDDEN.isdisjoint(rest), sorted(map(ascii, FORBIDDEN.intersection(rest)))


def test_json_on_a_terminal_is_whole(stage: Stage) -> None:
    shown = stage.run("call", "hostile__talk", "--json").text
    said = json.loads(shown.rpartition("\x1b[K")[2])  # behind the progress, which was taken away
    assert said["content"][0]["text"] == f"said {HOSTILE}"


def test_what_is_piped_is_as_safe_and_json_as_whole(stage: Stage) -> None:
    """It ends up on a terminal often enough: | head, | tee, a log of CI."""
    for json_too in ((), ("--json",)):
        done = subprocess.run(
            [*forked_callgate(), "call", "hostile__talk", *json_too], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, env=clean_environment(stage.state), cwd=stage.config.parent,
            check=True,
        )  # fmt: skip
        assert FORBIDDEN.isdisjoint(done.stdout)
        assert FORGED in done.stdout
    assert json.loads(done.stdout)["content"][0]["text"] == f"said {HOSTILE}"


def test_an_export_to_a_file_or_a_pipe_is_exact(stage: Stage) -> None:
    done = subprocess.run(
        [*forked_callgate(), "export", "--format", "csv", "--tool", "hostile__talk"],
        stdin=subprocess.DEVNULL, capture_output=True, check=True,
        env=clean_environment(stage.state), cwd=stage.config.parent,
    )  # fmt: skip
    assert ACTS[-1].encode() in done.stdout
