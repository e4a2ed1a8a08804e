"""Kept secrets from the command to the server that uses them: live, and seen nowhere."""

import asyncio
import base64
import json
import os
import secrets
import sys
import tarfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
from end_to_end.gateway_process import GatewayProcess, run_callgate, running_gateway
from end_to_end.principals.test_reload import ask
from end_to_end.upstream_stage import Actor
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


async def probe_and_change(gateway: GatewayProcess, token: str, said: list[str]) -> None:
    digest = (await ask(gateway, "/api/v1/config", token))[1]["digest"]
    entry = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${secret:key}"}}
    changes = (
        ("POST", "servers/probe", {"text": json.dumps({"again": entry})}),
        ("PATCH", "config?dry_run=true", {"set": {"mcpServers.again": entry}}),
        ("PATCH", "config", {"set": {"mcpServers.away.headers.X-More": "secret:ops"}}),
    )
    headers = {"authorization": f"Bearer {token}", "if-match": f'"{digest}"'}
    async with httpx2.AsyncClient(headers=headers, base_url=f"{gateway.announced['url']}/api/v1/") as http:
        for method, path, body in changes:
            answer = await http.request(method, path, json=body)
            said.append(answer.text)
            assert answer.status_code == 200, answer.text

    async def rows() -> list[dict[str, Any]]:
        found = (await ask(gateway, "/api/v1/exchanges?limit=100", token))[1]["exchanges"]
        return [one for one in found if str(one["method"]).startswith("operator/")]

    await until(lambda: is_recorded(rows))
    paths = [f"/api/v1/exchanges/{row['id']}" for row in await rows()]
    said.extend([json.dumps(await ask(gateway, path, token)) for path in paths])


async def is_recorded(rows: Callable[[], Awaitable[list[dict[str, Any]]]]) -> bool:
    return any(one["method"] == "operator/changeConfig" for one in await rows())


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
        # Tried once more from pasted text, and changed through the API: rows of what an operator did.
        await probe_and_change(gateway, second, said)
        said.append(await asyncio.to_thread(command_lines))
        for command in ("config show", "config check", "doctor --json", "servers --json", "status --json"):
            await run(*command.split())
        assert '"is_readable": true' in await run("secret", "list", "--json")
        assert (await run_callgate(tmp_path, "backup", "kept.tar.gz")).exit_code == 0
        assert "server.tokens[0].token names the secret ops" in await run("secret", "remove", "ops")
        assert (await ask(gateway, "/api/v1/me", second))[0] == 200
    with tarfile.open(tmp_path / "kept.tar.gz") as archive:
        (tmp_path / "kept").mkdir()
        for member in archive:  # Debian's Python 3.11 has no filter for `extractall`
            data = archive.extractfile(member)
            assert data is not None
            (tmp_path / "kept" / member.name.replace("/", "-")).write_bytes(data.read())
    kept = [one for one in tmp_path.rglob("*") if one.is_file() and one.name != "other.txt"]
    names = {one.name for one in kept}
    assert {"state.db", "gateway.log", "kept.tar.gz"} <= names
    assert any((tmp_path / "kept").glob("*state.db"))
    said.extend(one.read_bytes().decode(errors="replace") for one in kept)
    said.extend(str(one) for one in kept)
    for value in planted:
        assert not any(value in text for text in said)


async def test_the_lock_does_not_have_the_secret_that_a_server_repeats(tmp_path: Path) -> None:
    actor = Actor("chatty", tmp_path, ["--era", "legacy"])
    key = f"QZ7{secrets.token_urlsafe(24)}"
    tool = {"name": "add", "description": f"Adds, with the key {key}.", "inputSchema": {"type": "object"}}
    actor.offer(tools=[tool], instructions=f"The key is {key}.")
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[server]\nlisten = "127.0.0.1:0"\n{actor.toml()}\nenv = {{ API_KEY = "secret:key" }}\n'
    )
    assert (await run_callgate(tmp_path, "secret", "set", "key", stdin=key.encode())).exit_code == 0
    assert (await run_callgate(tmp_path, "trust")).exit_code == 0
    lock = (tmp_path / "callgate.lock").read_text()
    assert ("Adds, with the key ***." in lock, "The key is ***." in lock, key in lock) == (True, True, False)
    actor.offer(tools=[{**tool, "title": "Add"}], instructions=f"The key is {key}.")
    assert (await run_callgate(tmp_path, "trust", "accept", "chatty")).exit_code == 0
    assert key not in (tmp_path / "callgate.lock").read_text()
    assert (await run_callgate(tmp_path, "trust", "--check")).exit_code == 0


async def test_the_lock_has_no_secret_in_disguise_in_a_name_or_of_an_address(tmp_path: Path) -> None:
    actor = Actor("chatty", tmp_path, ["--era", "legacy"])
    key = f"QZ7{secrets.token_hex(16)}"
    forms = {
        "apart": "-".join(key),
        "base64": base64.b64encode(f"key={key}".encode()).decode(),
        "hex": key.encode().hex(),
    }
    tools = [
        {"name": name, "description": f"Adds {form}.", "inputSchema": {}} for name, form in forms.items()
    ]
    tools.append({"name": f"add_{key}", "description": "Adds.", "inputSchema": {}})
    actor.offer(tools=tools)
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[server]\nlisten = "127.0.0.1:0"\n{actor.toml()}\nenv = {{ MOOD = "secret:key" }}\n'
    )
    assert (await run_callgate(tmp_path, "secret", "set", "key", stdin=key.encode())).exit_code == 0
    assert (await run_callgate(tmp_path, "trust")).exit_code == 0
    lock = (tmp_path / "callgate.lock").read_text()
    assert all(f"tools.{name}]" in lock for name in forms)
    assert not any(form in lock for form in (key, *forms.values()))
    refused = await run_callgate(tmp_path, "trust", "accept", "chatty", f"add_{key}")
    assert refused.exit_code == 3
    assert "repeats a secret of its entry" in refused.stderr
    assert key not in refused.stderr


async def test_a_value_is_never_an_argument_and_must_be_text(tmp_path: Path) -> None:
    assert (await run_callgate(tmp_path, "secret", "set", "key", "QZ7")).exit_code == 2
    for value in (b"", b"\n", b"\xff\xfe", b"x" * 70_000, b"a\0b"):
        assert (await run_callgate(tmp_path, "secret", "set", "key", stdin=value)).exit_code == 2
    assert (await run_callgate(tmp_path, "secret", "set", "../key", stdin=b"x")).exit_code == 2
    assert not (tmp_path / "state.db").exists()
