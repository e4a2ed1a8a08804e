"""The border between a connection's rules (`wire`) and what moves its bytes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from callgate.model.envelope import Era
from callgate.model.errors import UpstreamError

ParamHeaders = tuple[tuple[str, str], ...]  # Mcp-Param-*, already encoded


class Receiver(Protocol):
    """What a transport reports to. Called on the event loop; must not block and must not raise."""

    def received(self, frame: bytes, about: int | None) -> None:
        """One whole JSON-RPC message. `about`: our request on whose own stream it came (HTTP only)."""
        ...

    def answered(self, rpc_id: int, result: bytes) -> bool:
        """The same where it was read already: a result, for this request of ours. False: nobody waits for it,
        or it is not an object."""
        ...

    def stream_failed(self, about: int, error: UpstreamError) -> None:
        """The stream of one request ended without its response, or its POST was answered with an error."""
        ...

    def stream_paused(self, about: int, retry_ms: int | None) -> None:
        """The upstream closed the stream of one request on purpose and will go on after a reconnect.

        Legacy HTTP only (2025-11-25, basic/transports, "Sending Messages to the Server"). The transport
        reconnects by itself, after `retry_ms` where the upstream said so. The request stays open;
        `stream_failed` follows if that fails.
        """
        ...

    def lost(self, error: UpstreamError) -> None:
        """The transport is gone with everything on it. Said once; nothing is received after it."""
        ...


class Transport(Protocol):
    """What has a body here is so for most transports, which inherit it."""

    async def start(self) -> None:
        """Ready to send. Raises UpstreamError; `close` is still to be called then."""
        ...

    def send(
        self,
        frame: bytes,
        rpc_id: int | None = None,  # of a request of ours: what is said on its own stream is about it
        method: str | None = None,  # these three are repeated in headers (modern HTTP)
        name: str | None = None,
        param_headers: ParamHeaders = (),
        /,
    ) -> bool:
        """False when the other side does not take more at the moment: nothing was sent, try again later.

        `rpc_id`: our own id of a request; None for notifications, and for our responses, which have no
        `method` either. `name`: Mcp-Name, the tool or prompt name, or the resource uri.
        """
        ...

    def abandon(self, rpc_id: int) -> None:
        """Nobody waits for this request any more: HTTP closes its stream (the modern cancellation).

        Elsewhere a cancellation is a notification, and the connection sends it."""

    def negotiated(self, revision: str) -> None:
        """The legacy handshake is done: this is what every later request over HTTP says it speaks."""

    def listen(self) -> None:
        """Be ready for what the server says of its own accord; on a pipe that is always so."""

    def pause_stream(self, about: int | None) -> None:
        """The reader of this request is behind: read no more of its stream (on a pipe: of the pipe)."""
        ...

    def resume_stream(self, about: int | None) -> None: ...

    async def close(self) -> None:
        """Idempotent, and quick: a stubborn child is killed."""
        ...

    @property
    def has_session(self) -> bool:
        """The server may remember what was said on this connection before."""
        return True

    @property
    def stderr_tail(self) -> list[str]:
        """The last lines of the child's stderr; empty for other transports."""
        return []


class OneStream(Transport):
    """All requests use one stream: a pipe, a socket, an event stream."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._holders: set[int | None] = set()

    def pause_stream(self, about: int | None) -> None:
        """One reader that is behind holds up all of them (rule 9 of `Connection`)."""
        if not self._holders:
            self._pause()
        self._holders.add(about)

    def resume_stream(self, about: int | None) -> None:
        """The stream is read again when no reader is behind any more."""
        if about in self._holders:
            self._holders.discard(about)
            if not self._holders:
                self._resume()


@dataclass(frozen=True, slots=True)
class Opened:
    """A transport that can be started, and the era it is for; None: the handshake is to find out."""

    transport: Transport
    era: Era | None
    is_pipe: bool = False  # all requests share one stream
    cancels_by_closing: bool = False  # modern HTTP: no notification, the closed stream says it
    recheck: Callable[[], Awaitable[Era]] | None = None  # which era the upstream speaks now; HTTP can ask


Opener = Callable[[Receiver, Era | None], Awaitable[Opened]]
