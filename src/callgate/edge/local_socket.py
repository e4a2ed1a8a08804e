"""The door for processes of the same user on this machine: a Unix socket that speaks like stdio.

`callgate stdio` joins a running gateway through it, so that all clients share one catalog and one record.
The folder is private to the user (0700), which is all the authentication a local pipe has: who joins is the
person at this machine. In its first line a process says in which folder it was started, and its token, if it
has one: then it is that principal, for as long as the token is valid. The line is answered, and all that
follows is MCP.
"""

import asyncio
import shutil
import socket
import tempfile
from pathlib import Path

import msgspec

from callgate.edge.gate import Gate
from callgate.edge.stream_client import StreamClient
from callgate.model.error_codes import REFUSED_UNAUTHENTICATED
from callgate.model.errors import CallgateError, RefusedError, told_by_another
from callgate.model.identity import LOCAL, Principal
from callgate.ports.answerer import Answerer
from callgate.ports.event_sink import EventSink

_CHUNK_BYTES = 64 * 1024
# No message of MCP begins so: JSON-RPC has no such member.
_JOIN = b'{"callgate_join":'
_MAX_JOIN_BYTES = 8 * 1024


class JoinLine(msgspec.Struct, forbid_unknown_fields=True):
    """The first line of a process that joins."""

    callgate_join: str  # its token; empty: it has none
    folder: str | None = None


class JoinedLine(msgspec.Struct, omit_defaults=True):
    """Its answer: who it is, or why it may not come in."""

    principal: str = ""
    code: str = ""
    message: str = ""


def introduce(stream: socket.socket, token: str, folder: str | None) -> None:
    """For the process that joins. Raises RefusedError."""
    stream.sendall(msgspec.json.encode(JoinLine(token, folder)) + b"\n")
    line = b""
    while not line.endswith(b"\n"):
        piece = stream.recv(1)  # no byte more than the line
        if not piece or len(line) > _MAX_JOIN_BYTES:
            raise RefusedError(REFUSED_UNAUTHENTICATED, "The gateway hung up when it was given a token")
        line += piece
    answer = msgspec.json.decode(line, type=JoinedLine)
    if not answer.principal:
        hint = "Set CALLGATE_TOKEN to a token of this gateway, or unset it"
        raise told_by_another(answer.code, answer.message, hint)


class SocketStream:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, begins_with: bytes = b""
    ) -> None:
        """`begins_with`: what was read of it already."""
        self._reader = reader
        self._writer = writer
        self._begin = begins_with

    async def read(self) -> bytes:
        if self._begin:
            begin, self._begin = self._begin, b""
            return begin
        return await self._reader.read(_CHUNK_BYTES)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


class LocalSocket:
    def __init__(self, answerer: Answerer, sink: EventSink, gate: Gate) -> None:
        self._answerer = answerer
        self._sink = sink
        self._gate = gate
        gate.on_use.append(self._turn_out)
        self._bearers: dict[asyncio.Task[None], tuple[str, Principal]] = {}  # of those with a token
        self._folder: Path | None = None
        self._path: Path | None = None
        self._server: asyncio.Server | None = None
        self._clients: dict[asyncio.Task[None], StreamClient | None] = {}  # None: it says who it is

    async def start(self, path: Path | None = None) -> Path:
        """Listens; returns the path. Not in the state folder: a socket's path is 107 bytes at most. `path`:
        in a private folder of somebody else's."""
        if path is None:
            self._folder = Path(tempfile.mkdtemp(prefix="callgate-"))  # mode 0700
            path = self._folder / "gateway.sock"
        self._path = path
        self._server = await asyncio.start_unix_server(self._serve, str(path))
        return path

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients[task] = None
        try:
            principal, folder, begin = await self._greet(reader, writer, task)
            stream = SocketStream(reader, writer, begins_with=begin)
            client = self._clients[task] = StreamClient(self._answerer, stream, self._sink, principal, folder)
            await client.run()
        except (RefusedError, OSError):
            pass  # it was told, or is gone
        except asyncio.CancelledError:
            pass  # we are closing; the client sees the end of the stream
        finally:
            del self._clients[task]
            self._bearers.pop(task, None)
            writer.close()

    def _turn_out(self) -> None:
        """Those whose token is not valid any more, or gives them another role."""
        for task, (token, principal) in self._bearers.items():
            if not self._gate.still_bears(token, principal):
                task.cancel()

    async def _greet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> tuple[Principal, str | None, bytes]:
        """Who joins, in which folder, and what was read behind that. Raises RefusedError when it was told."""
        begin = await reader.read(_CHUNK_BYTES)
        if not begin.startswith(_JOIN):
            return LOCAL, None, begin
        while (
            b"\n" not in begin and len(begin) <= _MAX_JOIN_BYTES and (more := await reader.read(_CHUNK_BYTES))
        ):
            begin += more
        line, _, rest = begin.partition(b"\n")
        try:
            said = msgspec.json.decode(line, type=JoinLine)
            principal = self._gate.bearer(token) if (token := said.callgate_join) else LOCAL
        except (msgspec.DecodeError, CallgateError) as error:
            text = "The first line of this client could not be read"
            refused = (
                error if isinstance(error, RefusedError) else RefusedError(REFUSED_UNAUTHENTICATED, text)
            )
            await _write(writer, JoinedLine(code=refused.code.code, message=refused.message))
            raise refused from None
        if token:
            self._bearers[task] = token, principal
        await _write(writer, JoinedLine(principal.name))
        return principal, said.folder, rest

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        clients = [client for client in self._clients.values() if client is not None]
        await asyncio.gather(*(client.finish() for client in clients))
        for task in list(self._clients):
            task.cancel()
        if self._clients:
            await asyncio.wait(list(self._clients))
        if self._server is not None:
            await self._server.wait_closed()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


async def _write(writer: asyncio.StreamWriter, answer: JoinedLine) -> None:
    writer.write(msgspec.json.encode(answer) + b"\n")
    await writer.drain()
