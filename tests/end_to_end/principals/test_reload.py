"""A changed file while the gateway serves: who may come is taken over, and what waits is named."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from end_to_end.forked import start_forked
from end_to_end.gateway_process import GatewayProcess, clean_environment, run_callgate, running_gateway
from end_to_end.principals.test_roles import send
from end_to_end.test_stdio import frames, line
from waiting import until

OPERATOR = "c81e5f0392ad467b"
START = f'version = 1\n[server]\ntokens = [{{ token = "{OPERATOR}", principal = "ops" }}]\n'


async def ask(
    gateway: GatewayProcess, path: str, token: str = OPERATOR, body: dict[str, Any] | None = None
) -> tuple[int, Any]:
    """`token`: none if it is empty."""
    method, raw = ("get", None) if body is None else ("post", json.dumps(body).encode())
    status, told = await asyncio.to_thread(send, gateway.announced["url"] + path, method, token, raw)
    return status, json.loads(told) if isinstance(told, bytes) else told


async def settings(gateway: GatewayProcess) -> Any:
    return (await ask(gateway, "/api/v1/settings"))[1]


@asynccontextmanager
async def stream_that_ends(gateway: GatewayProcess, token: str) -> AsyncIterator[None]:
    """Events are told to this token, and no more of them after the block."""
    host, port = gateway.announced["url"].removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    writer.write(head.encode())
    assert await reader.readuntil(b"retry: 2000\n\n")
    yield
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await asyncio.wait_for(reader.readuntil(b"never said"), 60)
    writer.close()


@dataclass
class Joined:
    process: Any

    async def answers(self) -> bool:
        self.process.stdin.write(line(1, "server/discover"))
        return "result" in json.loads(await asyncio.wait_for(self.process.stdout.readline(), 60))


@asynccontextmanager
async def joined(state: Path, token: str) -> AsyncIterator[Joined]:
    """A `callgate stdio` that joined the running gateway."""
    pipe = asyncio.subprocess.PIPE
    environment = clean_environment(state, CALLGATE_TOKEN=token)
    process = await start_forked("stdio", stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=state)
    try:
        yield Joined(process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.communicate()


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_new_token_is_known_and_a_revoked_one_is_not_without_a_restart(
    tmp_path: Path, workers: int
) -> None:
    (tmp_path / "callgate.toml").write_text(START)
    async with running_gateway(tmp_path, "--port", "0", "--workers", str(workers)) as gateway:
        made = await run_callgate(tmp_path, "token", "add", "nightly", "--role", "watch", "--json")
        token = json.loads(made.stdout)["token"]

        async def is_known() -> bool:
            answers = [await ask(gateway, "/api/v1/me", token) for _ in range(6)]
            return all(answer == (200, {"principal": "nightly", "role": "watch"}) for answer in answers)

        await until(is_known)
        # The file is another than at the start, and is served: pipes join.
        said = line(1, "server/discover")
        joined = await run_callgate(tmp_path, "stdio", stdin=said, CALLGATE_TOKEN=token)
        assert (frames(joined.stdout)[0]["id"], joined.stderr) == (1, "")
        assert (await run_callgate(tmp_path, "token", "revoke", "nightly")).exit_code == 0

        async def is_gone() -> bool:
            try:
                statuses = [(await ask(gateway, "/api/v1/me", token))[0] for _ in range(6)]
            except ConnectionError:  # it was asked just then
                return False
            return statuses == [401] * 6

        await until(is_gone)


async def test_a_revoked_token_ends_its_event_stream(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(START)
    made = await run_callgate(tmp_path, "token", "add", "nightly", "--role", "watch", "--json")
    token = json.loads(made.stdout)["token"]
    async with running_gateway(tmp_path) as gateway, stream_that_ends(gateway, token):
        await run_callgate(tmp_path, "token", "revoke", "nightly")


async def test_a_revoked_token_ends_the_pipe_that_joined_with_it_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(START)
    made = [await run_callgate(tmp_path, "token", "add", name, "--json") for name in ("nightly", "daily")]
    revoked, kept = (json.loads(one.stdout)["token"] for one in made)
    async with (
        running_gateway(tmp_path),
        joined(tmp_path, revoked) as ending,
        joined(tmp_path, kept) as other,
    ):
        for pipe in (ending, other):
            assert await pipe.answers()
        await run_callgate(tmp_path, "token", "revoke", "nightly")
        assert await asyncio.wait_for(ending.process.stdout.read(), 60) == b""
        assert b"token is not valid any more" in await ending.process.stderr.read()
        assert await other.answers()


async def test_what_cannot_be_taken_over_is_named_and_told_on_the_stream(tmp_path: Path) -> None:
    file = tmp_path / "callgate.toml"
    file.write_text(START)
    async with running_gateway(tmp_path) as gateway:
        file.write_text(
            START
            + 'audit_stderr = true\n[otel]\nservice_name = "x"\n[record]\nkeep = "5d"\npath = "elsewhere"\n'
            + '[principals.ops]\nrole = "operate"\n[mcpServers.x]\nurl = "http://127.0.0.1:9/mcp"\n'
        )
        done = await run_callgate(tmp_path, "reload", "--json")
        news = json.loads(done.stdout)
        waits = ["otel.service_name", "record.path", "server.audit_stderr"]
        assert sorted(news["changed"]) == sorted(["mcpServers.x", "principals.ops", "record.keep", *waits])
        assert sorted(news["needs_restart"]) == waits
        assert (news["problem"], news["version"]) == (None, 1)
        again = await run_callgate(tmp_path, "reload")
        assert "These need a new start" in again.stdout

        # Who did it is in the record, without a value.
        sql = "SELECT principal, sender, outcome FROM rpc_events WHERE method = 'operator/reload'"

        async def are_recorded() -> bool:
            _, told = await ask(gateway, "/api/v1/query", body={"sql": sql})
            return told["rows"] == [["ops", "operator", "answered"]] * 2

        await until(are_recorded)


async def test_a_file_with_problems_changes_nothing_and_is_told(tmp_path: Path) -> None:
    file = tmp_path / "callgate.toml"
    file.write_text(START)
    async with running_gateway(tmp_path) as gateway:
        deep, long = "x = " + "[" * 50_000, "#" * (2 * 1024**2 + 1)
        named = START.replace("ops", "o" * 200) + "[policy]\nnever = 1\n"
        for broken in (START[:30], named, "\x00", deep, long):
            file.write_text(broken)
            gateway.process.send_signal(signal.SIGHUP)

            async def is_told() -> bool:
                return (await settings(gateway))["problem"] is not None

            await until(is_told)
            _, health = await ask(gateway, "/healthz")
            assert health["status"] == "degraded"
            assert any("is not taken over" in problem for problem in health["problems"])
            done = await run_callgate(tmp_path, "reload", cwd=tmp_path)
            assert done.exit_code == 3
            file.write_text(START)

            async def is_well() -> bool:
                return (await settings(gateway))["problem"] is None

            await until(is_well)
        assert (await settings(gateway))["version"] == 0, "the same file as at the start"
