"""The gateway's API as our own commands ask it: over HTTP from the one that runs, else in this process.

Either way it is the same API with the same answers. Counterpart: `cli.commands.record_commands`.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol, cast
from urllib.parse import quote, urlencode

import msgspec

from callgate.http_client.address import gateway_address, operator_headers, request_line
from callgate.http_client.client import HttpClient
from callgate.http_client.exchange import HttpExchange, RawHeaders
from callgate.model.error_codes import ALL, REFUSED_UNAUTHENTICATED, UPSTREAM_FAILED
from callgate.model.errors import (
    CallerError,
    CallgateError,
    RefusedError,
    SetupError,
    SourceError,
    UpstreamError,
)
from callgate.model.identity import LOCAL
from callgate.ports.caller import CLI_PROGRAM
from callgate.ports.http_app import HttpApp, Message, Scope

_Json = dict[str, Any]
_FAMILIES: dict[str, type[CallgateError]] = {
    cls.family: cls for cls in (CallerError, RefusedError, UpstreamError, SourceError, SetupError)
}
# Chunks that are read but not taken yet: then the socket waits, and with it the gateway.
_MAX_WAITING = 64
# Nobody writes headers at a terminal: the token comes from the configuration.
_HINT_AT_TERMINAL = (
    "The running gateway needs a token, and this command sends the first of [server] tokens: name the file "
    "that the gateway was started with, as in --config callgate.toml"
)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    method: str
    target: str
    body: bytes | None = None


class ApiTransport(Protocol):
    """What carries a request: the status comes first, then the body in pieces."""

    def send(self, request: ApiRequest) -> AsyncGenerator[int | bytes]: ...


class ApiClient:
    def __init__(self, transport: ApiTransport) -> None:
        self._transport = transport

    async def get(self, *path: str, **query: Any) -> _Json:
        return await self._json(ApiRequest("GET", _target(path, query)))

    async def post(self, *path: str, body: Mapping[str, Any]) -> _Json:
        return await self._json(ApiRequest("POST", _target(path, {}), msgspec.json.encode(body)))

    async def stream(self, *path: str, **query: Any) -> AsyncGenerator[bytes]:
        """The body in pieces. Raises what the gateway answered when it is no success."""
        async with aclosing(self._transport.send(ApiRequest("GET", _target(path, query)))) as pieces:
            status = await anext(pieces)
            if status != 200:
                raise _error(b"".join([cast(bytes, piece) async for piece in pieces]))
            async for piece in pieces:
                yield cast(bytes, piece)

    async def _json(self, request: ApiRequest) -> _Json:
        async with aclosing(self._transport.send(request)) as pieces:
            status = await anext(pieces)
            body = b"".join([cast(bytes, piece) async for piece in pieces])
        if status != 200:
            raise _error(body)
        return msgspec.json.decode(body, type=_Json)


class HttpApiTransport:
    """To the gateway that runs."""

    def __init__(self, client: HttpClient, url: str, token: str | None) -> None:
        self._client = client
        self._url = url
        self._headers = [("x-callgate-client-id", CLI_PROGRAM)]
        if token is not None:
            self._headers.append(("authorization", f"Bearer {token}"))

    async def send(self, request: ApiRequest) -> AsyncGenerator[int | bytes]:
        address = gateway_address(self._url, request.target)
        head = request_line(request.method, address) + operator_headers(address, self._headers)
        body = request.body or b""
        if request.body is not None:
            head += b"content-type: application/json\r\ncontent-length: %d\r\n" % len(body)
        answer = _Streamed(head + b"\r\n" + body)
        self._client.pool_for(address.origin).send(answer)
        try:
            while (piece := await answer.next()) is not None:
                yield piece
        finally:
            answer.cancel()


class _Streamed(HttpExchange):
    __slots__ = ("_pieces",)

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self._pieces: asyncio.Queue[int | bytes | UpstreamError | None] = asyncio.Queue()

    async def next(self) -> int | bytes | None:
        piece = await self._pieces.get()
        if self._pieces.qsize() < _MAX_WAITING:
            self.resume()
        if isinstance(piece, UpstreamError):
            raise piece
        return piece

    def on_head(self, status: int, headers: RawHeaders) -> None:
        self._pieces.put_nowait(status)

    def on_data(self, data: bytes) -> None:
        self._pieces.put_nowait(data)
        if self._pieces.qsize() >= _MAX_WAITING:
            self.pause()

    def on_end(self) -> None:
        self._pieces.put_nowait(None)

    def on_failure(self, error: UpstreamError) -> None:
        self._pieces.put_nowait(error)


class InProcessApiTransport:
    """To an API that no listener serves."""

    def __init__(self, app: HttpApp) -> None:
        self._app = app

    async def send(self, request: ApiRequest) -> AsyncGenerator[int | bytes]:
        pieces: asyncio.Queue[int | bytes | None] = asyncio.Queue(_MAX_WAITING)
        running = asyncio.create_task(self._run(request, pieces))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            await running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _run(self, request: ApiRequest, pieces: asyncio.Queue[int | bytes | None]) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": request.body or b"", "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                await pieces.put(message["status"])
            elif message.get("body"):
                await pieces.put(message["body"])

        try:
            await self._app(_scope(request), receive, send)
        finally:
            await pieces.put(None)


def _scope(request: ApiRequest) -> Scope:
    path, _, query = request.target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"content-type", b"application/json"), (b"x-callgate-client-id", CLI_PROGRAM.encode())],
        "client": None,
        "server": None,
        "state": {"principal": LOCAL},
    }


def _target(path: tuple[str, ...], query: Mapping[str, Any]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    spelled = "/".join(quote(part, safe="") for part in path)
    return f"/api/v1/{spelled}" + (f"?{urlencode(given)}" if given else "")


def _error(body: bytes) -> CallgateError:
    """The gateway's problem as the error it was there."""
    try:
        problem = msgspec.json.decode(body, type=_Json)
    except msgspec.DecodeError:
        problem = {}
    code = ALL.get(problem.get("code", ""))
    detail = str(problem.get("detail") or "The gateway answered with an error")
    if code is None or code.family not in _FAMILIES:
        return UpstreamError(UPSTREAM_FAILED, detail)
    hint = _HINT_AT_TERMINAL if code is REFUSED_UNAUTHENTICATED else str(problem.get("hint", ""))
    return _FAMILIES[code.family](code, detail, hint=hint)
