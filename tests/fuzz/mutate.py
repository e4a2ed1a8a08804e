"""Bytes made from other bytes: cut, doubled, mixed, swapped, and spiked with what parsers stumble over."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

MAX_BYTES = 6_000  # of one input: long ones find little that short ones do not, and cost a lot
_INTERESTING = (
    *(b"\0", b"\r", b"\n", b"\r\n", b"\n\n", b"\r\n\r\n", b" ", b"\t", b"\x0b", b"\x7f", b"\x80"),
    *(b"\xff", b"\xfe"),
    *(b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", "\u2028".encode(), "\u0665".encode()),
    *(b"-1", b"0", b"+1", b"00", b"1e999", b"1_0", b"0x10", b"2147483648", b"18446744073709551616"),
    *(b"9" * 5_000,),
    *(b"{", b"}", b"[", b"]", b'"', b"'", b":", b",", b";", b"=", b"null", b"true", b"NaN", b"[" * 600),
)  # fmt: skip


class Mutator:
    def __init__(self, seeds: Sequence[bytes], words: Sequence[bytes], random: Random) -> None:
        """`words`: what the target's own language is made of."""
        self._seeds = seeds
        self._words = (*words, *_INTERESTING)
        self._random = random
        self._ways: tuple[Callable[[bytes], bytes], ...] = (
            *(self._flip, self._cut, self._double, self._spike, self._spike),
            *(self._swap, self._mix, self._repeat, self._end),
        )

    def mutated(self) -> bytes:
        data = self._random.choice(self._seeds)
        for _ in range(self._random.choice((1, 1, 2, 3, 5, 9))):
            data = self._random.choice(self._ways)(data)
        return data[:MAX_BYTES]

    def _range(self, data: bytes, most: int = 40) -> tuple[int, int]:
        start = self._random.randint(0, len(data))
        return start, min(len(data), start + self._random.randint(0, most))

    def _flip(self, data: bytes) -> bytes:
        if not data:
            return data
        changed = bytearray(data)
        changed[self._random.randrange(len(data))] = self._random.randrange(256)
        return bytes(changed)

    def _cut(self, data: bytes) -> bytes:
        start, end = self._range(data)
        return data[:start] + data[end:]

    def _double(self, data: bytes) -> bytes:
        start, end = self._range(data, 200)
        return data[:end] + data[start:end] + data[end:]

    def _spike(self, data: bytes) -> bytes:
        start, end = self._range(data, 6)
        after = start if self._random.random() < 0.5 else end  # put in, or put in the place of
        return data[:start] + self._random.choice(self._words) + data[after:]

    def _swap(self, data: bytes) -> bytes:
        a, b = self._range(data)
        c, d = self._range(data[b:])
        return data[:a] + data[b:][c:d] + data[b:][:c] + data[a:b] + data[b:][d:]

    def _mix(self, data: bytes) -> bytes:
        other = self._random.choice(self._seeds)
        return data[: self._random.randint(0, len(data))] + other[self._random.randint(0, len(other)) :]

    def _repeat(self, data: bytes) -> bytes:
        start, end = self._range(data, 12)
        return data[:start] + data[start:end] * self._random.choice((2, 10, 300)) + data[end:]

    def _end(self, data: bytes) -> bytes:
        return data[: self._random.randint(0, len(data))]


def pieces_of(data: bytes, random: Random) -> list[bytes]:
    """The same bytes as packets: one byte each, or cut at random places."""
    if random.random() < 0.2:
        return [data[at : at + 1] for at in range(len(data))]
    cuts = sorted({random.randint(0, len(data)) for _ in range(random.randint(1, 8))} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(cuts)]
