"""Kept secrets from the command to the server that uses them: live, and seen nowhere."""

import asyncio
import json
import os
import secrets
import sys
from pathlib import Path

from end_to_end.gateway_process import GatewayProcess, run_callgate, running_gateway
from end_to_end.principals.test_reload import ask
from waiting import until

# A server that says what it was given: where stderr, errors and the record must not repeat it.
TELLTALE = """
import os, sys
sys.stderr.write("given " + os.environ["KEY"] + chr(10))
sys.exit("cannot log in with " + os.environ["KEY"])
"""


def gateway_file(folder: Path) -> None:
    (folder / "telltale.py").write_text(TELLTALE)
    (folder / "callgate.toml").write_text(
        'version = 1\n[server]\ntokens = [{ token = "secret:ops", principal = "ops" }]\n'
        f"[mcpServers.telltale]\ncommand = {sys.executable!r}\nargs = ['telltale.py']\n"
        'env = { KEY = "secret:key" }\n'
        "[mcpServers.away]\nurl = 'http://127.0.0.1:9/mcp'\n"
        "headers = { Authorization = \"Bearer ${secret:key}\", X-Other = 'exec:cat other.txt' }\n"
        '[[sources]]\nid = "shop"\ndsn = "postgres://me:${secret:key}@127.0.0.1:9/shop"\n'
    )


def command_lines() -> str:
    """Of every process there is."""
    found: list[str] = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(one.read_bytes().decode(errors="replace"))
        except OSError:  # it has ended
            continue
    return "\n".join(found)


async def everything_told(gateway: GatewayProcess, token: str) -> str:
    paths = ("servers", "config", "settings", "about", "calls", "clients", "me")
    answers = [await ask(gateway, f"/api/v1/{path}", token) for path in paths]
    return json.dumps(answers) + json.dumps(await ask(gateway, "/healthz", token))


async def test_a_secret_reaches_its_server_and_nobody_else(tmp_path: Path) -> None:
    gateway_file(tmp_path)
    key, other, first, second = (f"QZ7{secrets.token_urlsafe(24)}" for _ in range(4))
    (tmp_path / "other.txt").write_text(other)
    planted = (key, other, first, second)
    said: list[str] = []

    async def run(*arguments: str, stdin: str = "") -> str:
        done = await run_callgate(tmp_path, *arguments, stdin=stdin.encode())
        said.extend((done.stdout, done.stderr))
        return done.stdout + done.stderr

    assert "setup.secret" in await run("config", "check")
    await run("secret", "set", "key", stdin=key)
    await run("secret", "set", "ops", stdin=f"{first}\n")
    log = os.open(tmp_path / "gateway.log", os.O_WRONLY | os.O_CREAT, 0o600)
    async with running_gateway(tmp_path, "--port", "0", stderr=log) as gateway:
        os.close(log)

        async def is_down() -> bool:
            servers = (await ask(gateway, "/api/v1/servers", first))[1]["servers"]
            return all(one["state"] != "starting" for one in servers)

        await until(is_down)
        said.append(await everything_told(gateway, first))
        # Live: the new value is used from now on, and the old one is not.
        assert "has it" in await run("secret", "set", "ops", stdin=second)
        assert (await ask(gateway, "/api/v1/me", second))[0] == 200
        assert (await ask(gateway, "/api/v1/me", first))[0] == 401
        said.append(await everything_told(gateway, second))
        said.append(await asyncio.to_thread(command_lines))
        for command in ("config show", "config check", "doctor --json", "servers --json", "status --json"):
            await run(*command.split())
        assert '"is_readable": true' in await run("secret", "list", "--json")
        assert "does not take it over" in await run("secret", "remove", "ops")
        assert (await ask(gateway, "/api/v1/me", second))[0] == 200
    kept = [one for one in tmp_path.rglob("*") if one.is_file() and one.name != "other.txt"]
    said.extend(one.read_bytes().decode(errors="replace") for one in kept)
    said.extend(str(one) for one in kept)
    for value in planted:
        assert not any(value in text for text in said)


async def test_a_value_is_never_an_argument_and_must_be_text(tmp_path: Path) -> None:
    assert (await run_callgate(tmp_path, "secret", "set", "key", "QZ7")).exit_code == 2
    for value in (b"", b"\n", b"\xff\xfe", b"x" * 70_000, b"a\0b"):
        assert (await run_callgate(tmp_path, "secret", "set", "key", stdin=value)).exit_code == 2
    assert (await run_callgate(tmp_path, "secret", "set", "../key", stdin=b"x")).exit_code == 2
    assert not (tmp_path / "state.db").exists()
