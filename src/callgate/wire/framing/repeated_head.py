"""The head of an HTTP message that a connection sends again and again, but for the length of the body.

A peer that keeps a connection repeats its head with every message. The first one is read by the parser; this
only finds out, byte by byte, that another message has the same head, and where its body is.
"""

import re

_LENGTH_LINE = re.compile(rb"\r\n(?i:content-length):[ \t]*([0-9]+)(?=\r\n)")
_MAX_LENGTH_DIGITS = 5
# It is kept as long as its connection, so it must not be long.
_MAX_HEAD_BYTES = 4 * 1024


class RepeatedHead:
    __slots__ = ("_after", "_before", "_body_bytes", "_head", "_max_body_bytes")

    def __init__(self, before: bytes, after: bytes, max_body_bytes: int) -> None:
        """`before` and `after`: what stands around the digits of the length."""
        self._before = before
        self._after = after
        self._max_body_bytes = max_body_bytes
        # As it came last, length included: mostly the next one has the same.
        self._head, self._body_bytes = before + b"0" + after, 0

    def body_of(self, data: bytes) -> bytes | None:
        """The body, if `data` is exactly one message with this head and a short body."""
        if data.startswith(self._head):
            body = data[len(self._head) :]
            return body if len(body) == self._body_bytes else None
        before, after = self._before, self._after
        if not data.startswith(before):
            return None
        begin = len(before)
        end = data.find(b"\r", begin, begin + _MAX_LENGTH_DIGITS + 1)
        digits = data[begin:end]
        if end < 0 or not digits.isdigit() or not data.startswith(after, end):
            return None
        head_bytes = end + len(after)
        body = data[head_bytes:]
        if not int(digits) == len(body) <= self._max_body_bytes:
            return None
        self._head, self._body_bytes = data[:head_bytes], len(body)
        return body


def repeated_head(data: bytes, body_bytes: int, max_body_bytes: int) -> RepeatedHead | None:
    """The head of a message that was just read from `data`, whose body had so many bytes.

    None, unless `data` is that message and nothing else, and one length says where it ends. Whoever asks has
    seen that nothing but the length does (no chunks, no upgrade).
    """
    end = data.find(b"\r\n\r\n") + 4
    if end < 4 or end > _MAX_HEAD_BYTES or body_bytes != len(data) - end:
        return None
    lengths = list(_LENGTH_LINE.finditer(data, 0, end))
    if len(lengths) != 1:
        return None
    begin, end_of_digits = lengths[0].span(1)
    return RepeatedHead(data[:begin], data[end_of_digits:end], max_body_bytes)
