"""A stdio server that cannot run: everybody who is told that it is down is told why, and no secret with it.

The line with the reason is in the middle of what it says, as it is with npm and Node.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from end_to_end.forked import start_forked
from end_to_end.gateway_process import clean_environment, run_callgate, running_gateway
from waiting import until

DEADLINE_S = 60.0  # only against a hang
SECRET = "hunter2hunter2"
REASON = "npm error 404 Not Found - GET https://registry.test/no-such with"
LAST = "npm error A complete log of this run can be found in: /tmp/debug-0.log"
GONE = f"""
import os, sys
notes = "".join(f"npm error 404 note {{number}}\\n" for number in range(6))
sys.stderr.write("npm error code E404\\n{REASON} " + os.environ["KEY"] + "\\n" + notes + "{LAST}\\n")
sys.exit(1)
"""
WHY = f"gone exited with code 1 (stderr: {REASON} ***)"


def configure(folder: Path) -> None:
    (folder / "gone.py").write_text(GONE)
    (folder / "callgate.toml").write_text(
        "version = 1\n[mcpServers.gone]\n"
        f"command = {sys.executable!r}\nargs = ['gone.py']\nenv = {{ KEY = '{SECRET}' }}\n"
    )


async def test_the_health_and_the_list_of_servers_say_why(tmp_path: Path) -> None:
    configure(tmp_path)
    async with running_gateway(tmp_path) as gateway:

        async def told(path: str) -> dict[str, Any]:
            (gone,) = [server for server in (await gateway.get(path))["servers"] if server["name"] == "gone"]
            return gone

        async def is_down() -> bool:
            return (await told("/healthz"))["state"] == "down"

        await until(is_down)
        assert (await told("/healthz"))["detail"] == WHY
        listed = await told("/api/v1/servers")
        assert listed["detail"] == listed["last_failure"]["message"] == WHY


async def test_doctor_shows_the_reason_and_the_last_lines_one_below_the_other(tmp_path: Path) -> None:
    configure(tmp_path)
    done = await run_callgate(tmp_path, "doctor")
    told = done.stdout.splitlines()
    problem = told.index("  ✗ gone exited with code 1")
    assert told[problem + 1] == f"    {REASON} ***"
    assert told[-1] == f"    {LAST}"
    assert SECRET not in done.stdout + done.stderr
    assert done.exit_code == 5


async def test_stdio_that_runs_its_servers_itself_says_on_stderr_that_one_is_down(tmp_path: Path) -> None:
    configure(tmp_path)
    process = await start_forked(
        "stdio", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, env=clean_environment(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(DEADLINE_S):
        line = (await process.stderr.readline()).decode()
        process.stdin.close()
        assert await process.stdout.read() == b""
        await process.wait()
    assert line.endswith(f" WARNING ✗ gone is down: {WHY}\n")
