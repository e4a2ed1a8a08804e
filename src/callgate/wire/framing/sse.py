"""Server-sent events: how a stream of messages is written into one HTTP answer, and read out of one.

Pure: bytes in, events out; what an event id or a `retry` is good for is the transport's business. Reading
follows the WHATWG standard ("Interpreting an event stream") with one difference: a block without data is an
event too when it carries an id or a `retry`, because MCP primes a client that way (2025-11-25,
basic/transports, "Sending Messages to the Server").
"""

from dataclasses import dataclass

from callgate.model.error_codes import CALLER_TOO_LARGE
from callgate.model.errors import CallerError
from callgate.wire.framing.lines import MAX_FRAME_BYTES, flat
from callgate.wire.framing.pieces import Pieces


def encode_event(data: bytes, event_id: str | None = None) -> bytes:
    """`data` is one JSON message."""
    prefix = b"" if event_id is None else b"id: %b\n" % event_id.encode()
    return b"%bevent: message\ndata: %b\n\n" % (prefix, flat(data))


# Keeps intermediaries from closing a quiet stream; clients must ignore comments.
KEEP_ALIVE = b":\n\n"

_BOM = b"\xef\xbb\xbf"
# Over eleven days: a longer number is not a pause but nonsense, and would overflow timers.
_MAX_RETRY_DIGITS = 9


@dataclass(slots=True)
class SseEvent:
    """One block of the stream, as written: an id or `retry` holds until another one comes."""

    event: str
    data: bytes
    event_id: str | None = None
    retry_ms: int | None = None


class SseDecoder:
    """Cuts a byte stream into events; holds back an unfinished one, never more than the limit of it."""

    def __init__(self, max_event_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        # What was said last of each: it outlives the connection that carried it.
        self.last_event_id: str | None = None
        self.retry_ms: int | None = None
        self.start_again()

    def start_again(self) -> None:
        """A new connection: half an event on the old one is void, the place in the stream is kept."""
        self._head: bytes | None = b""  # the first bytes, until it is clear whether they are a BOM
        self._after_cr = False  # a line feed that comes next belongs to the line end before it
        self._line = Pieces()  # an unfinished one
        self._data = Pieces()
        self._start_block()

    def _start_block(self) -> None:
        self._event = ""
        self._has_data = False
        self._event_id: str | None = None
        self._retry_ms: int | None = None

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events completed by `data`. Raises CallerError when one is too large: the stream is lost."""
        if self._head is not None:
            data = self._without_bom(data)
        if self._after_cr and data:
            self._after_cr = False
            if data[0] == 0x0A:
                data = data[1:]
        if not data:
            return []
        # bytes.splitlines knows exactly the three line ends of the standard, str.splitlines many more.
        lines = data.splitlines()
        unfinished = lines.pop() if data[-1] not in b"\r\n" else b""
        self._after_cr = data[-1] == 0x0D
        if lines and self._line.size_bytes:
            self._line.append(lines[0])
            lines[0] = self._line.take()
        events = self._read_lines(lines)
        if unfinished:
            self._line.append(unfinished)
            self._check_size(self._line.size_bytes)
        return events

    def _without_bom(self, data: bytes) -> bytes:
        head = (self._head or b"") + data
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BOM)

    def _read_lines(self, lines: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        for line in lines:
            if line:
                self._check_size(len(line))
                self._read_field(line)
            elif self._has_data or self._event_id is not None or self._retry_ms is not None:
                data = self._data.take()
                events.append(SseEvent(self._event or "message", data, self._event_id, self._retry_ms))
                if self._event_id is not None:
                    self.last_event_id = self._event_id
                if self._retry_ms is not None:
                    self.retry_ms = self._retry_ms
                self._start_block()
            else:
                self._event = ""
        return events

    def _read_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            if self._has_data:
                self._data.append(b"\n")
            self._has_data = True
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode(errors="replace")
        elif name == b"id":
            if b"\0" not in value:
                self._event_id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
            self._retry_ms = int(value)

    def _check_size(self, line_bytes: int) -> None:
        if self._data.size_bytes + line_bytes > self._max_event_bytes:
            raise CallerError(CALLER_TOO_LARGE, f"An event is longer than {self._max_event_bytes} bytes")
