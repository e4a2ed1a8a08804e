"""Our side of one JSON-RPC conversation with an upstream: what was asked, what came back, what is overdue.

Owns the state of the conversation and the only table of its requests. Must not know sockets, tasks or clocks:
`now` (monotonic seconds) and randomness are handed in, frames go in and out as bytes. Whoever holds it calls
`tick` when `next_deadline` comes. `upstreams` moves the bytes; the client's side is `conversation`.

Rules
1. `starting, initializing, ready, backoff, closing`. A request before `ready` is held, inside its time-out;
   in `backoff` and `closing` it is refused at once with the reason.
2. An id is never used again. The entry is stored and its timer armed before the frame is handed out. The
   timer pauses while the client's input is awaited; progress restarts it, up to a total that nothing moves.
3. Each request has exactly one terminal outcome (`Answered`, `Ended`, `Cancelled`), and takes its timers with
   it.
4. A busy transport: three sends in all, 10 ms ± 50 % apart, inside the time-out, then `upstream.busy`.
5. Time-out or cancel: one `notifications/cancelled` with our id, unless the frame never left or it was a
   handshake.
6. An end that is not a response leaves a tombstone: what comes for it is `Late`. What comes for an unknown id
   (an answered one is unknown again) is an `Orphan`. Neither is delivered.
7. A successful handshake begins an epoch; a reply to a request of an older one is never delivered.
8. Losing the transport ends all that is in flight and backs off: 1 s doubling to 30 s, ± 20 % inside the cap.
9. What cannot be read is `Garbage` and the conversation goes on; a frame over the limit is the end of it.
10. `close` may be said twice. Nothing is sent again after a reconnect.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from callgate.model.errors import UpstreamError
from callgate.wire.connection.backoff import Backoff
from callgate.wire.connection.errors import closed, copy_of, down, not_taken, timed_out, too_large
from callgate.wire.connection.events import (
    Cancelled,
    Ended,
    Event,
    Garbage,
    Held,
    Late,
    Orphan,
    Send,
)
from callgate.wire.connection.incoming import Incoming
from callgate.wire.connection.request_table import (
    DEFAULT_TIMEOUT_S,
    NO_TIMEOUT,
    START_TIMEOUT_S,
    Pending,
    RequestTable,
)
from callgate.wire.framing.lines import MAX_FRAME_BYTES
from callgate.wire.json_rpc import decode, encode_notification, encode_request
from callgate.wire.params import put_our_token

_MAX_SENDS = 3
_RETRY_S = 0.010  # a full pipe is read within milliseconds, or not soon


class ConnectionState(StrEnum):
    STARTING = "starting"
    INITIALIZING = "initializing"
    READY = "ready"
    BACKOFF = "backoff"
    CLOSING = "closing"


_STARTING, _INITIALIZING, _READY, _BACKOFF, _CLOSING = ConnectionState
_DOWN = (_BACKOFF, _CLOSING)
# A single byte is found in no time, as a number. For more bytes `in` takes twice as long as `find`: it tries
# first whether they are a number.
_BACKSLASH = ord("\\")


class Connection:
    def __init__(self, random: Callable[[], float], default_timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """`random` gives floats in [0, 1); it only spreads retries."""
        self._random = random
        self._default_timeout_s = default_timeout_s
        self._table = RequestTable(default_timeout_s)
        self._incoming = Incoming(self._table)
        # A result of the upstream, by the id of its request: what it is for, if it is awaited. See `receive`.
        self.answered = self._table.answer
        self.find = self._table.find
        self.next_deadline = self._table.next_at  # when to call `tick`
        self._backoff = Backoff(random)
        self.state = _STARTING
        self.retry_at: float | None = None  # when to start again; None unless in `backoff`
        self._lost: UpstreamError | None = None

    @property
    def epoch(self) -> int:
        return self._table.epoch

    @property
    def in_flight(self) -> int:
        return len(self._table)

    # --- the life of the conversation. In `backoff` and `closing` a word from before means nothing any more;
    # --- in any other wrong state it is a bug.

    def opened(self) -> None:
        """The transport can carry frames: shake hands."""
        if self._may_move_from(_STARTING):
            self.state = _INITIALIZING

    def ready(self, now: float) -> list[Send]:
        """Hands were shaken: the frames of what was held and still has time, in the order of asking."""
        if not self._may_move_from(_INITIALIZING):
            return []
        self.state = _READY
        self._backoff.reset()
        self._lost = None
        self._table.epoch += 1
        held = [pending for pending in self._table if pending.sends == 0]
        return [self._release(pending) for pending in held if now < pending.due_at]

    def lost(self, error: UpstreamError, now: float) -> list[Ended]:
        """The transport is gone. Said again, or after `close`, it changes nothing."""
        if self.state in _DOWN:
            return []
        self.state = _BACKOFF
        self._lost = error
        self.retry_at = now + self._backoff.next_delay_s()
        return self._end_all(error, now)

    def retrying(self) -> None:
        """Start again, at `retry_at` or, when the cause is known to be gone, before it."""
        if self.state is _BACKOFF:
            self.state = _STARTING
            self.retry_at = None

    def close(self, now: float) -> list[Ended]:
        self.state = _CLOSING
        self.retry_at = None
        return self._end_all(closed(), now)

    # --- requests

    def ask(
        self,
        method: str,
        params: bytes,
        call: Any,
        timeout_s: float | None,
        now: float,
        limit_key: str = "timeout_s",
    ) -> Send | Held:
        """Raises UpstreamError at once when the upstream is down.

        `timeout_s`: None for the default. `limit_key`: where the operator sets it.
        """
        state = self.state
        if state is not _READY and state in _DOWN:
            raise self._refusal(now)
        if timeout_s is None:
            timeout_s = self._default_timeout_s
        table = self._table
        rpc_id = next(table.new_ids)
        client_token = None
        if params.find(b'"progressToken"') >= 0 or (_BACKSLASH in params and params.find(b"\\u") >= 0):
            params, client_token = put_our_token(params, rpc_id)
        if method == "tools/call" and params:  # as `encode_request`
            frame = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%b}' % (rpc_id, params)
        else:
            frame = encode_request(b"%d" % rpc_id, method, params)
        is_ready = state is _READY
        pending = Pending(
            rpc_id, method, call, table.epoch, now, timeout_s, NO_TIMEOUT, client_token, limit_key, False,
            1 if is_ready else 0, None if is_ready else frame,
        )  # fmt: skip
        table.add(pending, now)
        return Send(rpc_id, frame) if is_ready else Held(rpc_id)

    def ask_handshake(
        self, method: str, params: bytes, call: Any, now: float, timeout_s: float = START_TIMEOUT_S
    ) -> Send:
        """`server/discover` or `initialize`: while initializing only, and never cancelled at the upstream."""
        if not self._may_move_from(_INITIALIZING):
            raise self._refusal(now)
        rpc_id = next(self._table.new_ids)
        pending = Pending(rpc_id, method, call, self._table.epoch, now, timeout_s, handshake=True, sends=1)
        self._table.add(pending, now)
        return Send(rpc_id, encode_request(b"%d" % rpc_id, method, params))

    def busy(self, send: Send, now: float) -> Ended | None:
        """The transport did not take this frame. None: `tick` hands it out again, or it has ended already."""
        pending = self.find(send.rpc_id)
        if pending is None or pending.unsent is not None:
            return None
        delay_s = _RETRY_S * (0.5 + self._random())
        if pending.sends < _MAX_SENDS and now + delay_s < pending.due_at:
            self._table.wait_to_retry(pending, send.frame, delay_s, now)
            return None
        return self._end(pending, not_taken(pending), now)

    def cancel(self, rpc_id: int, reason: str, now: float) -> Cancelled | None:
        """The caller gave up; None when the request has ended already."""
        pending = self.find(rpc_id)
        if pending is None:
            return None
        frame = _cancellation(pending, reason)
        self._table.end(pending, now)
        return Cancelled(pending, frame)

    def fail(self, rpc_id: int, error: UpstreamError, now: float) -> Ended | None:
        """The transport says that this one request failed; None when it has ended already."""
        pending = self.find(rpc_id)
        return None if pending is None else self._end(pending, error, now)

    def open_requests(self) -> Iterator[Pending]:
        """Those without an outcome: the one that was asked, or resumed, last is the last."""
        return iter(self._table)

    def pause(self, rpc_id: int, now: float) -> None:
        """The client's input is awaited. The caller decides how long at most: no timer runs here."""
        pending = self.find(rpc_id)
        if pending is not None:
            self._table.pause(pending, now)

    def resume(self, rpc_id: int, now: float) -> None:
        pending = self.find(rpc_id)
        if pending is not None:
            self._table.resume(pending, now)

    # --- what comes in, and what time brings

    def receive(self, frame: bytes, about: int | None, now: float) -> list[Event]:
        """One frame of the upstream. `about`: our request on whose own stream it came (HTTP only).

        Never raises. A transport stops reading at MAX_FRAME_BYTES and says `lost`; should a longer frame come
        here all the same, the connection is in `backoff` after it.
        """
        if len(frame) > MAX_FRAME_BYTES:
            return [*self.lost(too_large(), now)]
        events = self._incoming.read(frame, decode(frame), about, now)
        if self.state is not _READY and self.state in _DOWN:
            return [event for event in events if isinstance(event, Late | Orphan | Garbage)]
        return events

    def tick(self, now: float) -> list[Ended | Send]:
        """Ends what is overdue and hands out again what found the transport busy."""
        table = self._table
        events: list[Ended | Send] = []
        for pending in table.timed_out(now):
            frame = _cancellation(pending, "timed out")
            events.append(self._end(pending, timed_out(pending, now), now, frame))
        events.extend(self._release(pending) for pending in table.to_retry(now))
        table.sweep(now)
        return events

    # --- inside

    def _may_move_from(self, state: ConnectionState) -> bool:
        if self.state is state:
            return True
        if self.state in _DOWN:
            return False
        raise RuntimeError(f"a connection that is {self.state} was used as if it were {state}")

    def _release(self, pending: Pending) -> Send:
        frame, pending.unsent = pending.unsent, None
        assert frame is not None
        pending.sends += 1
        pending.epoch = self._table.epoch
        return Send(pending.rpc_id, frame)

    def _end(self, pending: Pending, error: UpstreamError, now: float, frame: bytes | None = None) -> Ended:
        self._table.end(pending, now)
        return Ended(pending, error, frame)

    def _end_all(self, error: UpstreamError, now: float) -> list[Ended]:
        return [self._end(pending, copy_of(error), now) for pending in self._table]

    def _refusal(self, now: float) -> UpstreamError:
        if self._lost is None or self.retry_at is None:
            return closed()
        return down(self._lost, self.retry_at - now)


def _cancellation(pending: Pending, reason: str) -> bytes | None:
    # 2025-11-25, basic/utilities/cancellation: `initialize` must not be cancelled.
    if pending.handshake or pending.unsent is not None:
        return None
    speakable = reason.encode(errors="replace").decode()  # a lone surrogate cannot be written as UTF-8
    params = msgspec.json.encode({"requestId": pending.rpc_id, "reason": speakable})
    return encode_notification("notifications/cancelled", params)
