"""Secrets of what is pasted are kept sealed; the file, the answers and the record only name them."""

import json
import sys
from pathlib import Path

from end_to_end.edits.test_config_edits import get, patch
from end_to_end.gateway_process import run_callgate, running_gateway

SERVER = Path(__file__).with_name("hostile_server.py")
SECRET = "hunter2-swordfish-4711"
OTHER = "correct-horse-battery-staple"


def entry(value: str) -> str:
    program = {"command": sys.executable, "args": [str(SERVER), "good"], "env": {"DESK_API_KEY": value}}
    return json.dumps({"mcpServers": {"desk": program}})


def holds(folder: Path, value: str) -> list[str]:
    return [str(one) for one in folder.rglob("*") if one.is_file() and value.encode() in one.read_bytes()]


async def test_a_pasted_secret_is_sealed_and_the_file_names_it(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as gateway:
        status, told = await patch(gateway, {"add": {"text": entry(SECRET)}}, query="?dry_run=true")
        assert (status, told["kept"], told["plain"]) == (200, ["desk-api-key"], [])
        assert "secret:desk-api-key" in "".join(told["diff"])
        assert json.loads((await run_callgate(tmp_path, "secret", "list", "--json")).stdout)["secrets"] == []
        status, told = await patch(gateway, {"add": {"text": entry(SECRET)}})
        assert (status, told["kept"], told["problem"]) == (200, ["desk-api-key"], None)
        assert SECRET not in json.dumps(told)
        text = Path(told["file"]).read_text()
        assert 'DESK_API_KEY = "secret:desk-api-key"' in text
        # Another value never takes a name that is in use; the same value keeps it.
        status, told = await patch(gateway, {"add": {"text": entry(OTHER), "name": "two"}})
        assert (status, told["kept"]) == (200, ["two-desk-api-key"])
        status, told = await patch(gateway, {"add": {"text": entry(SECRET), "name": "desk-2"}})
        assert (status, told["name"]) == (200, "desk-2")
        assert SECRET not in json.dumps(await get(gateway))
    assert holds(tmp_path, SECRET) == []
    assert holds(tmp_path, OTHER) == []


async def test_what_is_not_written_leaves_no_secret_behind(tmp_path: Path) -> None:
    file = tmp_path / "callgate.toml"
    file.write_text("version = 1\n")
    async with running_gateway(tmp_path) as gateway:
        file.chmod(0o400)
        status, told = await patch(gateway, {"add": {"text": entry(SECRET)}})
        assert (status, told["code"]) == (409, "setup.config_locked"), told
        assert SECRET not in json.dumps(told)
        listed = await run_callgate(tmp_path, "secret", "list", "--json")
        assert json.loads(listed.stdout)["secrets"] == []
        file.chmod(0o600)
        wrong = json.dumps({"mcpServers": {"desk": {"url": "ftp://x", "headers": {"X-Api-Key": SECRET}}}})
        status, told = await patch(gateway, {"add": {"text": wrong}})
        assert status == 422, told
        listed = await run_callgate(tmp_path, "secret", "list", "--json")
        assert json.loads(listed.stdout)["secrets"] == []


async def test_a_secret_that_cannot_be_named_is_told(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as gateway:
        text = f"{sys.executable} {SERVER} good --api-key {SECRET}"
        status, told = await patch(gateway, {"add": {"text": text, "name": "desk"}}, query="?dry_run=true")
        assert (status, told["kept"], told["plain"]) == (200, [], ["mcpServers.desk.args[3]"])
