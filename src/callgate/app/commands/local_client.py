"""The gateway as our own commands ask it: the running one, or one made for the occasion in this process."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from callgate.app.stdio import join
from callgate.client import Server, connect
from callgate.config.load import Loaded
from callgate.edge.local_socket import SocketStream
from callgate.edge.stream_client import StreamClient
from callgate.ports.answerer import Answerer
from callgate.ports.caller import CLI_PROGRAM
from callgate.ports.event_sink import EventSink


@asynccontextmanager
async def local_client(loaded: Loaded) -> AsyncGenerator[Server]:
    stream = await asyncio.to_thread(join, loaded)
    if stream is not None:
        async with connect(stream, client_name=CLI_PROGRAM) as server:
            yield server
        return
    from callgate.app.build import build_gateway  # late, as in `record_access`

    ours, theirs = socket.socketpair()
    gateway = await build_gateway(loaded.config, keeps_store=False)
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
        await StreamClient(answerer, SocketStream(reader, writer), sink).run()
    finally:
        writer.close()
