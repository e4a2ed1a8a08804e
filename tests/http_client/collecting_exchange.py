"""An exchange that keeps what it is told and lets a test wait for its end."""

import asyncio

from callgate.http_client.exchange import HttpExchange, RawHeaders
from callgate.model.errors import UpstreamError


def request(method: str = "POST", body: bytes = b"", target: str = "/mcp") -> bytes:
    return b"%b %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (
        method.encode(), target.encode(), len(body), body,
    )  # fmt: skip


class CollectingExchange(HttpExchange):
    def __init__(self, payload: bytes, *, repeatable: bool = False, is_urgent: bool = False) -> None:
        super().__init__(payload, repeatable=repeatable, is_urgent=is_urgent)
        self.status = 0
        self.headers: RawHeaders = []
        self.pieces: list[bytes] = []
        self.heard = asyncio.Event()  # some of the body
        self._end: asyncio.Future[UpstreamError | None] = asyncio.get_running_loop().create_future()

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def has_ended(self) -> bool:
        return self._end.done()

    def on_head(self, status: int, headers: RawHeaders) -> None:
        self.status, self.headers = status, headers

    def on_data(self, data: bytes) -> None:
        self.pieces.append(data)
        self.heard.set()

    def on_end(self) -> None:
        self._end.set_result(None)

    def on_failure(self, error: UpstreamError) -> None:
        self._end.set_result(error)

    async def end(self) -> "CollectingExchange":
        async with asyncio.timeout(20):
            error = await self._end
        if error is not None:
            raise error
        return self
