"""One request to an HTTP upstream and its answer, as callbacks.

Callbacks and not an async iterator, because this is the gateway's hot path: a small answer costs three plain
calls and no task. Knows HTTP; must not know MCP, pools or sockets.

Rules
1. `on_head` once, then `on_data` for each piece of the body, then `on_end`; or `on_failure`, at any point and
   as the last call. After `cancel` nothing is called any more.
2. No callback runs inside `send`: the caller has stored the exchange before it hears of it.
3. `repeatable` says that running the request twice does no harm. Only such a request is sent again when a
   kept-alive connection turns out to be dead (pool.py, rule 3).
"""

from typing import Any, Protocol

from callgate.model.errors import UpstreamError
from callgate.wire.framing.repeated_head import RepeatedHead

# As they came, names in lower case, duplicates kept.
RawHeaders = list[tuple[bytes, bytes]]

SSE_TYPE = b"text/event-stream"
JSON_TYPE = b"application/json"


class Place(Protocol):
    """Where an exchange is at the moment: waiting in a pool, or on a connection."""

    def withdraw(self, exchange: "HttpExchange") -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class KnownAnswer:
    """What the head of an answer says that came before on the same connection."""

    __slots__ = ("head", "headers", "is_plain_json", "status")

    def __init__(self, head: RepeatedHead, status: int, headers: RawHeaders) -> None:
        self.head = head
        self.status = status
        self.headers = headers
        is_plain = header_of(headers, b"content-encoding") is None
        self.is_plain_json = status == 200 and is_plain and media_type_of(headers) == JSON_TYPE


class HttpExchange:
    was_repeated = False
    place: Place | None = None

    def __init__(self, payload: bytes, *, repeatable: bool = False, is_urgent: bool = False) -> None:
        self.payload = payload  # head and body, ready to be written
        self.repeatable = repeatable
        # Others may be waiting for this one: it is not held back by the limit of connections.
        self.is_urgent = is_urgent

    def on_head(self, status: int, headers: RawHeaders) -> None:
        raise NotImplementedError

    def on_data(self, data: bytes) -> None:
        raise NotImplementedError

    def on_end(self) -> None:
        raise NotImplementedError

    def on_failure(self, error: UpstreamError) -> None:
        raise NotImplementedError

    def read_whole(self, answer: "KnownAnswer", body: bytes) -> Any:
        """What a short answer says that came in one piece, with a head that came before. None: it is to be
        told by `on_head`, `on_data` and `on_end`, as any other."""
        return None

    def on_whole(self, body: bytes, read: Any) -> None:
        """In place of the three. `read`: what `read_whole` said."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Nobody waits any more. What was under way takes its connection with it."""
        place, self.place = self.place, None
        if place is not None:
            place.withdraw(self)

    def pause(self) -> None:
        """Take no more from the socket for now; what has been read already still arrives."""
        if self.place is not None:
            self.place.pause()

    def resume(self) -> None:
        if self.place is not None:
            self.place.resume()


def header_of(headers: RawHeaders, name: bytes) -> bytes | None:
    """The first of that name, which is given in lower case."""
    for known, value in headers:
        if known == name:
            return value
    return None


def media_type_of(headers: RawHeaders) -> bytes:
    value = header_of(headers, b"content-type")
    return b"" if value is None else value.partition(b";")[0].strip().lower()


def promised_idle_s(headers: RawHeaders) -> float | None:
    """How long the peer keeps an idle connection, if it says so."""
    value = header_of(headers, b"keep-alive")
    if value is None:
        return None
    for part in value.lower().split(b","):
        name, _, number = part.strip().partition(b"=")
        if name == b"timeout" and number.isdigit() and len(number) < 7:
            return float(number)
    return None
