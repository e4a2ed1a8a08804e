"""The least that a gateway in Python can do: reads a message, passes it on, gives the answer back.

A target of `scripts/bench gateway`, so that one run shows what Python and its sockets cost by themselves. It
has no sessions, records nothing, refuses nothing and recovers from nothing.

    _sketch.py PORT URL             in front of an HTTP server
    _sketch.py PORT -- COMMAND …    in front of a process
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
import uvloop

Answer = Callable[[bytes], None]
_END = b"\r\n\r\n"
_INITIALIZED = msgspec.json.encode(
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "sketch", "version": "0"},
    }
)


class Message(msgspec.Struct):
    method: str = ""
    id: msgspec.Raw = msgspec.Raw(b"null")
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"{}")


_read = msgspec.json.Decoder(Message).decode


def body_of(data: bytes) -> bytes | None:
    """The body of an HTTP message with a length; None: it is not whole."""
    end = data.find(_END)
    if end < 0:
        return None
    head = data[:end].lower()
    begin = head.find(b"content-length:")
    length = int(head[begin + 15 :].split(b"\r\n", 1)[0]) if begin >= 0 else 0
    body = data[end + len(_END) :]
    return body if len(body) >= length else None


class HttpServer(asyncio.Protocol):
    """One connection to the server behind; answers come in the order of their requests."""

    def __init__(self, pool: "HttpPool") -> None:
        self._pool = pool
        self._data = b""
        self.answer: Answer | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        body = body_of(self._data)
        if body is not None and self.answer is not None:
            answer, self.answer, self._data = self.answer, None, b""
            self._pool.idle.append(self)
            answer(bytes(_read(body).result))


class HttpPool:
    def __init__(self, url: str) -> None:
        at = urlsplit(url)
        self._host, self._port = at.hostname or "", at.port or 80
        self.idle: list[HttpServer] = []
        self._head = (
            f"POST {at.path} HTTP/1.1\r\nhost: {at.netloc}\r\ncontent-type: application/json\r\n"
            "accept: application/json, text/event-stream\r\nmcp-session-id: echo-session\r\ncontent-length: "
        ).encode()

    def send(self, frame: bytes, answer: Answer) -> None:
        payload = b"%b%d\r\n\r\n%b" % (self._head, len(frame), frame)
        if not self.idle:
            asyncio.get_running_loop().create_task(self._open(payload, answer))
            return
        connection = self.idle.pop()
        connection.answer = answer
        connection.transport.write(payload)

    async def _open(self, payload: bytes, answer: Answer) -> None:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: HttpServer(self), self._host, self._port)
        connection.answer = answer
        connection.transport.write(payload)


class Process(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self._answers: dict[bytes, Answer] = {}
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._stdin: Any = cast(asyncio.SubprocessTransport, transport).get_pipe_transport(0)

    def send(self, frame: bytes, answer: Answer) -> None:
        self._answers[bytes(_read(frame).id)] = answer
        self._stdin.write(frame + b"\n")

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            message = _read(line)
            self._answers.pop(bytes(message.id))(bytes(message.result))


class Client(asyncio.Protocol):
    """One connection of a client: one request at a time."""

    numbers = iter(range(1, sys.maxsize))

    def __init__(self, server: HttpPool | Process) -> None:
        self._server = server
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        body = body_of(self._data)
        if body is None:
            return
        self._data = b""
        message = _read(body) if body else Message()
        rpc_id = bytes(message.id)
        if message.method == "tools/call":
            params = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%b}'
            frame = params % (next(self.numbers), bytes(message.params))
            self._server.send(frame, lambda result: self._answer(rpc_id, result))
        elif message.method == "initialize":
            self._answer(rpc_id, _INITIALIZED)
        elif message.method == "tools/list":
            self._answer(rpc_id, b'{"tools":[]}')
        else:
            self._transport.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    def _answer(self, rpc_id: bytes, result: bytes) -> None:
        body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (rpc_id, result)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: one\r\ncontent-length: "
        self._transport.write(b"%b%d\r\n\r\n%b" % (head, len(body), body))


async def main(port: int, behind: list[str]) -> None:
    loop = asyncio.get_running_loop()
    server: HttpPool | Process
    if behind[0] == "--":
        _, server = await loop.subprocess_exec(Process, *behind[1:], stderr=None)
    else:
        server = HttpPool(behind[0])
    await (await loop.create_server(lambda: Client(server), "127.0.0.1", port)).serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), sys.argv[2:]))
