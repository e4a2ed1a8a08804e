"""What both transports over HTTP have: where the server is, and all that is on its way there.

Owns what the operator wrote about such a server, and what the exchanges on the way need from their transport.

A request has our id, and its answer a stream. No answer comes to notifications, nor to our responses to the
server: whoever closes the transport waits a moment for these. The last ones are cancellations of calls, and a
server that does not hear of them works on for nobody.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from callgate.http_client.address import operator_headers, parse_address
from callgate.http_client.client import HttpClient
from callgate.http_client.pool import HttpPool
from callgate.upstreams.hide_secrets import Hide, as_it_is, held_in_address, hider
from callgate.upstreams.transport import Receiver, Transport
from callgate.wire.framing.sse import SseDecoder

# Past this, more in line only means later time-outs: the caller is told to come back instead.
MAX_WAITING = 1_000
# The server's time to take what we say last: nobody waits longer for a courtesy.
FAREWELL_S = 1.0


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """What the operator wrote about one server. Holds secrets: none of it is in its `repr`."""

    name: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    redact: Hide = as_it_is  # takes out what looks like a secret of anybody's

    def hider(self) -> Hide:
        return hider(held_in_address(self.url, dict(self.headers).values()), self.redact)


class UnderWay(Protocol):
    """A message on its way, or the stream of its answer."""

    def cancel(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class StreamOwner(Protocol):
    """What the exchanges of a transport need from it."""

    shown: str  # name and address for messages
    hide: Hide  # takes the server's secrets out of a text
    receiver: Receiver
    pool: HttpPool
    can_resume: bool  # legacy only: 2026-07-28 has no resumable streams
    session_id: bytes | None

    def get_payload(self, last_event_id: str | None) -> bytes: ...

    def session_given(self, session_id: bytes) -> bool:
        """False when it cannot be sent back."""
        ...

    def session_lost(self) -> None: ...

    def post_ended(self, stream: UnderWay, about: int | None) -> None: ...

    def resume(self, about: int, decoder: SseDecoder) -> None: ...

    def listen_refused(self) -> None: ...


class HttpTransport(Transport):
    """Made inside a running loop. The client stays open when this is closed: it is shared."""

    def __init__(self, settings: HttpSettings, client: HttpClient, receiver: Receiver) -> None:
        """Raises SetupError for a URL or header that cannot be sent."""
        self._address = parse_address(settings.url)
        self.pool = client.pool_for(self._address.origin)
        self.receiver = receiver
        self.shown = f"{settings.name} ({self._address.shown})"
        self.hide = settings.hider()
        self._own_lines = operator_headers(self._address, settings.headers)
        self._is_over = False
        self._under_way: dict[int, UnderWay] = {}  # by our id
        self._unanswered: set[UnderWay] = set()
        self._all_taken: asyncio.Future[None] | None = None

    def _keep(self, post: UnderWay, rpc_id: int | None) -> None:
        if rpc_id is None:
            self._unanswered.add(post)
        else:
            self._under_way[rpc_id] = post

    def abandon(self, rpc_id: int) -> None:
        stream = self._under_way.pop(rpc_id, None)
        if stream is not None:
            stream.cancel()

    def post_ended(self, stream: UnderWay, about: int | None) -> None:
        if about is not None:
            if self._under_way.get(about) is stream:
                del self._under_way[about]
            return
        self._unanswered.discard(stream)
        if not self._unanswered and self._all_taken is not None and not self._all_taken.done():
            self._all_taken.set_result(None)

    async def _take_leave(self) -> None:
        """Nothing more is sent; what was said last is heard, or `FAREWELL_S` is over."""
        self._is_over = True
        if self._unanswered:
            self._all_taken = asyncio.get_running_loop().create_future()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_taken, FAREWELL_S)

    def _stop(self) -> None:
        self._is_over = True
        for stream in (*self._under_way.values(), *self._unanswered):
            stream.cancel()
        self._under_way.clear()
        self._unanswered.clear()
