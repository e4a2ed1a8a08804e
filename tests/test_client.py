"""The public client against real servers: the reference server in both eras, over stdio and HTTP."""

import asyncio
import shlex
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import run_callgate

from callgate.client import Server, ServerFault, UpstreamError, connect

REFERENCE = Path(__file__).parent / "conformance" / "refserver.py"
STDIO = f"stdio:{sys.executable} {REFERENCE} stdio"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with connect(STDIO) as server:
        yield server


@pytest.fixture
async def http_url() -> AsyncIterator[str]:
    """The reference server over HTTP, on a port it tells nobody: so we choose a free one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(REFERENCE), "http", "--port", str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        url = f"http://localhost:{port}/mcp"
        await _until_reachable(url)
        yield url
    finally:
        process.terminate()
        await process.wait()


async def _until_reachable(url: str) -> None:
    for _ in range(200):
        try:
            async with connect(url, timeout_s=10):
                return
        except UpstreamError:
            await asyncio.sleep(0.1)
    raise AssertionError(f"{url} did not come up")


async def test_it_finds_out_the_era_and_who_the_server_is(server: Server) -> None:
    assert (server.era, server.revision, server.state) == ("modern", "2026-07-28", "ready")
    assert server.server_info == ("refserver", "1.0.0")
    assert "tools" in server.capabilities


async def test_it_lists_reads_gets_and_calls(server: Server) -> None:
    assert "echo" in [tool["name"] for tool in await server.list_tools()]
    assert (await server.call_tool("echo", {"text": "hi"}))["content"][0]["text"] == "hi"
    assert "test://static-text" in [entry["uri"] for entry in await server.list_resources()]
    assert (await server.read_resource("test://static-text"))["contents"][0]["mimeType"] == "text/plain"
    assert len(await server.list_resource_templates()) == 1
    assert "test_simple_prompt" in [prompt["name"] for prompt in await server.list_prompts()]
    assert (await server.get_prompt("test_simple_prompt"))["messages"][0]["role"] == "user"


async def test_it_speaks_http_too(http_url: str) -> None:
    async with connect(http_url) as server:
        assert server.era == "modern"
        answers = await asyncio.gather(*(server.call_tool("echo", {"text": str(n)}) for n in range(50)))
        assert [answer["content"][0]["text"] for answer in answers] == [str(n) for n in range(50)]


async def test_progress_arrives_before_the_result(server: Server) -> None:
    seen: list[dict[str, Any]] = []
    await server.call_tool("test_tool_with_progress", on_progress=seen.append)
    assert [entry["progress"] for entry in seen] == [0, 50, 100]


async def test_the_servers_own_error_is_a_fault_with_its_code(server: Server) -> None:
    with pytest.raises(ServerFault) as caught:
        await server.call_tool("no_such_tool")
    assert caught.value.code == -32602


async def test_a_tool_that_fails_is_an_answer(server: Server) -> None:
    assert (await server.call_tool("test_error_handling"))["isError"] is True


async def test_an_unknown_method_can_be_asked(server: Server) -> None:
    with pytest.raises(ServerFault) as caught:
        await server.request("made/up", {"x": 1})
    assert caught.value.code == -32601


async def test_a_server_that_does_not_answer_ends_in_a_time_out() -> None:
    async with connect(f"stdio:{sys.executable} -u -c {shlex.quote(SILENT_CALLS)}") as server:
        with pytest.raises(UpstreamError) as caught:
            await server.call_tool("x", timeout_s=0.2)
        assert caught.value.code.code == "upstream.timeout"


async def test_cancelling_the_task_cancels_the_call_at_the_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with connect(f"stdio:{sys.executable} -u -c {shlex.quote(SILENT_CALLS)} {log}") as server:
        calling = asyncio.create_task(server.call_tool("x"))
        while "tools/call" not in (log.read_text() if log.exists() else ""):
            await asyncio.sleep(0.01)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        while "notifications/cancelled" not in log.read_text():
            await asyncio.sleep(0.01)


async def test_a_legacy_servers_question_is_answered() -> None:
    asked: list[str] = []

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append(method)
        return {"action": "accept", "content": {"n": 1}}

    target = f"stdio:{sys.executable} -u -c {shlex.quote(ASKING)}"
    async with connect(target, capabilities={"elicitation": {}}, on_request=answer) as server:
        assert server.era == "legacy"
        result = await server.call_tool("x")
        assert result["got"] == {"action": "accept", "content": {"n": 1}}
    assert asked == ["elicitation/create"]


MODERN_ASKING = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request: continue
    params = request.get("params", {})
    result = {"resultType": "complete", "got": params.get("inputResponses")}
    result["state"] = params.get("requestState")
    if request["method"] == "server/discover":
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                  "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
    elif "requestState" not in params:
        asked = {"method": "elicitation/create", "params": {"message": "how many?", "requestedSchema": {}}}
        result = {"resultType": "input_required", "inputRequests": {"n": asked}, "requestState": "once"}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


async def test_a_modern_servers_question_is_answered_by_asking_again() -> None:
    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert (method, params["message"]) == ("elicitation/create", "how many?")
        return {"action": "accept", "content": {"n": 1}}

    target = f"stdio:{sys.executable} -u -c {shlex.quote(MODERN_ASKING)}"
    async with connect(target, capabilities={"elicitation": {}}, on_request=answer) as server:
        assert server.era == "modern"
        result = await server.call_tool("x")
        assert result["got"] == {"n": {"action": "accept", "content": {"n": 1}}}
        assert result["state"] == "once"


async def test_a_program_that_does_not_exist_says_so() -> None:
    with pytest.raises(UpstreamError) as caught:
        async with connect("stdio:no-such-program-anywhere"):
            pass
    assert caught.value.code.code == "upstream.exited"


async def test_a_wrong_target_is_a_plain_error() -> None:
    with pytest.raises(ValueError, match="stdio:"):
        async with connect("ftp://x"):
            pass


async def test_callgate_call_reaches_any_server(tmp_path: Path) -> None:
    command = f"{sys.executable} {REFERENCE} stdio"
    done = await run_callgate(tmp_path, "call", "--upstream", command, "echo", "text=hello")
    assert (done.exit_code, done.stdout) == (0, "hello\n")


async def test_callgate_call_says_when_the_server_is_not_there(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "call", "--upstream", "http://127.0.0.1:9/mcp", "echo")
    assert done.exit_code == 5
    assert "upstream.unavailable" in done.stderr


_LEGACY_SERVER = """
import json, sys
def say(**m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
me = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
def hello(m): say(id=m["id"], result=me)
log = open(sys.argv[1], "a", buffering=1) if len(sys.argv) > 1 else sys.stderr
for line in sys.stdin:
    m = json.loads(line)
    log.write(m.get("method", "answer") + "\\n")
    if m.get("method") == "initialize": hello(m)
    elif m.get("method") == "server/discover": say(id=m["id"], error={"code": -32601, "message": "no"})
"""
SILENT_CALLS = _LEGACY_SERVER
ASKING = (
    _LEGACY_SERVER
    + """    elif m.get("method") == "tools/call":
        call = m["id"]
        say(id="q1", method="elicitation/create", params={"message": "?", "requestedSchema": {}})
    elif m.get("id") == "q1": say(id=call, result={"content": [], "got": m["result"]})
"""
)
