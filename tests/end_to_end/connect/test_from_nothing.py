"""From nothing to a recorded call under a client's own name, as the README has it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx2
from end_to_end.gateway_process import run_callgate, running_gateway, text_in
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def test_a_fresh_folder_has_a_database_a_client_and_a_recorded_call(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "notes.db")) as notes:
        notes.execute("CREATE TABLE note (text)")
        notes.execute("INSERT INTO note VALUES ('forty-two')")
        notes.commit()
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
