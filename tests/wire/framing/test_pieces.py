"""Bytes in pieces: whole again, and at little more than their own cost."""

import tracemalloc
from collections.abc import Callable

import pytest

from callgate.wire.framing.lines import LineSplitter
from callgate.wire.framing.pieces import Pieces
from callgate.wire.framing.sse import SseDecoder

PIECES = 20_000


@pytest.mark.parametrize("parts", [[], [b""], [b"a"], [b"", b"a"], [b"a", b""], [b"ab", b"c", b"", b"def"]])
def test_pieces_are_put_together_once(parts: list[bytes]) -> None:
    pieces = Pieces()
    for _ in range(2):
        for part in parts:
            pieces.append(part)
        assert pieces.size_bytes == len(b"".join(parts))
        assert pieces.take() == b"".join(parts)
        assert (pieces.size_bytes, pieces.take()) == (0, b"")


def test_a_single_piece_is_not_copied() -> None:
    pieces, piece = Pieces(), b"x" * 1000
    pieces.append(piece)
    assert pieces.take() is piece


def _kept_bytes(feed: Callable[[bytes], object], piece: bytes) -> int:
    tracemalloc.start()
    try:
        for _ in range(PIECES):
            feed(bytes(bytearray(piece)))
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("piece", [b"ab", b"abcd"])
def test_a_frame_in_tiny_pieces_takes_little_more_than_its_size(piece: bytes) -> None:
    for feed in (Pieces().append, LineSplitter().feed, SseDecoder().feed):
        assert _kept_bytes(feed, piece) < PIECES * len(piece) * 2 + 10_000


def test_an_event_of_many_short_lines_takes_little_more_than_its_size() -> None:
    assert _kept_bytes(SseDecoder().feed, b"data:ab\n") < PIECES * 3 * 2 + 10_000
