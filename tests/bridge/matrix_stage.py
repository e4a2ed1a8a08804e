"""One gateway, or several replicas, before the six upstreams, and a client process of each SDK."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from bridge.asking_client import AskingClient
from bridge.driver_process import CLIENTS as CLIENT_FOLDER
from bridge.driver_process import HERE, DriverProcess, running_driver, sdk1_python, sdk2_python, typescript
from bridge.seat import CLIENTS, ClientKind, Seat
from bridge.upstream_servers import UPSTREAMS, Upstream, configured
from conformance.suite import install
from end_to_end.forked import forked_callgate
from end_to_end.gateway_process import clean_environment, running_gateway
from locked_packages import node_modules, python_packages


class MatrixStage:
    """Links are opened when a cell first needs them; one that another way or client follows is closed."""

    def __init__(self, url: str, folder: Path, drivers: dict[str, DriverProcess]) -> None:
        self._url = url
        self._folder = folder
        self._drivers = drivers
        self._open: tuple[DriverProcess, str] | None = None
        self._introduced: dict[str, Any] = {}

    async def seat(self, client: ClientKind, way: str, upstream: Upstream) -> Seat:
        link = f"{client.name} {way} {upstream.name}" if way == "direct" else f"{client.name} {way}"
        driver = self._drivers[client.name]
        if self._open != (driver, link):
            await self.close()
            self._open = (driver, link)
            self._introduced = await self._connect(driver, link, client, way, upstream)
        await driver.order(link, "forget")
        return Seat(driver, link, client, way, upstream, self._introduced, self._folder)

    async def seats_of_own(
        self, client: ClientKind, way: str, upstreams: Sequence[Upstream] = tuple(UPSTREAMS.values())
    ) -> list[Seat]:
        """One link that stays open beside all others, with all these upstreams behind it."""
        driver, link = self._drivers[client.name], f"{client.name} {way} of its own"
        introduced = await self._connect(driver, link, client, way, upstreams[0])
        return [Seat(driver, link, client, way, each, introduced, self._folder) for each in upstreams]

    def raw_client(self) -> AskingClient:
        """A modern one at /mcp."""
        return AskingClient(int(self._url.rpartition(":")[2]), "/mcp")

    async def _connect(
        self, driver: DriverProcess, link: str, client: ClientKind, way: str, upstream: Upstream
    ) -> dict[str, Any]:
        return await driver.order(link, "connect", mode=client.mode, **self._target(way, upstream))

    def _target(self, way: str, upstream: Upstream) -> dict[str, Any]:
        if way == "http":
            return {"url": f"{self._url}/mcp"}
        if way == "direct":
            return {"url": f"{self._url}/servers/{upstream.name}/mcp"}
        command, *args = [*forked_callgate(), "stdio", "--config", str(self._folder / "callgate.toml")]
        return {
            "command": {
                "command": command,
                "args": args,
                "env": clean_environment(self._folder),
                "cwd": str(self._folder),
            }
        }

    async def close(self) -> None:
        if self._open is not None:
            driver, link = self._open
            self._open = None
            await driver.order(link, "close")


# Entries of servers to the address at which they are served.
Serving = Callable[[str], AbstractAsyncContextManager[str]]


@asynccontextmanager
async def standing_matrix(
    folder: Path,
    serving: Serving | None = None,
    clients: Iterable[str] = CLIENTS,
    upstreams: Iterable[str] = UPSTREAMS,
) -> AsyncIterator[MatrixStage]:
    """`serving`: one gateway unless it says otherwise."""
    packages = python_packages(HERE / "legacy_sdk.lock", "bridge")
    python = {"py1": sdk1_python(), "py2-handshake": sdk2_python(), "py2-auto": sdk2_python()}
    async with AsyncExitStack() as stack:
        chosen = [UPSTREAMS[name] for name in upstreams]
        entries = await stack.enter_async_context(configured(chosen, folder, packages))
        serve = serving or (lambda entries: _one_gateway(folder, entries))
        url = await stack.enter_async_context(serve(entries))
        drivers: dict[str, DriverProcess] = {}
        for name in clients:
            command = python.get(name) or typescript_sdk("sdk1" if name == "ts1" else "sdk2")
            driver = running_driver(*command, packages=packages if name == "py1" else None)
            drivers[name] = await stack.enter_async_context(driver)
        stage = MatrixStage(url, folder, drivers)
        yield stage
        await stage.close()


def typescript_sdk(sdk: str) -> list[str]:
    """The SDK needs Node 20, newer than many machines have; the conformance suite brings its own."""
    return typescript(install().node, node_modules(CLIENT_FOLDER, "bridge"), sdk)


@asynccontextmanager
async def _one_gateway(folder: Path, entries: str) -> AsyncIterator[str]:
    config = folder / "callgate.toml"
    config.write_text(f"version = 1\n{entries}")
    async with running_gateway(folder, "--port", "0", "--config", str(config)) as gateway:
        yield gateway.announced["url"]
