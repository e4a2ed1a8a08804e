"""From nothing to a recorded call under a client's own name, as the README has it."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx2
from end_to_end.gateway_process import run_callgate, running_gateway, text_in
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def test_a_fresh_folder_has_a_database_a_client_and_a_recorded_call(tmp_path: Path) -> None:
    _notes(tmp_path)
    looked = await run_callgate(tmp_path, "import", "--dry-run")
    assert (looked.exit_code, (tmp_path / "callgate.toml").exists()) == (0, False)
    added = await run_callgate(tmp_path, "add", f"sqlite:///{tmp_path}/notes.db", "--yes")
    assert added.exit_code == 0, added.stderr
    assert "3 tools" in added.stdout
    assert "No gateway is running now" in added.stderr
    async with running_gateway(tmp_path) as gateway:
        # Another file, of which this gateway would not hear.
        other = tmp_path / "elsewhere.toml"
        other.write_text(f'version = 1\n[server]\nstate_dir = "{gateway.state}"\n')
        for command in (("connect", "cursor", "--yes"), ("connect", "cursor", "--undo"), ("remove", "notes")):
            refused = await run_callgate(tmp_path, *command, "--config", str(other))
            assert refused.exit_code != 0
        assert (
            f"serves {tmp_path}/callgate.toml"
            in (await run_callgate(tmp_path, "connect", "cursor", "--yes", "--config", str(other))).stderr
        )
        connected = await run_callgate(tmp_path, "connect", "cursor", "--yes")
        assert connected.exit_code == 0, connected.stderr
        entry = json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["callgate"]
        token = entry["headers"]["Authorization"].removeprefix("Bearer ")
        assert token not in connected.stdout + connected.stderr
        async with (
            httpx2.AsyncClient(headers=entry["headers"]) as http,
            streamable_http_client(entry["url"], http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            answer = await session.call_tool("notes__query", {"query": "SELECT text FROM note"})
            assert "forty-two" in text_in(answer.content[0])
        calls = json.loads((await run_callgate(tmp_path, "calls", "--json")).stdout)
        assert [one["principal"] for one in next(one for one in calls.values() if isinstance(one, list))] == [
            "cursor"
        ]
        # Beside the gateway that runs: gone at once.
        assert (await run_callgate(tmp_path, "remove", "notes")).exit_code == 0
        assert (await run_callgate(tmp_path, "connect", "cursor", "--undo")).exit_code == 0
        assert not (tmp_path / ".cursor/mcp.json").exists()
        assert gateway.process.returncode is None


async def test_a_file_that_the_running_gateway_would_not_find_is_not_written(tmp_path: Path) -> None:
    state, here, elsewhere = (tmp_path / name for name in ("state", "here", "elsewhere"))
    for folder in (state, here, elsewhere):
        folder.mkdir(mode=0o700)
    add = ("add", f"sqlite:///{_notes(here)}", "--yes")
    async with running_gateway(state, cwd=here):  # the demo: it looks for a file where it was started
        refused = await run_callgate(state, *add, cwd=elsewhere)
        assert refused.exit_code == 3
        assert f"would not find {elsewhere}/callgate.toml" in refused.stderr
        assert f"Run this in {here}" in refused.stderr
        assert not (elsewhere / "callgate.toml").exists()
        added = await run_callgate(state, *add, cwd=here)
        assert (added.exit_code, "The running gateway has it" in added.stderr) == (0, True), added
        listed = await run_callgate(state, "servers", "--json", cwd=here)
        assert "notes" in listed.stdout
        refused = await run_callgate(state, "remove", "notes", "--config", str(_copy(here, elsewhere)))
        assert f"serves {here}/callgate.toml" in refused.stderr
    async with running_gateway(state, "--port", "0", str(here / "notes.db"), cwd=elsewhere):
        refused = await run_callgate(state, *add, cwd=here)
        assert (refused.exit_code, "what its command line names" in refused.stderr) == (3, True), refused


def _notes(folder: Path) -> Path:
    path = folder / "notes.db"
    with closing(sqlite3.connect(path)) as notes:
        notes.execute("CREATE TABLE note (text)")
        notes.execute("INSERT INTO note VALUES ('forty-two')")
        notes.commit()
    return path


def _copy(origin: Path, to: Path) -> Path:
    return Path(shutil.copy(origin / "callgate.toml", to / "callgate.toml"))
