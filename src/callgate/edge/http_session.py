"""What edge keeps of one legacy HTTP session: its streams, its open requests, and the questions put to it.

Implements `ports.Outlet`: what relay says out of turn goes to the GET stream, whether it is open or not yet.
"""

import asyncio
from collections import OrderedDict

import msgspec

from callgate.edge.event_stream import EventStream
from callgate.edge.http.message import Cancellable
from callgate.edge.questions import Questions
from callgate.model.reply import Paused, Reply, Said, Unsolicited
from callgate.model.session import Session
from callgate.ports.answerer import Answering
from callgate.wire.json_rpc import encode_reply

# Finished streams are kept for clients that lost their connection at the last moment.
_KEPT_STREAMS = 16
# Of all sessions together. One answer may have 16 MiB, so their number alone bounds nothing.
_MAX_KEPT_BYTES = 64 * 1024 * 1024
# The first revision whose clients know an event without data (2025-11-25, basic/transports).
_PRIMING_SINCE = "2025-11-25"


class OpenRequest(msgspec.Struct):
    """A task answers it."""

    task: asyncio.Task[Reply]
    is_cancelled: bool = False

    def cancel(self) -> None:
        if not self.is_cancelled:
            self.is_cancelled = True
            # Not before its first step: what was asked is in the record, whatever became of it.
            asyncio.get_running_loop().call_soon(self.task.cancel)


class KeptStreams:
    """Finished streams of all sessions whose end nobody has read: past the limit the oldest go."""

    def __init__(self, limit_bytes: int = _MAX_KEPT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._owners: OrderedDict[EventStream, HttpSession] = OrderedDict()
        self.used_bytes = 0

    def look_at(self, stream: EventStream, owner: "HttpSession") -> None:
        """After its end, and after each reading of it."""
        if not stream.is_finished or stream.is_read:
            return
        if stream.is_used_up:
            owner.drop(stream)
        elif stream not in self._owners and owner.has(stream):
            self._owners[stream] = owner
            self.used_bytes += stream.size_bytes
            while self.used_bytes > self._limit_bytes:
                oldest, its_owner = next(iter(self._owners.items()))
                its_owner.drop(oldest)

    def forget(self, stream: EventStream) -> None:
        if self._owners.pop(stream, None) is not None:
            self.used_bytes -= stream.size_bytes


class HttpSession:
    def __init__(self, session: Session, target: str | None, kept: KeptStreams, epoch: str = "") -> None:
        """`epoch`: of a session that another process had: its streams are not ours, and nor are their ids."""
        self._epoch = epoch
        self.session = session
        self._kept = kept
        self.target = target  # a session opened on one address is of no use on another
        self.open: dict[bytes, Cancellable] = {}  # what the client may give up
        self._primes = session.envelope.revision >= _PRIMING_SINCE
        self._last_stream = 0
        self.questions = Questions()
        self.get_stream = EventStream(f"0{epoch}", self._primes, waits=False)
        self._post_streams: OrderedDict[str, EventStream] = OrderedDict()

    # ---- ports.Outlet

    def say(self, item: Unsolicited) -> None:
        self.say_on(self.get_stream, item)

    def say_on(self, stream: EventStream, item: Unsolicited) -> None:
        if (frame := self.questions.frame(item)) is not None:
            stream.push(frame)

    # ---- streams

    def new_stream(self) -> EventStream:
        self._last_stream += 1
        stream = EventStream(f"{self._last_stream}{self._epoch}", self._primes)
        self._post_streams[stream.stream_id] = stream
        finished = [key for key, kept in self._post_streams.items() if kept.is_finished and not kept.is_read]
        for key in finished[:-_KEPT_STREAMS]:
            self.drop(self._post_streams[key])
        return stream

    def find_stream(self, last_event_id: str) -> tuple[EventStream, int] | None:
        """The stream of that event and the event's number in it; None for an id we did not hand out."""
        stream_id, _, number = last_event_id.partition(".")
        is_get = stream_id == self.get_stream.stream_id
        stream = self.get_stream if is_get else self._post_streams.get(stream_id)
        is_number = number.isascii() and number.isdigit() and len(number) <= 12
        return (stream, int(number)) if stream is not None and is_number else None

    def has(self, stream: EventStream) -> bool:
        return self._post_streams.get(stream.stream_id) is stream

    def look_at(self, stream: EventStream) -> None:
        """It may have ended, or its reading."""
        self._kept.look_at(stream, self)

    def drop(self, stream: EventStream) -> None:
        """Its client has all of it, or comes too late."""
        self._kept.forget(stream)
        self._post_streams.pop(stream.stream_id, None)

    def end(self) -> None:
        for request in list(self.open.values()):
            request.cancel()
        for stream in (self.get_stream, *self._post_streams.values()):
            stream.finish()
        for stream in list(self._post_streams.values()):
            self.drop(stream)


class AnsweredRequest:
    """A request of a session, answered by a task of its own: as a whole, or from the first notice on by a
    stream that goes on when its connection ends."""

    def __init__(self, http_session: HttpSession, rpc_id: bytes, answer: Answering, is_stream: bool) -> None:
        """`is_stream`: also when there is nothing but the reply."""
        self._http_session = http_session
        self._rpc_id = rpc_id
        self._is_stream = is_stream
        self.stream: EventStream | None = None
        # It is answered, cancelled, or a stream.
        self.decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(answer(self._tell))
        self.task.add_done_callback(self._ended)
        http_session.open[rpc_id] = OpenRequest(self.task)

    async def _tell(self, said: Said) -> None:
        stream = self.stream or self._turn_into_stream()
        if isinstance(said, Paused):
            stream.pause(said.retry_ms)
        else:
            self._http_session.say_on(stream, said)
            await stream.room()

    def _turn_into_stream(self) -> EventStream:
        stream = self.stream = self._http_session.new_stream()
        stream.is_read = True  # its connection begins with that now: until then nothing may be dropped
        if not self.decided.done():
            self.decided.set_result(None)
        return stream

    def _ended(self, task: asyncio.Task[Reply]) -> None:
        self._http_session.open.pop(self._rpc_id, None)
        is_answered = not task.cancelled() and task.exception() is None
        stream = self.stream or (self._turn_into_stream() if self._is_stream and is_answered else None)
        if stream is not None:
            if is_answered:
                stream.push(encode_reply(self._rpc_id, task.result()))
            stream.finish()
            self._http_session.look_at(stream)
        elif not self.decided.done():
            self.decided.set_result(None)
