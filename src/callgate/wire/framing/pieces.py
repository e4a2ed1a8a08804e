"""Bytes that arrive in pieces and are wanted whole.

A list of the pieces costs 40 bytes and more for each: a message in pieces of two bytes would take twenty
times its size. A single piece, the usual case, is handed on as it came.
"""

from io import BytesIO


class Pieces:
    __slots__ = ("_first", "_rest", "size_bytes")

    def __init__(self) -> None:
        self._first = b""
        self._rest: BytesIO | None = None
        self.size_bytes = 0

    def append(self, piece: bytes) -> None:
        if not self.size_bytes:
            self._first = piece  # also where an empty one was first
        else:
            if self._rest is None:
                self._rest = BytesIO()
                self._rest.write(self._first)
                self._first = b""
            self._rest.write(piece)
        self.size_bytes += len(piece)

    def take(self) -> bytes:
        """All of it, once; afterwards there is nothing."""
        rest, self._rest = self._rest, None
        first, self._first = self._first, b""
        self.size_bytes = 0
        return first if rest is None else rest.getvalue()
