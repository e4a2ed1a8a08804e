"""Sockets that listen: why one cannot, and how one stops without cutting anybody off."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

from callgate.model.error_codes import SETUP_PORT
from callgate.model.errors import SetupError

BACKLOG = 1024


async def stop_accepting(server: asyncio.Server, protocol: Callable[[], asyncio.Protocol]) -> None:
    """Closes the server. Whoever is connected already is served: a balancer does not repeat a request that it
    has sent.

    To close it at once would reset connections that the system has accepted for us, and drop those that
    asyncio has just taken from it.
    """
    loop = asyncio.get_running_loop()
    with ExitStack() as open_until_closed:
        listening = [
            open_until_closed.enter_context(socket.socket(fileno=os.dup(sock.fileno())))
            for sock in server.sockets
        ]
        for sock in server.sockets:
            loop.remove_reader(sock.fileno())
        await asyncio.sleep(0)  # what asyncio has taken gets its transport
        accepted = [connection for sock in listening for connection in _accept_all(sock)]
        server.close()
    for connection in accepted:
        await loop.connect_accepted_socket(protocol, connection)


def _accept_all(listening: socket.socket) -> Iterator[socket.socket]:
    with suppress(OSError):  # there is none any more, or no descriptor for it
        while True:
            connection, _ = listening.accept()
            connection.setblocking(False)
            yield connection


def cannot_listen(host: str, port: int, problem: OSError | OverflowError) -> SetupError:
    return SetupError(
        SETUP_PORT,
        f"Cannot listen on {host}:{port}: {_plain_reason(problem)}",
        hint="Stop what listens there, or choose another port with --port (0 takes any free one)",
    )


def _plain_reason(problem: OSError | OverflowError) -> str:
    """The system's own words, which asyncio wraps into a sentence; a name that is not found has none."""
    if isinstance(problem, OSError) and problem.errno and not isinstance(problem, socket.gaierror):
        return os.strerror(problem.errno).lower()
    return getattr(problem, "strerror", None) or str(problem)
