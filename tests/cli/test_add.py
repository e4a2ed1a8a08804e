"""`callgate add` and `remove`, `callgate config get`, `set` and `unset`, as somebody types them."""

import http.server
import json
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.terminal_stage import run_on_terminal
from databases.database import Database
from end_to_end.gateway_process import CALLGATE, clean_environment, run_callgate

SERVER = Path(__file__).with_name("scanned_server.py")
SECRET = "hunter2-swordfish-4711"
TOKEN = "a-token-of-thirty-two-characters"


def file_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "callgate.toml").read_text())


async def test_the_password_of_a_database_is_asked_for_and_only_named(
    tmp_path: Path, postgres: Database
) -> None:
    dsn = f"postgres://{postgres.user}@{postgres.host}:{postgres.port}/{postgres.database}"
    shown = run_on_terminal(
        [*CALLGATE, "add", dsn, "--name", "shop", "--yes"],
        clean_environment(tmp_path),
        tmp_path,
        answers={"Password of": postgres.password},
    )
    assert shown.exit_code == 0, shown.text
    assert postgres.password not in shown.text
    (source,) = file_of(tmp_path)["sources"]
    assert source["dsn"] == dsn.replace("@", ":${secret:shop-password}@")
    called = await run_callgate(tmp_path, "call", "shop__query", "query=SELECT 6 * 7 AS n")
    assert (called.exit_code, "42" in called.stdout) == (0, True), called.stderr


async def test_a_wrong_password_adds_nothing_and_keeps_nothing(tmp_path: Path, postgres: Database) -> None:
    dsn = f"postgres://{postgres.user}:{SECRET}@{postgres.host}:{postgres.port}/{postgres.database}"
    done = await run_callgate(tmp_path, "add", dsn, "--yes")
    assert done.exit_code == 5, done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert not (tmp_path / "callgate.toml").exists()
    kept = await run_callgate(tmp_path, "secret", "list", "--json")
    assert json.loads(kept.stdout)["secrets"] == []


async def test_a_command_is_scanned_added_and_removed(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "add", "--name", "desk", "--yes", "--", sys.executable, str(SERVER))
    assert done.exit_code == 0, done.stderr
    assert "2 tools" in done.stdout
    assert "1 destructive, 1 declare nothing; scan: 1 tool with findings, 1 would be held" in done.stdout
    assert "held: helper: " in done.stdout
    assert file_of(tmp_path)["mcpServers"]["desk"] == {"command": sys.executable, "args": [str(SERVER)]}
    gone = await run_callgate(tmp_path, "remove", "desk", "--json")
    assert (gone.exit_code, json.loads(gone.stdout)["removed"]) == (0, "desk")
    assert "desk" not in (tmp_path / "callgate.toml").read_text()
    again = await run_callgate(tmp_path, "remove", "desk")
    assert (again.exit_code, "There is no server" in again.stderr) == (1, True), again


async def test_an_entry_from_stdin_is_told_as_json_and_its_secret_is_sealed(tmp_path: Path) -> None:
    program = {"command": sys.executable, "args": [str(SERVER)], "env": {"DESK_API_KEY": SECRET}}
    entry = json.dumps({"mcpServers": {"desk": program}}).encode()
    done = await run_callgate(tmp_path, "add", "-", "--yes", "--json", stdin=entry)
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["name"], told["reachable"], told["destructive"], told["undeclared"]) == ("desk", True, 1, 1)
    assert [one["tool"] for one in told["scan"]] == ["helper"]
    assert any(flaw["holds"] for flaw in told["scan"][0]["findings"])
    assert SECRET not in done.stdout + done.stderr + (tmp_path / "callgate.toml").read_text()
    assert file_of(tmp_path)["mcpServers"]["desk"]["env"] == {"DESK_API_KEY": "secret:desk-api-key"}


class _WantsLogin(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.send_response(401)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST  # noqa: N815 - as the library calls it

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
        pass


@pytest.fixture
def wants_login() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _WantsLogin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    server.server_close()


async def test_an_address_that_wants_a_login_is_added_only_if_one_says_so(
    tmp_path: Path, wants_login: str
) -> None:
    done = await run_callgate(tmp_path, "add", wants_login, "--yes")
    assert (done.exit_code, "wants a login" in done.stdout) == (5, True), done
    assert "--anyway" in done.stderr
    assert not (tmp_path / "callgate.toml").exists()
    done = await run_callgate(tmp_path, "add", wants_login, "--name", "away", "--yes", "--anyway")
    assert done.exit_code == 0, done.stderr
    assert file_of(tmp_path)["mcpServers"] == {"away": {"url": wants_login}}


async def test_what_is_wrong_with_an_address_and_what_to_do_are_two_sentences(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "add", "http://127.0.0.1:1/mcp", "--yes")
    assert "refused the connection. Is the server running, and is the port right?" in done.stdout


async def test_values_are_read_set_and_taken_out_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "callgate.toml"
    before = f'version = 1 # ours\n[server]\ntokens = ["{TOKEN}"]\n'
    file.write_text(before)
    assert (await run_callgate(tmp_path, "config", "get", "server.max_offers")).exit_code == 0
    done = await run_callgate(tmp_path, "config", "set", "record.keep", "9d")
    assert done.exit_code == 0, done.stderr
    assert '+keep = "9d"' in done.stdout
    assert (await run_callgate(tmp_path, "config", "get", "record.keep")).stdout.strip() == "9d"
    shown = await run_callgate(tmp_path, "config", "get", "server.tokens")
    assert (shown.exit_code, TOKEN in shown.stdout) == (0, False)
    done = await run_callgate(tmp_path, "config", "unset", "record")
    assert (done.exit_code, file.read_text().strip()) == (0, before.strip()), done.stderr
    wrong = await run_callgate(tmp_path, "config", "set", "server.max_offers", "many")
    assert (wrong.exit_code, "server.max_offers" in wrong.stderr) == (3, True), wrong
    assert file.read_text().strip() == before.strip()
    nothing = await run_callgate(tmp_path, "config", "get", "server.nothing")
    assert (nothing.exit_code, "There is no server.nothing" in nothing.stderr) == (1, True), nothing
