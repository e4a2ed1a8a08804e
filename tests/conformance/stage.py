"""What the suite is run against: the reference server by itself, and through a gateway as several upstreams.

Every part is a real process on a free port of this machine, and ends with the stage. Addresses say
`localhost`: the suite checks what a server does with Host and Origin, and expects that name to be allowed.
"""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bridge.upstream_servers import forking
from conformance.suite import Leg, Suite, SuiteError
from conformance.verdicts import Check, Comparison, Verdict, compare, read_verdicts
from databases.pgbouncer import pooler_of
from databases.postgres import postgres_server
from end_to_end.gateway_process import GatewayProcess, running_gateway
from replicas.fleet import running_fleet

REFSERVER = Path(__file__).parent / "refserver.py"
READY_TIMEOUT_S = 60.0  # three Python processes that import the SDK, on a busy machine
POLL_S = 0.05
STOP_TIMEOUT_S = 5.0  # the server waits for open streams, and a client that was killed may have left some


@dataclass(frozen=True)
class Reference:
    """The reference server as an upstream: over which transport, and restricted to which era."""

    name: str
    transport: str
    era: str = "both"
    isolation: str = "auto"


BOTH_ERAS = (
    Reference("ref", "HTTP"),
    Reference("refio", "stdio"),
    # The suite gives a call 0.6 s for its first words; a process of the client's own may need longer.
    Reference("refshared", "stdio", isolation="shared"),
)
ONE_ERA = (
    Reference("old", "HTTP", "legacy"),
    Reference("oldio", "stdio", "legacy"),
    Reference("new", "HTTP", "modern"),
    Reference("newio", "stdio", "modern"),
)


@dataclass
class Stage:
    suite: Suite
    folder: Path
    direct_url: str
    gateway_url: str
    upstreams: dict[str, Reference]
    _direct: dict[tuple[str, ...], dict[Check, Verdict]] = field(default_factory=dict)

    async def direct(self, leg: Leg, scenarios: Sequence[str] = ()) -> dict[Check, Verdict]:
        key = (leg.name, *scenarios)
        if key not in self._direct:
            self._direct[key] = await self._verdicts("direct", leg, self.direct_url, scenarios)
        return self._direct[key]

    async def compare(self, leg: Leg, upstream: str, scenarios: Sequence[str] = ()) -> Comparison:
        url = f"{self.gateway_url}/servers/{upstream}/mcp"
        through = await self._verdicts(upstream, leg, url, scenarios)
        return compare(
            await self.direct(leg, scenarios),
            through,
            info_is_kept=self.upstreams[upstream].transport == "stdio",
        )

    async def _verdicts(
        self, label: str, leg: Leg, url: str, scenarios: Sequence[str]
    ) -> dict[Check, Verdict]:
        results = self.folder / label / leg.name
        await self.suite.run(leg, url, results, scenarios)
        return read_verdicts(results)


@asynccontextmanager
async def standing_stage(
    suite: Suite, folder: Path, upstreams: Sequence[Reference] = BOTH_ERAS, *, replicas: int = 1
) -> AsyncIterator[Stage]:
    """`folder` gets what the suite found and what the processes said. `replicas`: more than one stand behind
    nginx, which takes turns, and share a PostgreSQL through PgBouncer."""
    async with AsyncExitStack() as stack:
        urls: dict[str, str] = {}
        for era in {"both", *(each.era for each in upstreams if each.transport == "HTTP")}:
            port = _free_port()
            await stack.enter_async_context(_refserver(port, era, folder / f"refserver-{era}.txt"))
            urls[era] = f"http://localhost:{port}/mcp"
        entries = [
            _entry(each, urls) if each.transport == "HTTP" else await stack.enter_async_context(_forks(each))
            for each in upstreams
        ]
        served = "".join(entries)
        running = _one_gateway(folder, served) if replicas == 1 else balanced_replicas(served, replicas)
        gateway_url = await stack.enter_async_context(running)
        yield Stage(suite, folder, urls["both"], gateway_url, {each.name: each for each in upstreams})


@asynccontextmanager
async def _one_gateway(folder: Path, entries: str) -> AsyncIterator[str]:
    """Its address."""
    state = folder / "gateway"
    state.mkdir()
    config = state / "callgate.toml"
    config.write_text(f"version = 1\n{entries}")
    async with running_gateway(state, "--port", "0", "--config", str(config)) as gateway:
        await _until("The gateway's upstreams", lambda: _all_up(gateway))
        yield gateway.announced["url"].replace("127.0.0.1", "localhost")


@asynccontextmanager
async def balanced_replicas(entries: str, count: int) -> AsyncIterator[str]:
    """The balancer's address. Each connection goes to the next replica. PostgreSQL is behind PgBouncer."""
    with postgres_server() as server, pooler_of(server) as pooler:
        async with running_fleet(server, pooler, count=count, servers=entries) as fleet:
            yield f"http://localhost:{fleet.port}"


def _entry(upstream: Reference, urls: dict[str, str]) -> str:
    """JSON strings and lists are TOML ones too."""
    return f"\n[mcpServers.{upstream.name}]\nurl = {json.dumps(urls[upstream.era])}\n"


@asynccontextmanager
async def _forks(upstream: Reference) -> AsyncIterator[str]:
    """An entry whose processes are forks: many sessions have one of their own."""
    words = [sys.executable, str(REFSERVER), "stdio", "--era", upstream.era]
    async with forking(words, {}) as (command, *args):
        how = f"command = {json.dumps(command)}\nargs = {json.dumps(args)}"
        yield f"\n[mcpServers.{upstream.name}]\n{how}\nisolation = {json.dumps(upstream.isolation)}\n"


@asynccontextmanager
async def _refserver(port: int, era: str, said: Path) -> AsyncIterator[None]:
    with said.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, REFSERVER, "http", "--port", str(port), "--era", era,
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
