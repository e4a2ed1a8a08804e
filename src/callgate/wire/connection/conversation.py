"""A client's side of one ordered stream (stdio, a local socket): frames in, events out.

Rules
1. The era is chosen per message: the reserved `_meta` member makes it modern; everything else is legacy.
   A dual-era server may serve both on one stream (2026-07-28, basic/versioning).
2. A legacy request before `initialize` is refused, except `ping`; a second `initialize` too. What comes while
   `initialize` is being answered is held until it is.
3. An id that is still open cannot be used again; both kinds of id ("1" and 1) are different ids.
4. `notifications/cancelled` for an open request becomes `Cancel`; any other is told like every notification.
   What comes before a handshake is refused, and a notification gets no answer.
5. A frame that cannot be read is answered with an error, and the conversation goes on; one that is too long
   ends it.
"""

from dataclasses import dataclass

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import CALLER_MALFORMED, CALLER_NOT_INITIALIZED, CALLER_TOO_LARGE
from callgate.model.errors import CallerError
from callgate.wire.eras.envelopes import (
    check_revision,
    is_modern,
    legacy_envelope,
    read_initialize,
    read_modern,
)
from callgate.wire.fault_of import fault_of
from callgate.wire.framing.lines import MAX_FRAME_BYTES, LineSplitter
from callgate.wire.json_rpc import Notification, Request, Response, Unreadable, decode, encode_fault
from callgate.wire.params import meta_of, peek
from callgate.wire.revisions import LEGACY_REVISIONS


@dataclass(frozen=True, slots=True)
class IncomingRequest:
    """A request to be answered, with the envelope it is to be read in."""

    request: Request
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Told:
    """A notification that is not the conversation's own affair."""

    notification: Notification
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class Cancel:
    """Give this request up. `told`: the notification that says so, in the request's own envelope."""

    rpc_id: bytes
    told: Told


@dataclass(frozen=True, slots=True)
class Refuse:
    """Write the error back, unless it was a notification; there is nothing else to do."""

    error: CallerError
    message: Request | Notification | Unreadable

    @property
    def frame(self) -> bytes | None:
        if isinstance(self.message, Notification):
            return None
        return encode_fault(self.message.rpc_id, fault_of(self.error))


@dataclass(frozen=True, slots=True)
class Replied:
    """The client's answer to a question that was put to it."""

    response: Response


Event = IncomingRequest | Told | Cancel | Refuse | Replied

# While `initialize` is answered. A client that sends more before it knows whom it talks to is told to wait.
_MAX_HELD = 1000
_MAX_HELD_BYTES = MAX_FRAME_BYTES

# A ping may come before the handshake; it needs some envelope to be recorded in.
_BEFORE_HANDSHAKE = Envelope(Era.LEGACY, LEGACY_REVISIONS[0])


class Conversation:
    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._lines = LineSplitter(max_frame_bytes)
        self._handshake: Envelope | None = None
        self._handshaking = False
        self._open: dict[bytes, Envelope] = {}
        self._held: list[Request | Notification] = []
        self._held_bytes = 0

    def receive(self, data: bytes) -> list[Event]:
        """Raises CallerError when a frame is too long: say so if you like, then hang up."""
        return [event for frame in self._lines.feed(data) if (event := self._read(frame)) is not None]

    def handshake_done(self, envelope: Envelope | None) -> list[Event]:
        """The answer to `initialize` is on its way; None when it was refused and may be tried again.

        Returns what was held meanwhile.
        """
        self._handshaking = False
        self._handshake = envelope
        held, self._held, self._held_bytes = self._held, [], 0
        return [self._read_message(message) for message in held]

    def closed(self, rpc_id: bytes) -> None:
        """The request was answered or given up: its id is free."""
        self._open.pop(rpc_id, None)

    def _read(self, frame: bytes) -> Event | None:
        message = decode(frame)
        if isinstance(message, Unreadable):
            return Refuse(message.error, message)
        if isinstance(message, Response):
            return Replied(message)
        if (
            self._handshaking
            and message.method != "initialize"
            and not is_modern(meta_of(peek(message.params)))
        ):
            return self._hold(message)
        return self._read_message(message)

    def _hold(self, message: Request | Notification) -> Event | None:
        self._held_bytes += len(message.params)
        if len(self._held) >= _MAX_HELD or self._held_bytes > _MAX_HELD_BYTES:
            self._held_bytes -= len(message.params)
            text = "Too much was sent before initialize was answered"
            return Refuse(CallerError(CALLER_TOO_LARGE, text, hint="Wait for its answer"), message)
        self._held.append(message)
        return None

    def _read_message(self, message: Request | Notification) -> Event:
        if isinstance(message, Request):
            return self._read_request(message)
        return self._read_notification(message)

    def _read_request(self, request: Request) -> Event:
        try:
            envelope = self._envelope_of(request)
        except CallerError as error:
            return Refuse(error, request)
        self._open[request.rpc_id] = envelope
        return IncomingRequest(request, envelope)

    def _envelope_of(self, request: Request) -> Envelope:
        if request.rpc_id in self._open:
            raise CallerError(CALLER_MALFORMED, "A request with this id is still open")
        peeked = peek(request.params)
        meta = meta_of(peeked)
        # server/discover exists in the modern era only: without its envelope it is malformed, not legacy.
        if is_modern(meta) or request.method == "server/discover":
            envelope = read_modern(peeked)
            check_revision(envelope)
            return envelope
        if request.method == "initialize":
            if self._handshake is not None or self._handshaking:
                raise CallerError(CALLER_MALFORMED, "initialize was already sent on this connection")
            envelope = read_initialize(request.params)
            self._handshaking = True
            return envelope
        if self._handshake is not None:
            return legacy_envelope(self._handshake, peeked)
        if request.method == "ping":
            return _BEFORE_HANDSHAKE
        raise CallerError(
            CALLER_NOT_INITIALIZED,
            f"{request.method[:80]} came before initialize",
            hint="Send initialize first, or the 2026-07-28 _meta members on every request",
        )

    def _read_notification(self, notification: Notification) -> Event:
        if notification.method == "notifications/cancelled":
            rpc_id = bytes(peek(notification.params).requestId)
            if (envelope := self._open.get(rpc_id)) is not None:
                return Cancel(rpc_id, Told(notification, envelope))
        if self._handshake is None:
            text = f"{notification.method[:80]} does not belong to a request or a session"
            return Refuse(CallerError(CALLER_NOT_INITIALIZED, text), notification)
        return Told(notification, self._handshake)
