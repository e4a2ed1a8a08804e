"""`callgate serve`: from a configuration to a listening gateway, until a signal ends it."""

import asyncio
import errno
import gc
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from callgate.app.build import Gateway, build_gateway
from callgate.app.commands.api_client import ApiClient, HttpApiTransport
from callgate.app.edits.config_edits import FileEdits
from callgate.app.edits.probe import UpstreamProber
from callgate.app.reload import Reloader, reload_signals
from callgate.app.running import Running, announce, describe_self, find_running, withdraw
from callgate.app.serving.http_socket import HttpSocket, open_http_socket
from callgate.app.take_over import take_over
from callgate.app.telling.state_log import log_states
from callgate.app.telling.tool_cost import ToolCost
from callgate.config.load import Loaded
from callgate.config.paths import state_folder
from callgate.config.specs.config import Config
from callgate.config.specs.listen_address import ListenAddress
from callgate.http_client.client import HttpClient
from callgate.model.error_codes import REFUSED_HOST, REFUSED_UNAUTHENTICATED, SETUP_PORT
from callgate.model.errors import CallgateError, SetupError
from callgate.model.health import Health
from callgate.this_process import share_one_heap, trim_heap

# Nobody asked for the default port: when it is busy, one of the next will do.
_PORTS_TO_TRY = 20
# A gateway on this machine answers in milliseconds; what does not answer at all must not hold up the error.
_PATIENCE_S = 2.0
_THIS_MACHINE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - asked about, not listened on
_OTHER_PORT = "choose another port with --port (0 takes any free one)"


@dataclass(frozen=True, slots=True)
class Serving:
    """What a person wants to know once we listen."""

    loaded: Loaded
    url: str
    moved_from_port: int | None  # the default port, when it was busy
    other: Running | None  # a gateway that was already running on this state folder
    health: list[Health]


class ProcessSignals:
    """SIGTERM and SIGINT: the first asks us to stop, the second ends the process at once. SIGHUP: the
    configuration is to be read again."""

    def __init__(self, *, heeds_second: bool = True) -> None:
        """`heeds_second`: not in a worker, to which two may come for one (systemd signals every process of a
        unit): its supervisor kills it."""
        self._heeds_second = heeds_second
        self._first: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._take, number)
        self.reload_asked = asyncio.Event()
        for number in reload_signals():
            asyncio.get_running_loop().add_signal_handler(number, self.reload_asked.set)

    async def first(self) -> int:
        return await asyncio.shield(self._first)

    def take_end(self, lifeline: int) -> None:
        """A worker's supervisor is gone: we stop at once, since nobody would start another in our place."""
        asyncio.get_running_loop().remove_reader(lifeline)
        if not self._first.done():
            self._first.set_result(signal.SIGINT)

    def _take(self, number: int) -> None:
        if not self._first.done():
            self._first.set_result(number)
            return
        if not self._heeds_second:
            return
        # As if nobody had a handler. Children end with us (upstreams/child/warden.py), and calls that were
        # answered are journalled.
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


async def serve(loaded: Loaded, on_ready: Callable[[Serving], None]) -> int:
    """Returns the signal that asked us to stop, SIGINT or SIGTERM. Raises SetupError."""
    config = loaded.config
    signals = ProcessSignals()
    share_one_heap()
    gateway = await build_gateway(loaded, keeps_store=True, is_replica=True)
    ours: Running | None = None
    telling: list[asyncio.Task[None]] = []
    http_socket: HttpSocket | None = None
    try:
        http_socket = open_http_socket(config)
        listen = config.server.listen
        if http_socket is None:
            listen = ListenAddress(listen.host, await _listen(gateway, config))
        else:
            await gateway.listener.start_on([http_socket.sock])
        if gateway.replicas is not None:
            await gateway.replicas.start(config, gateway.listener)
        url = listen.url
        folder = state_folder(config)
        other = find_running(folder)
        if other is None:
            ours = describe_self(loaded, url, await gateway.local_socket.start())
            announce(folder, ours)
        moved = moved_from_port(config, listen.port)
        on_ready(Serving(loaded, url, moved, other, gateway.relay.health()))
        gateway.load_parsers()
        calm_collector()
        telling = tell_states(gateway)
        telling.append(follow_settings(gateway, loaded, folder, ours, signals.reload_asked))
        stopped_by = await signals.first()
        if stopped_by == signal.SIGTERM:  # nobody waits at a terminal: balancers get time to notice
            gateway.leave()
            await asyncio.sleep(gateway.served.config.drain_s)
        return stopped_by
    finally:
        for task in telling:
            task.cancel()
        if ours is not None:
            withdraw(state_folder(config), ours)
        await gateway.close()
        if http_socket is not None:
            http_socket.remove()
        gc.unfreeze()  # else the interpreter cannot take modules apart, and DuckDB complains at the very end


