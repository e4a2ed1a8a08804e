"""A gateway process with one upstream of the matrix behind it, for tests that speak to it by raw requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bridge.driver_process import HERE
from bridge.upstream_servers import UPSTREAMS, configured
from end_to_end.gateway_process import running_gateway
from locked_packages import python_packages
from waiting import until


@asynccontextmanager
async def server(
    folder: Path, name: str = "legacy-http", *of_server: str, settings: str = ""
) -> AsyncIterator[Path]:
    """The configuration of a gateway with that server, which runs; `folder` gets its marks."""
    packages = python_packages(HERE / "legacy_sdk.lock", "bridge")
    async with configured([UPSTREAMS[name]], folder, packages, *of_server) as servers:
        config = folder / "callgate.toml"
        config.write_text(f"version = 1\n[server]\n{settings}\n{servers}")
        yield config


@asynccontextmanager
async def gateway(config: Path) -> AsyncIterator[int]:
    """Its port, once the server behind it is up."""
    async with running_gateway(config.parent, "--port", "0", "--config", str(config)) as running:

        async def is_up() -> bool:
            return (await running.get("/healthz"))["status"] == "ok"

        await until(is_up)
        yield int(running.announced["url"].rpartition(":")[2])


async def until_marked(folder: Path, mark: str) -> None:
    """The server has left that mark: a file, because a cancelled call has no answer to tell it in."""
    await until((folder / mark).exists)
