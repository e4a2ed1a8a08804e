"""What the suite is run against: the reference server by itself, and through a gateway as two upstreams.

Every part is a real process on a free port of this machine, and ends with the stage. Addresses say
`localhost`: the suite checks what a server does with Host and Origin, and expects that name to be allowed.
"""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from conformance.suite import Leg, Suite, SuiteError
from conformance.verdicts import Check, Comparison, Verdict, compare, read_verdicts
from end_to_end.gateway_process import GatewayProcess, running_gateway

REFSERVER = Path(__file__).parent / "refserver.py"
READY_TIMEOUT_S = 60.0  # three Python processes that import the SDK, on a busy machine
POLL_S = 0.05
STOP_TIMEOUT_S = 5.0  # the server waits for open streams, and a client that was killed may have left some


@dataclass
class Stage:
    suite: Suite
    folder: Path
    direct_url: str
    gateway_url: str
    _direct: dict[tuple[str, ...], dict[Check, Verdict]] = field(default_factory=dict)

    async def direct(self, leg: Leg, scenarios: Sequence[str] = ()) -> dict[Check, Verdict]:
        key = (leg.name, *scenarios)
        if key not in self._direct:
            self._direct[key] = await self._verdicts("direct", leg, self.direct_url, scenarios)
        return self._direct[key]

    async def compare(self, leg: Leg, upstream: str, scenarios: Sequence[str] = ()) -> Comparison:
        """`upstream` is `ref` (over HTTP) or `refio` (over stdio)."""
        url = f"{self.gateway_url}/servers/{upstream}/mcp"
        through = await self._verdicts(upstream, leg, url, scenarios)
        return compare(await self.direct(leg, scenarios), through, info_is_kept=upstream == "refio")

    async def _verdicts(
        self, label: str, leg: Leg, url: str, scenarios: Sequence[str]
    ) -> dict[Check, Verdict]:
        results = self.folder / label / leg.name
        await self.suite.run(leg, url, results, scenarios)
        return read_verdicts(results)


@asynccontextmanager
async def standing_stage(suite: Suite, folder: Path) -> AsyncIterator[Stage]:
    """`folder` gets what the suite found and what the processes said."""
    port = _free_port()
    async with _refserver(port, folder / "refserver.txt"):
        direct_url = f"http://localhost:{port}/mcp"
        state = folder / "gateway"
        state.mkdir()
        config = state / "callgate.toml"
        config.write_text(_config(direct_url))
        async with running_gateway(state, "--port", "0", "--config", str(config)) as gateway:
            await _until("The gateway's upstreams", lambda: _all_up(gateway))
            gateway_url = gateway.announced["url"].replace("127.0.0.1", "localhost")
            yield Stage(suite, folder, direct_url, gateway_url)


def _config(direct_url: str) -> str:
    """JSON strings and lists are TOML ones too."""
    return f"""version = 1

[mcpServers.ref]
url = {json.dumps(direct_url)}

[mcpServers.refio]
command = {json.dumps(sys.executable)}
args = {json.dumps([str(REFSERVER), "stdio"])}
"""


@asynccontextmanager
async def _refserver(port: int, said: Path) -> AsyncIterator[None]:
    with said.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, REFSERVER, "http", "--port", str(port),
            stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
    try:

        async def listens() -> bool:
            if process.returncode is not None:
                raise SuiteError(f"The reference server ended at once:\n{said.read_text()}")
            return await _connects(port)

        await _until("The reference server", listens)
        yield
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _until(what: str, ready: Callable[[], Awaitable[bool]]) -> None:
    """Neither process tells when it is ready for this, so it is asked until it is."""
    try:
        async with asyncio.timeout(READY_TIMEOUT_S):
            while not await ready():
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise SuiteError(f"{what}: not ready after {READY_TIMEOUT_S:.0f} s") from None


async def _all_up(gateway: GatewayProcess) -> bool:
    return (await gateway.get("/healthz"))["status"] == "ok"


async def _connects(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