def follow_settings(
    gateway: Gateway, loaded: Loaded, folder: Path, ours: Running | None, asked: asyncio.Event
) -> asyncio.Task[None]:
    """Takes changes of the file over while we serve. `ours`: what we announced. `asked`: to look at once."""

    async def take(config: Config) -> None:
        await take_over(gateway, config)
        shared = gateway.replicas or gateway.workers
        if shared is not None:
            shared.runs(config)
        if ours is not None:
            # A fingerprint of thousands of servers takes its time.
            announce(folder, await asyncio.to_thread(ours.with_config, config, reloader.files))

    async def found(loaded: Loaded) -> None:
        await gateway.trust.move_lock(loaded.lock_path)

    reloader = Reloader(loaded, take, found)
    gateway.api.settings_api.settings = reloader
    place = loaded.origin.parent if loaded.origin is not None else Path.cwd()
    edits = FileEdits(loaded, reloader)
    gateway.api.config_api.edits = edits
    gateway.api.probe_api.prober = UpstreamProber(place, edits.names)
    return asyncio.create_task(_watch(reloader, asked))


async def _watch(reloader: Reloader, asked: asyncio.Event) -> None:
    try:
        await reloader.watch(asked)
    finally:
        await reloader.close()


def tell_states(gateway: Gateway) -> list[asyncio.Task[None]]:
    """What the log says of the servers while we run."""
    telling = [asyncio.create_task(log_states(gateway.relay.health, gateway.served.redact))]
    if not gateway.served.config.server.tool_search:
        cost = ToolCost(gateway.relay.health, gateway.api.cost_of_tools)
        telling.append(asyncio.create_task(cost.tell()))
    return telling


def calm_collector() -> None:
    """What was imported and built stays: looking through it again and again took a tenth of the CPU.

    Requests leave next to no cycles behind, so the rest is looked at after 10,000 new objects, not 700.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    trim_heap()


def moved_from_port(config: Config, port: int) -> int | None:
    """The port that was asked for, if it was another."""
    asked = config.server.listen.port
    return asked if asked not in (port, 0) else None


def ports_to_try(config: Config) -> list[int]:
    listen = config.server.listen
    ports = [listen.port]
    if config.server.listen_is_default:
        ports += range(listen.port + 1, listen.port + _PORTS_TO_TRY)
    return ports


async def _listen(gateway: Gateway, config: Config) -> int:
    listen, ports = config.server.listen, ports_to_try(config)
    for port in ports[:-1]:
        try:
            return await gateway.listener.start(listen.host, port)
        except SetupError:
            continue
    try:
        return await gateway.listener.start(listen.host, ports[-1])
    except SetupError as error:
        raise await explained(error, ListenAddress(listen.host, ports[-1]), state_folder(config)) from error


async def explained(error: SetupError, listen: ListenAddress, state_folder: Path) -> SetupError:
    """The error of a listener that could not start, with more to say when Callgate has the port."""
    if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
        return error
    running = await asyncio.to_thread(find_running, state_folder)
    if running is not None and urlsplit(running.url).port == listen.port:
        return SetupError(
            SETUP_PORT,
            f"Callgate already runs at {running.url} (pid {running.pid}, state folder {state_folder})",
            hint=f"Use that one, stop it with: kill {running.pid}, or {_OTHER_PORT}",
        )
    url = f"http://{ListenAddress(_THIS_MACHINE.get(listen.host, listen.host), listen.port)}"
    if await _is_callgate(url):
        return SetupError(
            SETUP_PORT,
            f"Callgate already runs at {url}, on another state folder than {state_folder}",
            hint=f"Use that one, stop it where it was started, or {_OTHER_PORT}",
        )
    return error


async def _is_callgate(url: str) -> bool:
    client = HttpClient()
    try:
        about = await asyncio.wait_for(
            ApiClient(HttpApiTransport(client, url, None)).get("about"), _PATIENCE_S
        )
    except CallgateError as error:
        return error.code in (REFUSED_UNAUTHENTICATED, REFUSED_HOST)  # only a gate of ours answers so
    except (TimeoutError, ValueError):  # it says nothing, or something that is not JSON
        return False
    finally:
        await client.close()
    return about.get("name") == "callgate"
