"""`callgate import` over the corpus of clients' files: no key is lost, no secret is told, nothing is run."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli.terminal_stage import run_on_terminal
from end_to_end.connect.client_corpus import ENTRIES, FILES, PLANTED, shapes
from end_to_end.gateway_process import CALLGATE, clean_environment, run_callgate

from callgate.app.setup.import_servers import find_servers
from callgate.config.client_files import find_client

# Their words for ours, and what they become.
RENAMED = {"serverUrl": "url", "environment": "env", "enabled": "disabled", "type": "type"}
TOOLS = ("includeTools", "enabled_tools", "disabledTools")


def put(home: Path, client: str, content: bytes) -> Path:
    path = home / FILES[client][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("client", FILES)
def test_no_key_of_an_entry_is_lost(tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for shape, content in shapes(client).items():
        path = put(tmp_path, client, content)
        found = find_servers([find_client(client)], tmp_path / "none", {})
        names = [one.name for one in found.servers]
        assert "callgate" not in names
        assert not any(PLANTED in line for line in found.told)
        if b"mine" not in content:
            assert (names, found.told) == ([], []), shape
            continue
        entry = next(one.entry for one in found.servers if one.name == "mine")
        kept: dict[str, Any] = entry.get("_imported", {})
        whole = {**ENTRIES[client], "odd": [1, {"deep": "x"}]} if shape != "inline" else {"command": "true"}
        for key, value in whole.items():
            if key in TOOLS:
                assert value in entry["tools"].values()
            elif key == "command" and isinstance(value, list):
                assert [entry["command"], *entry["args"]] == value
            else:
                assert key in kept or RENAMED.get(key, key) in entry, (shape, key)
        assert "odd" in kept or shape == "inline"
        assert path.read_bytes() == content


def test_servers_of_projects_are_found_and_excluded_ones_are_disabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for client in ("claude-code", "gemini-cli"):
        put(tmp_path, client, shapes(client)["normal"])
    found = find_servers([find_client("claude-code")], tmp_path / "none", {})
    assert {one.name for one in found.servers} == {"mine", "odd", "of-project"}
    found = find_servers([find_client("gemini-cli")], tmp_path / "none", {})
    assert {one.name: one.entry.get("disabled", False) for one in found.servers} == {
        "mine": False,
        "odd": True,
    }
    mine = next(one.entry for one in found.servers if one.name == "mine")
    assert mine["_imported"]["trust"] is True
    assert "trust" not in mine


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"\xff\xfe", b"{" * 100_000, b'{"version": 1, "mcpServers": 5}']
)
def test_a_broken_file_is_told_and_the_others_are_read(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path, "cursor", content)
    put(tmp_path, "windsurf", shapes("windsurf")["normal"])
    found = find_servers([find_client(one) for one in ("cursor", "windsurf")], tmp_path / "none", {})
    assert "mine" in [one.name for one in found.servers]
    assert len(found.told) == (0 if b"version" in content else 1)


async def test_all_clients_at_once_give_a_file_that_loads_and_no_secret_is_told(tmp_path: Path) -> None:
    for client in FILES:
        put(tmp_path, client, shapes(client)["normal"])
    said = ""
    for arguments in (["--dry-run"], ["--secrets"], ["--json"]):
        done = await run_callgate(tmp_path, "import", *arguments)
        assert done.exit_code == 0, done.stderr
        said += done.stdout + done.stderr
    assert PLANTED not in said
    servers = tomllib.loads((tmp_path / "callgate.toml").read_text())["mcpServers"]
    assert {f"mine-{client}" for client in FILES if client != "claude-code"} | {"mine"} <= set(servers)
    # What a client keeps beside its servers' own words may hold a secret too: it is kept, and never told.
    assert servers["mine"]["env"]["API_TOKEN"].startswith("secret:")
    assert (await run_callgate(tmp_path, "config", "check")).exit_code == 0
    assert PLANTED not in (await run_callgate(tmp_path, "config", "show")).stdout
    assert not any(PLANTED in str(one) for one in tmp_path.rglob("*"))


@pytest.mark.parametrize("depth", [30, 400, 900])
async def test_an_entry_that_is_nested_too_deeply_is_left_out_and_the_others_are_taken(
    tmp_path: Path, depth: int
) -> None:
    odd = '{"a":' * depth + "1" + "}" * depth
    deep = f'{{"mcpServers": {{"deep": {{"command": "true", "odd": {odd}}}, "mine": {{"command": "true"}}}}}}'
    put(tmp_path, "cursor", deep.encode())
    done = await run_callgate(tmp_path, "import")
    assert (done.exit_code, "deep of cursor is left out: it is nested too deeply" in done.stderr) == (0, True)
    assert list(tomllib.loads((tmp_path / "callgate.toml").read_text())["mcpServers"]) == ["mine"]


@pytest.mark.parametrize("word", ["exec:touch ran", "file:/etc/hostname", "secret:shop", "a${secret:shop}"])
async def test_words_of_our_file_do_nothing_in_another_s(tmp_path: Path, word: str) -> None:
    bad = {"url": "http://127.0.0.1:9/", "headers": {"A": word}}
    fine = {"command": "true"}
    put(tmp_path, "cursor", json.dumps({"version": 1, "mcpServers": {"bad": bad, "fine": fine}}).encode())
    done = await run_callgate(tmp_path, "import")
    assert done.exit_code == 0, done.stderr
    assert "bad of cursor is left out: headers.A has" in done.stderr
    assert list(tomllib.loads((tmp_path / "callgate.toml").read_text())["mcpServers"]) == ["fine"]
    assert not (tmp_path / "ran").exists()


async def test_a_secret_that_is_written_into_the_file_is_told_with_how_to_seal_it(tmp_path: Path) -> None:
    entry = {"url": "http://127.0.0.1:9/", "headers": {"Authorization": f"Bearer {PLANTED}"}}
    put(tmp_path, "cursor", json.dumps({"mcpServers": {"shop": entry}}).encode())
    looked = await run_callgate(tmp_path, "import", "--dry-run")
    assert "would stand in the file" in looked.stderr
    done = await run_callgate(tmp_path, "import")
    assert PLANTED in (tmp_path / "callgate.toml").read_text()
    assert "would stand" not in done.stderr
    assert "callgate remove NAME, then callgate import --secrets" in done.stderr
    assert "Start one with: callgate" in done.stderr
    for arguments in (("remove", "shop"), ("import", "--secrets")):
        assert (await run_callgate(tmp_path, *arguments)).exit_code == 0
    assert PLANTED not in (tmp_path / "callgate.toml").read_text()


WITH_INPUT = {
    "inputs": [{"id": "api key", "type": "promptString", "description": "Key of the\x1b[31m shop"}],
    "servers": {
        "shop": {"url": "http://127.0.0.1:9/", "headers": {"Authorization": "Bearer ${input:api key}"}}
    },
}


async def test_without_a_terminal_an_input_of_vs_code_is_told_with_what_to_set(tmp_path: Path) -> None:
    put(tmp_path, "vscode", json.dumps(WITH_INPUT).encode())
    done = await run_callgate(tmp_path, "import")
    assert "shop: set API_KEY, or import it at a terminal" in done.stderr
    assert not (tmp_path / "callgate.toml").exists()
    done = await run_callgate(tmp_path, "import", API_KEY="x")
    assert "${input:api key}" in (tmp_path / "callgate.toml").read_text(), done.stderr


def test_at_a_terminal_all_servers_that_get_an_answer_are_named(tmp_path: Path) -> None:
    """A project that somebody else wrote may ask for the input of a server that the person trusts."""
    put(tmp_path, "vscode", json.dumps(WITH_INPUT).encode())
    (tmp_path / ".vscode").mkdir()
    other = json.dumps(WITH_INPUT).replace('"shop"', '"other"').replace(":9/", ":8/")
    (tmp_path / ".vscode/mcp.json").write_text(other)
    shown = run_on_terminal(
        ["env", *CALLGATE, "import"],
        clean_environment(tmp_path),
        tmp_path,
        answers={"Value of API_KEY": PLANTED},
    )
    assert shown.exit_code == 0, shown.text
    asked = shown.text[: shown.text.index("Value of API_KEY")]
    assert "For shop and other: " in asked or "For other and shop: " in asked, asked


def test_at_a_terminal_an_input_of_vs_code_is_asked_for_and_sealed(tmp_path: Path) -> None:
    put(tmp_path, "vscode", json.dumps(WITH_INPUT).encode())
    shown = run_on_terminal(
        ["env", *CALLGATE, "import"],
        clean_environment(tmp_path),
        tmp_path,
        answers={"Value of API_KEY": f"{PLANTED}$"},
    )
    assert shown.exit_code == 0, shown.text
    assert PLANTED not in shown.text
    assert "\x1b[31m" not in shown.text
    text = (tmp_path / "callgate.toml").read_text()
    assert 'Authorization = "Bearer ${secret:api-key}"' in text
    assert (tmp_path / "state.db").exists()
