"""`callgate stdio` as a bare pipe: nothing but protocol on stdout, whatever goes wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import run_callgate, running_gateway

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def line(rpc_id: int, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": {"_meta": META, **params}}
    return json.dumps(message).encode() + b"\n"


def frames(stdout: str) -> list[Any]:
    parsed = [json.loads(text) for text in stdout.splitlines()]
    assert all(frame["jsonrpc"] == "2.0" for frame in parsed)
    return parsed


async def test_answers_come_before_the_end_when_input_is_piped_in(tmp_path: Path) -> None:
    said = line(1, "tools/call", name="demo__query", arguments={"query": "SELECT 41 + 1 AS n"})
    done = await run_callgate(tmp_path, "stdio", stdin=said)
    (answer,) = frames(done.stdout)
    assert answer["result"]["structuredContent"]["rows"] == [[42]]
    assert done.exit_code == 0


@pytest.mark.parametrize("joined", [False, True], ids=["alone", "joined"])
async def test_garbage_gets_errors_and_the_conversation_goes_on(tmp_path: Path, joined: bool) -> None:
    garbage = b'\xff\xfe\n{"jsonrpc":"2.0","id":1}\n[]\n' + line(2, "server/discover")
    if joined:
        async with running_gateway(tmp_path):
            done = await run_callgate(tmp_path, "stdio", stdin=garbage)
    else:
        done = await run_callgate(tmp_path, "stdio", stdin=garbage)
    *errors, answer = frames(done.stdout)
    assert [error["error"]["code"] for error in errors] == [-32700, -32600, -32600]
    assert answer["id"] == 2
    assert done.exit_code == 0


async def test_a_broken_configuration_is_told_on_stderr_only(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text("version = 2\n")
    done = await run_callgate(tmp_path, "stdio", stdin=line(1, "server/discover"))
    assert (done.exit_code, done.stdout) == (3, "")
    assert "version" in done.stderr


async def test_a_state_folder_that_cannot_be_made_is_told_on_stderr_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = await run_callgate(tmp_path, "stdio", "--state-dir", str(tmp_path / "file" / "x"), stdin=b"")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "setup.state_folder" in done.stderr


async def test_what_prints_to_stdout_reaches_stderr_instead(tmp_path: Path) -> None:
    """A library in this process, or a child of it, that writes to descriptor 1."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os\natexit.register(lambda: (print('from python'), os.write(1, b'from C\\n')))\n"
    )
    done = await run_callgate(tmp_path, "stdio", stdin=line(1, "server/discover"), PYTHONPATH=str(tmp_path))
    assert len(frames(done.stdout)) == 1
    assert "from python" in done.stderr
    assert "from C" in done.stderr


async def test_a_line_past_the_limit_is_refused_and_ends_the_conversation(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "stdio", stdin=b"x" * (17 * 1024 * 1024))
    (refusal,) = frames(done.stdout)
    assert refusal["error"]["data"]["code"] == "caller.too_large"


async def test_a_gateway_that_is_not_joined_is_told_with_what_to_do(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("version = 1\n[server]\naudit_stderr = true\n")
    async with running_gateway(tmp_path):
        done = await run_callgate(tmp_path, "stdio", "--config", str(other), stdin=b"")
    assert "not joining it" in done.stderr
    assert "the same --config" in done.stderr
    assert "another --state-dir" in done.stderr
