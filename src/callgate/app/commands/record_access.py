"""Where our own commands read the record: from the gateway that runs here, else from the files."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from callgate.app.commands.api_client import ApiClient, HttpApiTransport, InProcessApiTransport
from callgate.app.running import find_running, own_token
from callgate.config.load import Loaded
from callgate.config.paths import state_folder
from callgate.config.specs.config import Config
from callgate.http_client.client import HttpClient
from callgate.model.error_codes import SETUP_NOT_RUNNING
from callgate.model.errors import SetupError
from callgate.model.health import Health
from callgate.model.offers import Offer
from callgate.ports.caller import CalledTool, ServerQuestion, ToolCall


@asynccontextmanager
async def record_api(loaded: Loaded) -> AsyncGenerator[ApiClient]:
    """To read: without a gateway the record's own files are opened, and nothing else."""
    async with running_api(loaded.config) as running:
        if running is not None:
            yield running
            return
    # Late: a command that finds a running gateway needs none of it, and starts in half the time.
    from callgate.api.http_api import ApiParts, HttpApi
    from callgate.app.record import make_record

    record = make_record(loaded.config, keeps_store=True) if loaded.config.record.enabled else None
    nobody = _Nobody()
    parts = ApiParts(nobody, nobody)
    if record is not None:
        parts = replace(parts, record=record.reader, queries=record.queries, snapshots=record.snapshots)
    try:
        yield ApiClient(InProcessApiTransport(HttpApi(parts).app()))
    finally:
        if record is not None:
            await record.close()


@asynccontextmanager
async def calling_api(loaded: Loaded, *, accepts: bool = True) -> AsyncGenerator[ApiClient]:
    """To call: without a gateway one is made for the occasion. `accepts`: False: it accepts nothing of its
    servers, and leaves the lock as it is."""
    async with running_api(loaded.config) as running:
        if running is not None:
            yield running
            return
    from callgate.app.build import build_gateway

    gateway = await build_gateway(loaded, keeps_store=True, accepts=accepts)
    try:
        yield ApiClient(InProcessApiTransport(gateway.api.app()))
    finally:
        await gateway.close()


@asynccontextmanager
async def live_api(loaded: Loaded) -> AsyncGenerator[ApiClient]:
    """To watch: only a running gateway has news. Raises SetupError."""
    async with running_api(loaded.config) as running:
        if running is None:
            raise not_running()
        yield running


def not_running() -> SetupError:
    return SetupError(
        SETUP_NOT_RUNNING,
        "No gateway is running on this state folder",
        hint="Start one with: callgate. One with another state folder is found with --state-dir",
    )


@asynccontextmanager
async def running_api(config: Config) -> AsyncGenerator[ApiClient | None]:
    """Its configuration may be another than ours: the record is the same."""
    running = await asyncio.to_thread(find_running, state_folder(config))
    if running is None:
        yield None
        return
    tokens = config.server.tokens
    token = tokens[0].token.get_secret_value() if tokens else own_token() if config.principals else None
    client = HttpClient()
    try:
        yield ApiClient(HttpApiTransport(client, running.url, token))
    finally:
        await client.close()


class _Nobody:
    """No server is behind files, and none can be called."""

    catalog_version = 0

    def health(self) -> list[Health]:
        return []

    async def tools(self) -> Sequence[Offer]:
        return ()

    def lacking(self, server: str, tool: str) -> list[str]:
        return []

    async def find_tools(self, query: str, limit: int) -> Sequence[Offer]:
        return ()

    async def call(self, call: ToolCall) -> CalledTool:
        raise not_running()

    async def ask(self, question: ServerQuestion) -> CalledTool:
        raise not_running()
