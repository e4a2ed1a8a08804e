"""`callgate stdio`: join the gateway that runs on this state folder, else be one for this client alone."""

import os
import socket
import threading
from contextlib import suppress

from callgate.app.build import build_gateway
from callgate.app.running import find_running
from callgate.config.flags import Flags
from callgate.config.load import Loaded
from callgate.config.paths import state_folder
from callgate.edge.stdio import StdioStream
from callgate.edge.stream_client import StreamClient
from callgate.model.error_codes import SETUP_NOT_RUNNING
from callgate.model.errors import SetupError

_CHUNK_BYTES = 64 * 1024


def join(loaded: Loaded, flags: Flags) -> socket.socket | None:
    """A connection to the gateway that runs on this state folder, if there is one.

    Whoever names a configuration wants that one: a gateway that runs another is not joined.
    """
    running = find_running(state_folder(loaded.config))
    named = flags.config is not None or "CALLGATE_CONFIG" in os.environ
    if running is None or (named and not running.runs(loaded.config)):
        return None
    return running.connect()


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
            "The gateway ended while this client was joined to it",
            hint="Start it again, or let the client restart `callgate stdio`, which then serves by itself",
        )


async def serve_alone(loaded: Loaded, in_fd: int, out_fd: int) -> None:
    gateway = await build_gateway(loaded.config, keeps_store=False)
    try:
        await StreamClient(gateway.relay, StdioStream(in_fd, out_fd)).run()
    finally:
        await gateway.close()
