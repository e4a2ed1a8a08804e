"""`cwd = "@workspace"`: each client's process runs in that client's folder, and nowhere else."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import GatewayProcess, run_callgate, running_gateway
from end_to_end.raw_clients import Answering, LegacyClient, ModernClient
from upstreams.processes import is_alive
from waiting import until

from callgate.sandbox.kernel import kernel_abilities

WHERE = Path(__file__).parents[1] / "servers" / "where.py"
ROOTS: dict[str, Any] = {"roots": {"listChanged": True}}


class InFolder(LegacyClient):
    """Says its folder in a header."""

    extra: dict[str, str]

    @property
    def headers(self) -> dict[str, str]:
        return super().headers | self.extra


class ModernInFolder(ModernClient):
    extra: dict[str, str]

    async def http(self, method: str, headers: dict[str, str], body: bytes = b"") -> Answering:
        return await super().http(method, headers | self.extra, body)


@asynccontextmanager
async def gateway_with(state: Path, *lines: str) -> AsyncIterator[tuple[GatewayProcess, int]]:
    state.mkdir(exist_ok=True)
    text = (
        f'version = 1\n[mcpServers.one]\ncommand = "{sys.executable}"\nargs = ["-I", "-S", "{WHERE}", "."]\n'
    )
    (state / "callgate.toml").write_text(text + 'cwd = "@workspace"\n' + "\n".join(lines))
    async with running_gateway(state) as gateway:

        async def is_up() -> bool:
            found = (await gateway.get("/healthz"))["servers"]
            return [one["state"] for one in found if one["name"] == "one"] == ["up"]

        await until(is_up)
        yield gateway, int(gateway.announced["url"].rpartition(":")[2])


def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "a b ü", tmp_path / "other"
    for folder in made:
        folder.mkdir()
    return made


def in_folder(kind: Any, port: int, folder: object, **more: str) -> Any:
    client = kind(port, "/mcp")
    client.extra = {"x-callgate-workspace": str(folder)} | more
    return client


def where(answer: dict[str, Any]) -> dict[str, Any]:
    assert "result" in answer, answer
    return json.loads(answer["result"]["content"][0]["text"])


async def ask_with_roots(client: LegacyClient, *uris: str) -> dict[str, Any]:
    """A call during which the client is asked for its roots, and answers."""
    answering = await client.send("tools/call", {"name": "one__where", "arguments": {}}, rpc_id=b"7")
    await answering.read_head()
    question = await answering.until_method("roots/list")
    await client.respond(question, {"roots": [{"uri": uri} for uri in uris]})
    return await answering.next()


async def modern_with_roots(client: ModernClient, *uris: str) -> dict[str, Any]:
    params = {"name": "one__where", "arguments": {}}
    asked = (await client.request("tools/call", params))["result"]
    assert asked["resultType"] == "input_required"
    ((key, question),) = asked["inputRequests"].items()
    assert question["method"] == "roots/list"
    answers = {key: {"roots": [{"uri": uri} for uri in uris]}}
    retry = {"inputResponses": answers, "requestState": asked["requestState"]}
    return await client.request("tools/call", params | retry)


@pytest.mark.parametrize("kind", [InFolder, ModernInFolder])
async def test_two_clients_in_two_folders_have_a_process_each(tmp_path: Path, kind: Any) -> None:
    a, b = folders(tmp_path)
    async with (
        gateway_with(tmp_path / "state") as (_, port),
        in_folder(kind, port, a.as_uri()) as one,
        in_folder(kind, port, b) as two,
    ):
        found = [where(await client.call("one__where")) for client in (one, two, one)]
    assert [each["folder"] for each in found] == [str(a), str(b), str(a)]
    assert found[0]["pid"] == found[2]["pid"] != found[1]["pid"]


async def test_a_legacy_client_is_asked_for_its_roots_once_and_again_when_they_change(tmp_path: Path) -> None:
    a, b = folders(tmp_path)
    async with gateway_with(tmp_path / "state") as (_, port), LegacyClient(port, "/mcp", ROOTS) as client:
        first = where(await ask_with_roots(client, a.as_uri(), b.as_uri()))
        again = where(await client.call("one__where"))
        await client.notify("notifications/roots/list_changed")
        moved = where(await ask_with_roots(client, b.as_uri()))
        await until(lambda: not is_alive(first["pid"]))
    assert first["folder"] == again["folder"] == str(a)
    assert first["pid"] == again["pid"] != moved["pid"]
    assert moved["folder"] == str(b)


async def test_a_modern_client_is_asked_for_its_roots_with_each_call(tmp_path: Path) -> None:
    """Two windows of one program look the same to us: what each says with its call decides."""
    a, b = folders(tmp_path)
    async with (
        gateway_with(tmp_path / "state") as (_, port),
        ModernClient(port, "/mcp", ROOTS) as one,
        ModernClient(port, "/mcp", ROOTS) as two,
    ):
        found = [
            where(await modern_with_roots(*each))
            for each in ((one, a.as_uri()), (two, b.as_uri()), (one, a.as_uri()))
        ]
    assert [each["folder"] for each in found] == [str(a), str(b), str(a)]
    assert found[0]["pid"] == found[2]["pid"] != found[1]["pid"]


@pytest.mark.parametrize("runs", [True, False])
async def test_callgate_stdio_tells_the_folder_in_which_it_was_started(tmp_path: Path, runs: bool) -> None:
    a, _ = folders(tmp_path)
    config = str(tmp_path / "state" / "callgate.toml")
    call = ["call", "one__where", "--config", config]
    async with gateway_with(tmp_path / "state"):
        joined = await run_callgate(tmp_path / "state", *call, cwd=a) if runs else None
    done = joined or await run_callgate(tmp_path / "state", *call, cwd=a)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["folder"] == str(a)


async def test_without_a_folder_the_call_says_so_and_lists_come_from_an_empty_one(tmp_path: Path) -> None:
    async with gateway_with(tmp_path / "state") as (_, port), LegacyClient(port, "/mcp") as client:
        assert await client.names() == ["one__where"]
        refused = await client.call("one__where")
    assert refused["error"]["data"]["code"] == "caller.no_workspace"
    assert "X-Callgate-Workspace" in refused["error"]["data"]["hint"]


@pytest.mark.parametrize(
    "folder",
    [
        "relative",
        "https://example.com/x",
        "file://elsewhere/srv",
        "/no/such/folder",
        "/etc/passwd",
        "",
        "a" * 9000,
    ],
)
async def test_what_is_no_folder_of_this_machine_is_refused(tmp_path: Path, folder: str) -> None:
    async with gateway_with(tmp_path / "state") as (_, port), LegacyClient(port, "/mcp", ROOTS) as client:
        refused = await ask_with_roots(client, *([folder] if folder else []))
    assert refused["error"]["data"]["code"] == "caller.no_workspace"


@pytest.mark.parametrize("kind", [InFolder, ModernInFolder])
async def test_who_comes_through_a_proxy_has_no_folder_here(tmp_path: Path, kind: Any) -> None:
    """Also not after the same program came without one: to us it is the same client."""
    a, _ = folders(tmp_path)
    async with (
        gateway_with(tmp_path / "state") as (_, port),
        in_folder(kind, port, a) as near,
        in_folder(kind, port, a, **{"x-forwarded-for": "192.0.2.7"}) as far,
    ):
        found = [await client.call("one__where") for client in (near, far, near)]
    assert [where(found[at])["folder"] for at in (0, 2)] == [str(a), str(a)]
    assert found[1]["error"]["data"]["code"] == "caller.no_workspace"
    assert "another machine" in found[1]["error"]["message"]


@pytest.mark.skipif(bool(kernel_abilities().obstacle), reason=kernel_abilities().obstacle)
async def test_a_sandbox_moves_along(tmp_path: Path) -> None:
    a, b = folders(tmp_path)
    for writes, can_write in ('["."]', True), ("[]", False):
        async with (
            gateway_with(tmp_path / "state", f"sandbox = {{ writes = {writes}, network = false }}") as (
                _,
                port,
            ),
            in_folder(InFolder, port, a) as one,
            in_folder(InFolder, port, b) as two,
        ):
            found = [where(await client.call("one__where")) for client in (one, two)]
        assert [(each["folder"], each["can_write"]) for each in found] == [
            (str(a), can_write),
            (str(b), can_write),
        ]


async def test_one_process_for_all_cannot_be_in_each_clients_folder(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(
        'version = 1\n[mcpServers.one]\ncommand = "x"\ncwd = "@workspace"\nisolation = "shared"\n'
    )
    told = await run_callgate(tmp_path, "config", "check")
    assert told.exit_code == 3
    assert "gives each client a process of its own" in told.stderr
