"""A small client for our own commands: asks a gateway over a local stream, in the modern era.

One question at a time. The public client, for any server and with time-outs, is another thing.
"""

import asyncio
import socket
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec

import callgate
from callgate.app.build import build_gateway
from callgate.app.stdio import join
from callgate.config.flags import Flags
from callgate.config.load import Loaded
from callgate.edge.local_socket import SocketStream
from callgate.edge.stream_client import StreamClient
from callgate.model.error_codes import UPSTREAM_UNAVAILABLE
from callgate.model.errors import UpstreamError
from callgate.model.reply import RpcFault
from callgate.ports.answerer import Answerer
from callgate.wire.json_rpc import Response, decode, encode_request
from callgate.wire.lines import LineSplitter
from callgate.wire.revisions import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_PROTOCOL_VERSION,
    MODERN_REVISIONS,
)

_META = {
    META_PROTOCOL_VERSION: MODERN_REVISIONS[0],
    META_CLIENT_INFO: {"name": "callgate-cli", "version": callgate.__version__},
    META_CLIENT_CAPABILITIES: {},
}


class GatewayFaultError(Exception):
    """The gateway answered with a JSON-RPC error."""

    def __init__(self, fault: RpcFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class LocalClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._lines = LineSplitter()
        self._frames: deque[bytes] = deque()
        self._last_id = 0

    async def ask(self, method: str, params: dict[str, Any]) -> bytes:
        """The raw result. Raises GatewayFaultError, or UpstreamError when the gateway is gone."""
        self._last_id += 1
        rpc_id = str(self._last_id).encode()
        body = msgspec.json.encode({**params, "_meta": _META})
        self._writer.write(encode_request(rpc_id, method, body) + b"\n")
        await self._writer.drain()
        while True:
            message = decode(await self._next_frame())
            if isinstance(message, Response) and message.rpc_id == rpc_id:
                break
        if message.error is not None:
            error = cast(dict[str, Any], msgspec.json.decode(message.error))
            raise GatewayFaultError(RpcFault(error["code"], error["message"], error.get("data")))
        return message.result or b"{}"

    async def _next_frame(self) -> bytes:
        while not self._frames:
            data = await self._reader.read(64 * 1024)
            if not data:
                raise UpstreamError(UPSTREAM_UNAVAILABLE, "The gateway closed the connection")
            self._frames.extend(self._lines.feed(data))
        return self._frames.popleft()


@asynccontextmanager
async def local_client(loaded: Loaded, flags: Flags) -> AsyncGenerator[LocalClient]:
    """A client of the running gateway, or of one made for the occasion in this process."""
    stream = await asyncio.to_thread(join, loaded, flags)
    if stream is not None:
        async with _connected(stream) as client:
            yield client
        return
    ours, theirs = socket.socketpair()
    gateway = await build_gateway(loaded.config, keeps_store=False)
    serving = asyncio.create_task(_serve(gateway.relay, theirs))
    try:
        async with _connected(ours) as client:
            yield client
    finally:
        await serving  # it ends when our side of the pair is closed
        await gateway.close()


@asynccontextmanager
async def _connected(stream: socket.socket) -> AsyncGenerator[LocalClient]:
    reader, writer = await asyncio.open_unix_connection(sock=stream)
    try:
        yield LocalClient(reader, writer)
    finally:
        writer.close()


async def _serve(relay: Answerer, stream: socket.socket) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=stream)
    try:
        await StreamClient(relay, SocketStream(reader, writer)).run()
    finally:
        writer.close()
