"""An animated WebP out of still ones, as the browser gives them: a container around the same pictures.

https://developers.google.com/speed/webp/docs/riff_container
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_BITSTREAMS = (b"ALPH", b"VP8 ", b"VP8L")  # what of a still picture goes into a frame
_IS_ANIMATED = 0x02
_OPAQUE_FRAME = 0x02  # it replaces what was there
_FOREVER = 0


@dataclass(frozen=True, slots=True)
class Frame:
    picture: bytes  # a still WebP, of the size of all
    shown_ms: int


def animated_webp(frames: Sequence[Frame], width: int, height: int) -> bytes:
    canvas = _number(width - 1, 3) + _number(height - 1, 3)
    body = _chunk(b"VP8X", _number(_IS_ANIMATED, 4) + canvas)
    body += _chunk(b"ANIM", b"\xff\xff\xff\xff" + _number(_FOREVER, 2))
    for frame in frames:
        place = _number(0, 3) + _number(0, 3) + canvas + _number(frame.shown_ms, 3)
        picture = b"".join(_chunk(*one) for one in _chunks(frame.picture) if one[0] in _BITSTREAMS)
        body += _chunk(b"ANMF", place + _number(_OPAQUE_FRAME, 1) + picture)
    return b"RIFF" + _number(len(body) + 4, 4) + b"WEBP" + body


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    assert (picture[:4], picture[8:12]) == (b"RIFF", b"WEBP"), "not a WebP"
    at = 12
    while at < len(picture):
        size = int.from_bytes(picture[at + 4 : at + 8], "little")
        yield picture[at : at + 4], picture[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + _number(len(data), 4) + data + b"\0" * (len(data) % 2)


def _number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")
