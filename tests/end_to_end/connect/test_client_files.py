"""Every client's file, in every shape: connecting and undoing gives back each byte, and tells no secret."""

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest
from end_to_end.gateway_process import run_callgate

from callgate.config.client_files import choose_path, find_client
from callgate.config.editing.json_text import JsonEditError, JsonText

PLANTED = "QZ7planted-by-the-test"
JSON_CLIENTS = {
    "cursor": "mcpServers",
    "claude-code": "mcpServers",
    "claude-desktop": "mcpServers",
    "vscode": "servers",
    "windsurf": "mcpServers",
    "gemini-cli": "mcpServers",
    "opencode": "mcp",
    "zed": "context_servers",
}


def json_shapes(key: str) -> dict[str, bytes]:
    other = f'{{"command": "x", "env": {{"TOKEN": "{PLANTED}"}}, "odd": [1, {{"deep": null}}]}}'
    normal = f'{{\n  "theme": "dark",\n  "{key}": {{\n    "other": {other}\n  }},\n  "last": 1.50\n}}\n'
    ours = f'{{"{key}": {{"callgate": {{"url": "http://old/"}}, "other": {other}}}}}'
    shapes = {
        "normal": normal,
        "empty": "",
        "blank": " \n\n",
        "empty object": "{}",
        "without servers": '{\n\t"a": 1\n}',
        "minified": f'{{"{key}":{{"other":{other}}}}}',
        "comments": f'// top\n{{\n  "{key}": {{ // here\n    "other": {other}, /* last */\n  }},\n}}\n',
        "crlf": normal.replace("\n", "\r\n"),
        "bom": "\ufeff" + normal,
        "our own entry": ours,
        "deep": f'{{"deep": {"[" * 300}{"]" * 300}, "{key}": {{"other": {other}}}}}',
        "huge": f'{{"history": {json.dumps([PLANTED] * 400_000)}, "{key}": {{"other": {other}}}}}',
    }
    return {name: text.encode() for name, text in shapes.items()}


async def connect_and_undo(home: Path, client: str, content: bytes) -> None:
    path = home / choose_path(find_client(client), None).relative_to(Path.home())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o644)
    said: list[str] = []
    for arguments in (["--dry-run"], ["--yes"], ["--undo"]):
        done = await run_callgate(home, "connect", client, *arguments, cwd=home)
        assert done.exit_code == 0, done.stderr
        said += [done.stdout, done.stderr]
        if arguments == ["--yes"]:
            written = path.read_bytes()
            assert b"callgate" in written
            assert written != content
            kept = list((home / "connected").iterdir())
            assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in kept)
            said += [one.name for one in kept]
            assert f"[principals.{client}]" in (home / "callgate.toml").read_text()
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert not any(PLANTED in text for text in said)
    assert "principals" not in (home / "callgate.toml").read_text()
    assert list((home / "connected").iterdir()) == []


@pytest.mark.parametrize("shape", list(json_shapes("x")))
@pytest.mark.parametrize("client", ["cursor", "vscode"])
async def test_a_json_file_is_what_it_was(
    tmp_path: Path, client: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    await connect_and_undo(tmp_path, client, json_shapes(JSON_CLIENTS[client])[shape])


@pytest.mark.parametrize("client", [one for one in JSON_CLIENTS if one not in ("cursor", "vscode")])
async def test_every_other_client_too(tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    await connect_and_undo(tmp_path, client, json_shapes(JSON_CLIENTS[client])["comments"])


async def test_codex_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    text = f'# mine\r\nmodel = "x"\r\n[mcp_servers.other]\r\nurl = "http://h/"\r\nkey = "{PLANTED}"\r\n'
    await connect_and_undo(tmp_path, "codex", text.encode())


@pytest.mark.parametrize(
    "content", [b'{"mcpServers": {', b"[]", b"\xff\xfe{}", b'{"mcpServers": 5}',
                b'{"mcpServers": {}, "mcpServers": {}}', b"{" * 100_000]
)  # fmt: skip
async def test_what_is_not_understood_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_bytes(content)
    done = await run_callgate(tmp_path, "connect", "cursor", "--yes")
    assert (done.exit_code, path.read_bytes()) == (3, content)
    assert "left alone" in done.stderr
    assert '"mcpServers"' in done.stdout
    assert not (tmp_path / "callgate.toml").exists()


async def test_a_file_that_may_not_be_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o444)
    assert (await run_callgate(tmp_path, "connect", "cursor", "--yes")).exit_code == 3
    if os.geteuid() == 0:
        path.chmod(0o644)
        os.chown(path, 12345, 12345)
        done = await run_callgate(tmp_path, "connect", "cursor", "--yes")
        assert (done.exit_code, "belongs to another user" in done.stderr) == (3, True)
    assert path.read_text() == "{}"


async def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path = tmp_path / ".cursor/mcp.json"
    path.parent.mkdir()
    path.symlink_to(real)
    assert (await run_callgate(tmp_path, "connect", "cursor", "--yes")).exit_code == 0
    assert path.is_symlink()
    assert "callgate" in real.read_text()


async def test_of_a_file_that_was_changed_since_only_our_entry_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  "mcpServers": {\n    "a": {"url": "u"} // mine\n  }\n}\n')
    await run_callgate(tmp_path, "connect", "cursor", "--yes")
    path.write_text(path.read_text().replace('"u"', '"v"'))
    done = await run_callgate(tmp_path, "connect", "cursor", "--undo")
    assert "only our entry" in done.stderr
    assert path.read_text() == '{\n  "mcpServers": {\n    "a": {"url": "v"} // mine\n  }\n}\n'


async def test_a_project_file_holds_no_token(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "connect", "cursor", "--project", "--yes")
    assert done.exit_code == 0, done.stderr
    token = done.stdout.splitlines()[-1]
    assert token.startswith("cg_")
    assert token not in (tmp_path / ".cursor/mcp.json").read_text()
    assert "${env:CALLGATE_TOKEN}" in (tmp_path / ".cursor/mcp.json").read_text()


async def test_import_keeps_every_key_and_no_secret_is_told(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    entry = {"url": "http://h/mcp", "headers": {"Authorization": f"Bearer {PLANTED}"}, "odd": {"a": [1]}}
    servers = {"mine": entry, "off": {"command": "x", "disabled": True}, "callgate": {"url": "http://us/"}}
    (tmp_path / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text('[mcp_servers.mine]\ncommand = "other"\n')
    (tmp_path / ".claude.json").write_text('{"mcp')
    done = await run_callgate(tmp_path, "import", "--secrets")
    assert done.exit_code == 0, done.stderr
    assert PLANTED not in done.stdout + done.stderr
    text = (tmp_path / "callgate.toml").read_text()
    assert PLANTED not in text
    taken = tomllib.loads(text)["mcpServers"]
    assert set(taken) == {"mine", "off", "mine-codex"}
    assert taken["mine"]["_imported"] == {"odd": {"a": [1]}}
    assert taken["mine"]["headers"]["Authorization"].startswith("Bearer ${secret:")
    assert taken["off"]["disabled"] is True
    assert (await run_callgate(tmp_path, "config", "check")).exit_code == 0
    again = await run_callgate(tmp_path, "import", "--json")
    assert json.loads(again.stdout)["servers"] == []


def test_a_key_that_is_there_twice_is_not_guessed() -> None:
    with pytest.raises(JsonEditError, match="twice"):
        JsonText('{"a": {}, "a": {}}').set(("a", "b"), 1)
