"""Join the gateway that runs on this state folder, else be one alone.

For the client of `callgate stdio`, and for our own commands that make a call.
"""

import asyncio
import logging
import os
import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from callgate.app.running import find_running, own_token
from callgate.app.telling.state_log import log_states
from callgate.config.load import Loaded
from callgate.config.paths import state_folder
from callgate.edge.local_socket import SocketStream, introduce
from callgate.edge.stdio import StdioStream
from callgate.edge.stream_client import StreamClient
from callgate.model.error_codes import SETUP_NOT_RUNNING
from callgate.model.errors import SetupError
from callgate.model.identity import LOCAL
from callgate.ports.answerer import Answerer
from callgate.ports.event_sink import EventSink

if TYPE_CHECKING:
    from callgate.client import Server

_log = logging.getLogger(__name__)

_CHUNK_BYTES = 64 * 1024
# Servers start with the client, and many clients list once, at once; some give up after five seconds.
_LIST_PATIENCE_S = 4.5


def join(loaded: Loaded) -> socket.socket | None:
    """A connection to the gateway that runs on this state folder, if there is one.

    Whoever has a configuration (a file, a source in the environment) wants that one: a gateway that runs
    another is not joined. Without any, the gateway's will do.
    """
    running = find_running(state_folder(loaded.config))
    if running is None:
        return None
    has_own = loaded.origin is not None or not loaded.config.is_empty
    if has_own and not running.runs(loaded.config):
        _log.warning(
            "A gateway with another configuration runs on this state folder (pid %d, %s): not joining it. "
            "Give this one the same --config to join it, or another --state-dir to keep them apart",
            running.pid,
            running.url,
        )
        return None
    stream = running.connect()
    if stream is not None:
        introduce(stream, own_token() or "", _own_folder())
    return stream


def _own_folder() -> str | None:
    """Where this process was started, by its client."""
    try:
        return os.getcwd()  # noqa: PTH109 - the same, and Path.cwd() is slower
    except OSError:  # it was removed
        return None


def pump(gateway: socket.socket, in_fd: int, out_fd: int) -> None:
    """Bytes both ways until the gateway has nothing more to say. Needs no event loop and no imports."""
    client_left = threading.Event()

    def forward() -> None:
        with suppress(OSError):
            while data := os.read(in_fd, _CHUNK_BYTES):
                gateway.sendall(data)
        client_left.set()
        with suppress(OSError):
            gateway.shutdown(socket.SHUT_WR)

    # A daemon: it sits in read(2), which nothing but the client can end.
    threading.Thread(target=forward, name="stdin", daemon=True).start()
    try:
        while data := gateway.recv(_CHUNK_BYTES):
            view = memoryview(data)
            while view:
                view = view[os.write(out_fd, view) :]
    except BrokenPipeError:
        return  # the client is gone
    except ConnectionError:
        pass
    if not client_left.is_set():
        raise SetupError(
            SETUP_NOT_RUNNING,
            "The gateway ended while this client was connected to it, or its token is not valid any more",
            hint="Start it again, or let the client restart `callgate stdio`, which then works without it",
        )


async def serve_alone(loaded: Loaded, in_fd: int, out_fd: int) -> None:
    # Late: a process that joins a gateway needs none of it.
    from callgate.app.build import build_gateway

    gateway = await build_gateway(loaded, keeps_store=False, list_patience_s=_LIST_PATIENCE_S)
    token = own_token()
    telling = asyncio.create_task(log_states(gateway.relay.health, gateway.served.redact))
    try:
        principal = gateway.listener.gate.bearer(token) if token else LOCAL
        stream = StdioStream(in_fd, out_fd)
        await StreamClient(gateway.relay, stream, gateway.sink, principal, _own_folder()).run()
    finally:
        telling.cancel()
        await gateway.close()


@asynccontextmanager
async def local_client(loaded: Loaded) -> "AsyncGenerator[Server]":
    """The running gateway, or one made for the occasion in this process."""
    from callgate.client import connect
    from callgate.ports.caller import CLI_PROGRAM

    stream = await asyncio.to_thread(join, loaded)
    if stream is not None:
        async with connect(stream, client_name=CLI_PROGRAM) as server:
            yield server
        return
    from callgate.app.build import build_gateway

    ours, theirs = socket.socketpair()
    gateway = await build_gateway(loaded, keeps_store=False)
    serving = asyncio.create_task(_serve(gateway.relay, gateway.sink, theirs))
    try:
        async with connect(ours, client_name=CLI_PROGRAM) as server:
            yield server
    finally:
        await serving  # it ends when our side of the pair is closed
        await gateway.close()


async def _serve(answerer: Answerer, sink: EventSink, stream: socket.socket) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=stream)
    try:
        await StreamClient(answerer, SocketStream(reader, writer), sink, folder=_own_folder()).run()
    finally:
        writer.close()
