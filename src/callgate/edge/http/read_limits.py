"""How much is read of a request, and what is said of more. `request_reader` asks."""

from callgate.model.error_codes import CALLER_TOO_LARGE, REFUSED_OVERLOADED
from callgate.model.errors import CallerError, RefusedError

# Generous for cookies and tokens, small enough that 10,000 connections cannot fill the memory.
MAX_HEAD_BYTES = 32 * 1024

# What one read may bring: the head may be complete in the same chunk that exceeds its limit.
_CHUNK_BYTES = 256 * 1024
# Enough for 100,000 chunks. Each chunk costs a call, so their number has to have an end.
_MAX_FRAMING_BYTES = 1024 * 1024


class UnreportedBytes:
    """Bounds what the parser reads of one request and does not report: the beginning of a field, what is
    between two pieces of a body and behind the last, and fields after it. Most requests need none."""

    __slots__ = ("_framing_bytes", "_head_bytes", "_quiet_bytes", "_trailer_bytes")

    def __init__(self) -> None:
        self._head_bytes = self._framing_bytes = self._quiet_bytes = self._trailer_bytes = 0

    def add_to_head(self, data_bytes: int) -> CallerError | None:
        """A read after which the head is not complete."""
        self._head_bytes += data_bytes
        return head_too_large() if self._head_bytes > MAX_HEAD_BYTES + _CHUNK_BYTES else None

    def add_to_body(self, data_bytes: int, body_bytes: int) -> CallerError | None:
        """A read behind the head, of which this much was reported."""
        framing_bytes = data_bytes - body_bytes
        self._framing_bytes += framing_bytes
        self._quiet_bytes = 0 if framing_bytes < data_bytes else self._quiet_bytes + data_bytes
        is_too_much = self._quiet_bytes > MAX_HEAD_BYTES or self._framing_bytes > _MAX_FRAMING_BYTES
        return _framing_too_large() if is_too_much else None

    def add_trailer(self, field_bytes: int) -> CallerError | None:
        self._trailer_bytes += field_bytes
        return _framing_too_large() if self._trailer_bytes > MAX_HEAD_BYTES else None


def head_too_large() -> CallerError:
    return CallerError(CALLER_TOO_LARGE, f"The request head is larger than {MAX_HEAD_BYTES} bytes")


def body_too_large(max_bytes: int) -> CallerError:
    return CallerError(CALLER_TOO_LARGE, f"The body is larger than {max_bytes} bytes")


def _framing_too_large() -> CallerError:
    return CallerError(
        CALLER_TOO_LARGE,
        "The body has too much framing: chunk sizes, chunk extensions or trailers",
        hint=f"Send larger chunks, and no more than {MAX_HEAD_BYTES} bytes of trailers",
    )


def overloaded() -> RefusedError:
    return RefusedError(
        REFUSED_OVERLOADED,
        "The gateway already holds as many bytes of requests as its limit allows",
        hint="Send the request again after the number of seconds in Retry-After",
    )
