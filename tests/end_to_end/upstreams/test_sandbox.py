"""Confined servers behind a gateway: real ones work, a hostile one is held, and nothing runs unconfined."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import CALLGATE, GatewayProcess, run_callgate, running_gateway, text_in
from end_to_end.raw_clients import LegacyClient
from end_to_end.upstream_stage import ACTOR
from mcp import Client
from waiting import until
from zoo import manifest
from zoo.install import install

import callgate
from callgate.sandbox.kernel import kernel_abilities

needs_landlock = pytest.mark.skipif(bool(kernel_abilities().obstacle), reason=kernel_abilities().obstacle)
WITHOUT_LANDLOCK = Path(__file__).parents[2] / "sandbox" / "without_landlock.py"


def write_file(folder: Path, sandbox: str, command: list[str], *more: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program, *args = command
    lines = [
        "version = 1",
        "[mcpServers.one]",
        f"command = {json.dumps(program)}",
        f"args = {json.dumps(args)}",
    ]
    (folder / "callgate.toml").write_text("\n".join((*lines, f"sandbox = {sandbox}", *more)) + "\n")


def actor(folder: Path) -> list[str]:
    return [sys.executable, "-E", "-S", str(ACTOR), "--log", str(folder / "one.log"), "--name", "one"]


async def health_of(gateway: GatewayProcess) -> dict[str, Any]:
    found = await gateway.get("/healthz")
    return next(one for one in found["servers"] if one["name"] == "one")


async def has_state(gateway: GatewayProcess, state: str) -> bool:
    return (await health_of(gateway))["state"] == state


@needs_landlock
@pytest.mark.parametrize("name", ["filesystem", "time"])
async def test_a_real_server_works_in_a_sandbox_without_a_network(name: str, tmp_path: Path) -> None:
    server = manifest.servers()[name]
    installed = install(name, server)
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("hello")
    program, *args = (word.format(work=work) for word in server.command)
    sandbox = f'{{ writes = ["{work}"], network = false }}'
    if (shown := shutil.which(installed.program(program))) is None:
        pytest.skip(f"{program} is not installed")
    write_file(tmp_path / "state", sandbox, [shown, *args])
    async with running_gateway(tmp_path / "state") as gateway, Client(gateway.mcp_url) as client:
        await until(lambda: has_state(gateway, "up"))
        if name == "time":
            told = await client.call_tool("one__get_current_time", {"timezone": "UTC"})
            assert "UTC" in text_in(told.content[0])
            return
        await client.call_tool("one__write_file", {"path": str(work / "b.txt"), "content": "written"})
        told = await client.call_tool("one__read_text_file", {"path": str(work / "a.txt")})
        assert text_in(told.content[0]) == "hello"
    assert (work / "b.txt").read_text() == "written"


@needs_landlock
async def test_processes_of_single_clients_and_spares_are_confined_too(tmp_path: Path) -> None:
    state = tmp_path / "state"
    logs = tmp_path / "logs"
    logs.mkdir()
    write_file(state, f'{{ writes = ["{logs}"], network = false }}', actor(logs))
    async with running_gateway(state) as gateway:
        await until(lambda: has_state(gateway, "up"))
        port = int(gateway.announced["url"].rpartition(":")[2])
        async with LegacyClient(port, "/mcp") as one, LegacyClient(port, "/mcp") as two:
            for client in (one, two):  # the second within a minute makes a spare
                await client.play("one__play", {"answer": "fine"})

            def confined() -> list[bool]:
                return [
                    "Seccomp:\t2" in (folder / "status").read_text()
                    for folder in Path("/proc").glob("[0-9]*")
                    if str(logs / "one.log").encode() in _arguments(folder)
                ]

            # A shared one, one for each, and a spare.
            await until(lambda: len(found := confined()) >= 4 and all(found))


def _arguments(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


async def test_without_landlock_the_server_is_down_and_its_program_never_runs(tmp_path: Path) -> None:
    state = tmp_path / "state"
    write_file(state, "{ network = false }", ["touch", str(tmp_path / "it-ran")])
    command = [sys.executable, str(WITHOUT_LANDLOCK), *CALLGATE]
    async with running_gateway(state, command=command) as gateway:
        await until(lambda: has_state(gateway, "down"))
        found = await health_of(gateway)
    assert found["code"] == "setup.sandbox"
    assert "this kernel has no Landlock" in found["detail"]
    assert not (tmp_path / "it-ran").exists()


@needs_landlock
async def test_a_sandbox_around_our_own_file_is_refused_with_a_sentence(tmp_path: Path) -> None:
    state = tmp_path / "state"
    write_file(state, '{ writes = ["."], network = false }', ["touch", str(tmp_path / "it-ran")])
    async with running_gateway(state) as gateway:
        await until(lambda: has_state(gateway, "down"))
        found = await health_of(gateway)
    assert found["code"] == "setup.sandbox"
    assert "which is Callgate's own" in found["detail"]


@needs_landlock
@pytest.mark.parametrize("what", ["the link to our file", "our code", "our interpreter"])
async def test_what_would_run_or_be_read_unconfined_may_not_be_exchanged(tmp_path: Path, what: str) -> None:
    links, real, state = (tmp_path / name for name in ("links", "real", "state"))
    links.mkdir()
    state.mkdir()
    writes = {
        "the link to our file": links,
        "our code": Path(callgate.__file__).parents[1],
        "our interpreter": Path(sys.prefix),
    }[what]
    write_file(real, f'{{ writes = ["{writes}"], network = false }}', ["touch", str(tmp_path / "it-ran")])
    (links / "callgate.toml").symlink_to(real / "callgate.toml")
    file = str(links / "callgate.toml")
    async with running_gateway(state, "--config", file, "--port", "0") as gateway:
        await until(lambda: has_state(gateway, "down"))
        found = await health_of(gateway)
    assert found["code"] == "setup.sandbox"
    assert "which is Callgate's own" in found["detail"]
    assert not (tmp_path / "it-ran").exists()


async def test_doctor_says_what_the_kernel_can_do(tmp_path: Path) -> None:
    write_file(tmp_path, "{ network = false }", [sys.executable, "-c", "pass"])
    told = await run_callgate(tmp_path, "doctor", "--json")
    assert json.loads(told.stdout)["kernel"]["landlock"] == kernel_abilities().landlock
    shown = await run_callgate(tmp_path, "doctor")
    assert ("programs can be confined (Landlock" in shown.stdout) is not bool(kernel_abilities().obstacle)


@pytest.mark.parametrize(
    ("sandbox", "more", "words"),
    [
        ("true", (), "mcpServers.one.sandbox: with a network the program can reach this gateway"),
        ("{ writes = 1 }", (), "mcpServers.one.sandbox.writes"),
        ("{ write = [] }", (), 'Did you mean "writes"?'),
        ('"yes"', (), "true, false or a table is expected"),
        ('{ writes = ["https://x"], network = false }', (), "a path is expected, not an address"),
    ],
)
async def test_config_check_explains_a_wrong_sandbox(
    tmp_path: Path, sandbox: str, more: tuple[str, ...], words: str
) -> None:
    write_file(tmp_path, sandbox, ["true"], *more)
    told = await run_callgate(tmp_path, "config", "check")
    assert told.exit_code == 3
    assert words in told.stdout + told.stderr


async def test_a_sandbox_with_a_network_needs_only_a_token(tmp_path: Path) -> None:
    write_file(tmp_path, "true", ["true"], "[server]", f'tokens = ["{os.urandom(16).hex()}"]')
    assert (await run_callgate(tmp_path, "config", "check")).exit_code == 0
