"""What a frame of an upstream means for the requests that are open.

Owns the matching of responses and progress with the request table.
Must not know the state of the connection, nor send anything: events go out, and `connection` decides.
"""

from callgate.model.errors import CallerError
from callgate.wire.connection import events
from callgate.wire.connection.events import Event
from callgate.wire.connection.request_table import Pending, RequestTable
from callgate.wire.json_rpc import Message, Notification, Response, Unreadable, decode_batch
from callgate.wire.params import peek, with_member

_MAX_ID_DIGITS = 20  # a longer number is no id of ours, and Python refuses to read very long ones
_NO_ID = 0  # ours begin with 1


class Incoming:
    def __init__(self, table: RequestTable) -> None:
        self._table = table

    def read(self, frame: bytes, message: Message | Unreadable, about: int | None, now: float) -> list[Event]:
        """`message`: what was read of the frame."""
        messages = [message]
        if isinstance(message, Unreadable) and frame.lstrip()[:1] == b"[":
            # 2025-03-26 (basic, "Batching") has receivers take them, asked for or not; no other does. A batch
            # in a batch is no message, and comes out as garbage.
            try:
                messages = decode_batch(frame) or messages
            except CallerError as error:
                messages = [Unreadable(None, error)]
        return [self._read_one(message, about, now) for message in messages]

    def _read_one(self, message: Message | Unreadable, about: int | None, now: float) -> Event:
        if isinstance(message, Response):
            rpc_id = own_id(message.rpc_id)
            pending = self._table.answer(rpc_id)
            if pending is None:
                return self._unmatched(message.rpc_id, rpc_id, now)
            return events.Answered(pending, message.result, message.error)
        if isinstance(message, Unreadable):
            return events.Garbage(message.error)
        if isinstance(message, Notification):
            if message.method == "notifications/progress":
                return self._progress(message.params, now)
            return events.Notified(message.method, message.params, self._about(about))
        return events.AskedBack(
            message.rpc_id, message.method, message.params, self._about(about), self._table.epoch
        )

    def _progress(self, params: bytes, now: float) -> Event:
        token = bytes(peek(params).progressToken)
        rpc_id = own_id(token)
        pending = self._table.awaited(rpc_id)
        if pending is None or pending.client_token is None:
            return self._unmatched(token, rpc_id, now, params)
        self._table.extend(pending, now)
        return events.Progressed(pending, with_member(params, "progressToken", pending.client_token))

    def _unmatched(self, raw_id: bytes, rpc_id: int, now: float, progress: bytes | None = None) -> Event:
        tombstone = self._table.tombstone(rpc_id, now)
        if tombstone is None:
            return events.Orphan(raw_id, progress)
        return events.Late(rpc_id, tombstone.method, now - tombstone.ended, progress)

    def _about(self, rpc_id: int | None) -> Pending | None:
        return None if rpc_id is None else self._table.awaited(rpc_id)


def own_id(raw: bytes) -> int:
    """Our id, also when the upstream writes it as a string: "7" can mean only our 7, and some servers do."""
    digits = raw[1:-1] if raw[:1] == b'"' else raw
    return int(digits) if digits.isdigit() and len(digits) <= _MAX_ID_DIGITS else _NO_ID
