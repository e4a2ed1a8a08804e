"""The log of `serve`: one line when a server or a database goes down, none for each attempt after that."""

import asyncio
import json
import re
import signal
import sys
from pathlib import Path

from databases.database import Database
from end_to_end.forked import start_forked
from end_to_end.gateway_process import clean_environment
from sql.network.proxy import Proxy

DEADLINE_S = 60.0  # only against a hang
ATTEMPTS = 3
# Notes that it was started, and ends with a secret in its last words.
DYING = """
import sys
with open(sys.argv[1], "a") as starts:
    starts.write("started\\n")
sys.exit("no access with hunter2hunter2")
"""


async def log_of(state: Path, *options: str, **environment: str) -> list[str]:
    """All that `serve` says while a dying server is started several times."""
    (state / "dying.py").write_text(DYING)
    starts = state / "starts"
    (state / "callgate.toml").write_text(
        "version = 1\n[mcpServers.dying]\n"
        f"command = {sys.executable!r}\nargs = ['dying.py', {str(starts)!r}]\n"
        "[record]\nredact_patterns = ['hunter2hunter2']\n"
    )
    process = await start_forked(
        "serve", "--port", "0", *options,
        stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        env=clean_environment(state, **environment), cwd=state,
    )  # fmt: skip
    assert process.stderr is not None
    saying = asyncio.ensure_future(process.stderr.read())
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not starts.exists() or len(starts.read_text().split()) < ATTEMPTS:
                await asyncio.sleep(0.05)
    finally:
        process.send_signal(signal.SIGTERM)
        said = await saying
        await process.wait()
    return said.decode().splitlines()


async def test_a_server_that_cannot_be_started_is_told_of_once_with_the_time(tmp_path: Path) -> None:
    (told,) = [line for line in await log_of(tmp_path) if "WARNING" in line]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d WARNING ✗ dying is down: ", told)
    assert "no access with ***" in told


async def test_quiet_and_json_say_that_line_and_nothing_else(tmp_path: Path) -> None:
    (line,) = await log_of(tmp_path, "--quiet", "--log-format", "json")
    told = json.loads(line)
    assert (told["level"], told["message"][:15]) == ("warning", "✗ dying is down")


async def test_with_json_every_line_is_json_the_greeting_too(tmp_path: Path) -> None:
    messages = [json.loads(line)["message"] for line in await log_of(tmp_path, "--log-format", "json")]
    (ready,) = [message for message in messages if "is ready" in message]
    assert re.fullmatch(r"Callgate \S+ is ready: http://127.0.0.1:\d+/ and http://127.0.0.1:\d+/mcp", ready)


async def test_quiet_still_says_the_warnings_of_the_start(tmp_path: Path) -> None:
    told = await log_of(tmp_path, "--quiet", CALLGATE_RECORD_KEP="30d")
    assert any("WARNING CALLGATE_RECORD_KEP: there is no such variable" in line for line in told)


async def test_a_database_that_is_away_is_told_of_once_and_so_is_its_return(
    tmp_path: Path, postgres: Database
) -> None:
    proxy = Proxy(postgres.host, postgres.port)
    await proxy.mend()
    await proxy.cut()
    dsn = postgres.dsn.replace(f":{postgres.port}/", f":{proxy.port}/")
    (tmp_path / "callgate.toml").write_text(f'version = 1\n[[sources]]\nid = "shop"\ndsn = "{dsn}"\n')
    process = await start_forked(
        "serve", "--port", "0", stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        env=clean_environment(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        async with asyncio.timeout(2 * DEADLINE_S):
            down = await _line_with(process.stderr, "shop is down")
            await proxy.mend()
            up = await _line_with(process.stderr, "shop is up")
    finally:
        process.send_signal(signal.SIGTERM)
        await process.stderr.read()
        await process.wait()
        await proxy.cut()
    assert f"127.0.0.1:{proxy.port} cannot be reached: connection refused" in down
    assert "PostgreSQL" in up
    assert postgres.password not in down + up


async def _line_with(stream: asyncio.StreamReader, part: str) -> str:
    """The next one; what stands in between does not say the same again."""
    while part not in (line := (await stream.readline()).decode()):
        assert line, "it ended"
        assert "shop is down" not in line
    return line
