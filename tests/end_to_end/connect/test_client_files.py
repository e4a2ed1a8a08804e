"""Every client's file, in every shape: connecting and undoing gives back each byte, and tells no secret."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from end_to_end.connect.client_corpus import FILES, PLANTED, shapes
from end_to_end.gateway_process import run_callgate

from callgate.app.setup.connect_client import apply_plan, plan_connection, shown, undo
from callgate.config.client_files import choose_path, find_client
from callgate.config.editing.json_text import JsonEditError, JsonText
from callgate.config.mcp_clients import Door
from callgate.config.sources.file import read_json_object
from callgate.model.error_codes import CALLER_STALE
from callgate.model.errors import CallerError


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


@pytest.mark.parametrize("client", FILES)
async def test_connecting_and_undoing_gives_back_every_byte_of_every_shape(
    tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "state").mkdir(mode=0o700)
    found, path = find_client(client), tmp_path / FILES[client][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    for shape, content in shapes(client).items():
        path.write_bytes(content)
        path.chmod(0o640)
        assert choose_path(found, None) == path
        plan = plan_connection(found, path, Door("http://127.0.0.1:7420/mcp"), "cg_token", is_shared=False)
        told = shown(plan, "cg_token")
        assert not any(secret in told for secret in (PLANTED, "cg_token")), shape
        apply_plan(plan, tmp_path / "state", client)
        written = path.read_bytes()
        assert written != content
        assert same_but_for_us(client, content, written), shape
        assert not any(PLANTED in one.name for one in (tmp_path / "state/connected").iterdir())
        assert undo(tmp_path / "state", found, path)[1]
        assert path.read_bytes() == content, shape
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def same_but_for_us(client: str, before: bytes, after: bytes) -> bool:
    """Whether both say the same, without our entry and the input that asks for its token."""
    trees = [_read(client, content) for content in (before, after)]
    for tree in trees:
        servers = tree.get(FILES[client][1][0], {})
        for holder in (servers, servers.get("servers", {})):
            holder.pop("callgate", None)
        tree["inputs"] = [one for one in tree.get("inputs", []) if one["id"] != "callgate-token"]
    return _without_empty(trees[0]) == _without_empty(trees[1])


def _read(client: str, content: bytes) -> dict[str, Any]:
    text = content.decode("utf-8-sig")
    return tomllib.loads(text) if client == "codex" else read_json_object(text if text.strip() else "{}")


def _without_empty(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in tree.items() if one not in ({}, [], {"servers": {}})}


@pytest.mark.parametrize("client", FILES)
async def test_the_commands_do_so_too_and_tell_no_secret(
    tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    await connect_and_undo(tmp_path, client, shapes(client)["crlf"])


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_a_file_that_changes_after_it_was_shown_is_not_written(tmp_path: Path, client: str) -> None:
    found, path, state = find_client(client), tmp_path / "file", tmp_path / "state"
    state.mkdir(mode=0o700)
    normal = shapes(client)["normal"]
    for before, after in ((normal, normal + b"\n"), (None, normal), (normal, None)):
        path.unlink(missing_ok=True) if before is None else path.write_bytes(before)
        plan = plan_connection(found, path, Door("http://127.0.0.1:7420/mcp"), "cg_token", is_shared=False)
        path.unlink() if after is None else path.write_bytes(after)
        with pytest.raises(CallerError, match="changed by somebody else") as refused:
            apply_plan(plan, state, client)
        assert refused.value.code is CALLER_STALE
        assert (path.read_bytes() if path.exists() else None) == after
        assert not (state / "connected").exists()


@pytest.mark.parametrize(
    "content", [b'{"mcpServers": {', b"[]", b"\xff\xfe{}", b'{"mcpServers": 5}',
                b'{"mcpServers": {}, "mcpServers": {}}', b"{" * 100_000,
                b'{"mcpServers": {}, "mcp\\u0053ervers": {}}',
                b'{"mcpServers": {"callgate": {}, "callgate": {"url": "x"}}}']
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


def test_a_key_that_is_there_twice_is_not_guessed() -> None:
    with pytest.raises(JsonEditError, match="twice"):
        JsonText('{"a": {}, "a": {}}').set(("a", "b"), 1)
