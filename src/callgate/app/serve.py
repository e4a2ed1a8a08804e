"""`callgate serve`: from a configuration to a listening gateway, until a signal ends it."""

import asyncio
import gc
import signal
from collections.abc import Callable
from dataclasses import dataclass

from callgate.app.build import Gateway, build_gateway, redact_all
from callgate.app.busy_port import explained
from callgate.app.running import Running, announce, describe_self, find_running, withdraw
from callgate.app.state_log import StateLog
from callgate.app.tool_cost import ToolCost
from callgate.config.load import Loaded
from callgate.config.paths import state_folder
from callgate.config.specs.config import Config
from callgate.config.specs.listen_address import ListenAddress
from callgate.model.errors import SetupError
from callgate.model.health import Health

# Nobody asked for the default port: when it is busy, one of the next will do.
_PORTS_TO_TRY = 20


@dataclass(frozen=True, slots=True)
class Serving:
    """What a person wants to know once we listen."""

    loaded: Loaded
    url: str
    moved_from_port: int | None  # the default port, when it was busy
    other: Running | None  # a gateway that was already running on this state folder
    health: list[Health]


async def serve(loaded: Loaded, on_ready: Callable[[Serving], None]) -> int:
    """Returns the signal that asked us to stop, SIGINT or SIGTERM. Raises SetupError."""
    config = loaded.config
    stopped_by: list[int] = []
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop_by(number: int) -> None:
        stopped_by.append(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop_by, number)
    gateway = await build_gateway(config, keeps_store=True)
    ours: Running | None = None
    telling: list[asyncio.Task[None]] = []
    try:
        listen = config.server.listen
        port = await _listen(gateway, config)
        url = f"http://{ListenAddress(listen.host, port)}"
        folder = state_folder(config)
        other = find_running(folder)
        if other is None:
            ours = describe_self(config, url, await gateway.local_socket.start())
            announce(folder, ours)
        moved = listen.port if port != listen.port and listen.port != 0 else None
        on_ready(Serving(loaded, url, moved, other, gateway.relay.health()))
        gateway.load_parsers()
        _calm_collector()
        telling.append(asyncio.create_task(StateLog(gateway.relay.health, redact_all(config)).run()))
        if not config.server.tool_search:
            cost = ToolCost(gateway.relay.health, gateway.api.cost_of_tools)
            telling.append(asyncio.create_task(cost.tell()))
        await stop.wait()
        return stopped_by[0]
    finally:
        for task in telling:
            task.cancel()
        if ours is not None:
            withdraw(state_folder(config), ours)
        await gateway.close()
        gc.unfreeze()  # else the interpreter cannot take modules apart, and DuckDB complains at the very end


def _calm_collector() -> None:
    """What was imported and built stays: looking through it again and again took a tenth of the CPU.

    Requests leave next to no cycles behind, so the rest is looked at after 10,000 new objects, not 700.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


async def _listen(gateway: Gateway, config: Config) -> int:
    listen = config.server.listen
    ports = [listen.port]
    if config.server.listen_is_default:
        ports += range(listen.port + 1, listen.port + _PORTS_TO_TRY)
    for port in ports[:-1]:
        try:
            return await gateway.listener.start(listen.host, port)
        except SetupError:
            continue
    try:
        return await gateway.listener.start(listen.host, ports[-1])
    except SetupError as error:
        raise await explained(error, ListenAddress(listen.host, ports[-1]), state_folder(config)) from error
