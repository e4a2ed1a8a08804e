"""Line framing: one JSON-RPC message a line (stdio, local sockets)."""

from callgate.model.error_codes import CALLER_TOO_LARGE
from callgate.model.errors import CallerError
from callgate.wire.framing.pieces import Pieces

# A frame past this closes the connection (`connection.connection`, rule 9): room for a large result, not for
# an attack.
MAX_FRAME_BYTES = 16 * 1024 * 1024


class LineSplitter:
    """Cuts a byte stream into frames; holds back an unfinished line, never more than the limit of it."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._pending = Pieces()

    def feed(self, data: bytes) -> list[bytes]:
        """The frames completed by `data`, blank lines skipped. Raises CallerError when one is too long."""
        if not self._pending.size_bytes and data[-1:] == b"\n" and len(data) <= self._max_frame_bytes:
            return list(filter(None, map(bytes.strip, data.split(b"\n"))))
        head, newline, rest = data.partition(b"\n")
        self._pending.append(head)
        if self._pending.size_bytes > self._max_frame_bytes:
            raise self._too_long()
        if not newline:
            return []
        lines = [self._pending.take(), *rest.split(b"\n")]
        if len(rest) > self._max_frame_bytes and max(map(len, lines)) > self._max_frame_bytes:
            raise self._too_long()
        self._pending.append(lines.pop())
        return [frame for line in lines if (frame := line.strip())]

    def _too_long(self) -> CallerError:
        return CallerError(CALLER_TOO_LARGE, f"A message is longer than {self._max_frame_bytes} bytes")


def flat(frame: bytes) -> bytes:
    """The same JSON without raw newlines: they can only be white space between tokens, but end a line."""
    return frame.replace(b"\r", b" ").replace(b"\n", b" ")
