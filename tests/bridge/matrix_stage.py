"""One gateway with the six upstreams behind it, and a client process of each SDK in front of it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from bridge.asking_client import AskingClient
from bridge.driver_process import CLIENTS as CLIENT_FOLDER
from bridge.driver_process import HERE, DriverProcess, running_driver, sdk1_python, sdk2_python, typescript
from bridge.seat import CLIENTS, ClientKind, Seat
from bridge.upstream_servers import UPSTREAMS, Upstream, configured
from conformance.suite import install
from end_to_end.forked import forked_callgate
from end_to_end.gateway_process import GatewayProcess, clean_environment, running_gateway
from locked_packages import node_modules, python_packages


class MatrixStage:
    """Links are opened when a cell first needs them; one that another way or client follows is closed."""

    def __init__(self, gateway: GatewayProcess, folder: Path, drivers: dict[str, DriverProcess]) -> None:
        self._gateway = gateway
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

    async def seats_of_own(self, client: ClientKind, way: str) -> list[Seat]:
        """One link that stays open beside all others, with every upstream behind it."""
        driver, link = self._drivers[client.name], f"{client.name} {way} of its own"
        upstreams = list(UPSTREAMS.values())
        introduced = await self._connect(driver, link, client, way, upstreams[0])
        return [Seat(driver, link, client, way, each, introduced, self._folder) for each in upstreams]

    def raw_client(self) -> AskingClient:
        """A modern one at /mcp."""
        return AskingClient(int(self._gateway.announced["url"].rpartition(":")[2]), "/mcp")

    async def _connect(
        self, driver: DriverProcess, link: str, client: ClientKind, way: str, upstream: Upstream
    ) -> dict[str, Any]:
        return await driver.order(link, "connect", mode=client.mode, **self._target(way, upstream))

    def _target(self, way: str, upstream: Upstream) -> dict[str, Any]:
        if way == "http":
            return {"url": self._gateway.mcp_url}
        if way == "direct":
            return {"url": f"{self._gateway.announced['url']}/servers/{upstream.name}/mcp"}
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


@asynccontextmanager
async def standing_matrix(folder: Path) -> AsyncIterator[MatrixStage]:
    packages = python_packages(HERE / "legacy_sdk.lock", "bridge")
    modules = node_modules(CLIENT_FOLDER, "bridge")
    node = install().node  # the SDK needs Node 20, newer than many machines have; the suite brings its own
    commands = {
        "py1": sdk1_python(),
        "py2-handshake": sdk2_python(),
        "py2-auto": sdk2_python(),
        "ts1": typescript(node, modules, "sdk1"),
        "ts2": typescript(node, modules, "sdk2"),
    }
    async with AsyncExitStack() as stack:
        config = folder / "callgate.toml"
        config.write_text(
            await stack.enter_async_context(configured(list(UPSTREAMS.values()), folder, packages))
        )
        gateway = await stack.enter_async_context(
            running_gateway(folder, "--port", "0", "--config", str(config))
        )
        drivers = {
            name: await stack.enter_async_context(
                running_driver(*commands[name], packages=packages if name == "py1" else None)
            )
            for name in CLIENTS
        }
        stage = MatrixStage(gateway, folder, drivers)
        yield stage
        await stage.close()
