"""A frame of the journal: rows of one kind as JSON, and behind it, as they are, the bodies of those rows.

A body is most of an event's bytes. Inside the JSON it would be escaped, and unescaped again by the store; so
it lies apart, and its bytes go from here to DuckDB as an Arrow column without a copy.

    length, crc32 (4 bytes each; of the rest)
    kind (1), nothing (1), rows that a row group still wants (2), number of rows, length of the JSON (4 each)
    JSON array of rows (of calls: see `call_rows`), spaces up to a multiple of 4
    of kinds with bodies: 2 n + 1 offsets (4 each), then n requests and n responses; one of no length is none
"""

import struct
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

SESSIONS, OPENED, EVENTS, CALLS, GAPS = b"s", b"o", b"e", b"c", b"g"
WITH_BODIES = frozenset({OPENED, EVENTS, CALLS})

HEAD = struct.Struct("<II")
_ROWS_HEAD = struct.Struct("<cxHII")
_OFFSET = "i"  # as Arrow has them
_OFFSET_BYTES = 4


@dataclass(slots=True)
class Bodies:
    """Of the rows of one frame, in their order: all requests, then all responses."""

    count: int
    offsets: "array[int]"
    data: memoryview

    def of_row(self, place: int) -> tuple[memoryview, memoryview]:
        """Its request and response."""
        return self._body(place), self._body(self.count + place)

    @property
    def requests(self) -> list[memoryview]:
        return [self._body(place) for place in range(self.count)]

    def texts(self, place: int) -> tuple[str | None, str | None]:
        request, response = self.of_row(place)
        return str(request, "utf-8", "replace") or None, str(response, "utf-8", "replace") or None

    def _body(self, place: int) -> memoryview:
        return self.data[self.offsets[place] : self.offsets[place + 1]]


def joined(several: Sequence[Bodies]) -> Bodies:
    """As if their rows were one frame's; of a single one nothing is copied."""
    if len(several) == 1:
        return several[0]
    offsets = array(_OFFSET)
    requests: list[memoryview] = []
    responses: list[memoryview] = []
    at = 0
    for one in several:
        split = one.offsets[one.count]
        requests.append(one.data[:split])
        responses.append(one.data[split:])
        offsets.extend([at + offset for offset in one.offsets[: one.count]])
        at += split
    for one in several:
        start = at - one.offsets[one.count]
        offsets.extend([start + offset for offset in one.offsets[one.count : -1]])
        at = start + one.offsets[-1]
    offsets.append(at)
    data = memoryview(b"".join(requests + responses))
    return Bodies(sum(one.count for one in several), offsets, data)


@dataclass(slots=True)
class Frame:
    kind: bytes
    rows_json: bytes
    count: int  # of rows
    bodies: Bodies | None = None
    wanted_rows: int = 0  # of events: how many more the writer's last row group wants, to be full
    end: int = 0  # the offset after it


def frame(
    kind: bytes,
    rows_json: bytes,
    count: int,
    bodies: Sequence[bytes] = (),
    *,
    wanted_rows: int = 0,
) -> bytearray:
    """`bodies`: of kinds that have them, the requests of all rows, then their responses."""
    head = _ROWS_HEAD.pack(kind, wanted_rows, count, len(rows_json))
    parts = [bytes(HEAD.size), head, rows_json, b" " * (-len(rows_json) % _OFFSET_BYTES)]
    if kind in WITH_BODIES:
        parts.append(array(_OFFSET, accumulate(map(len, bodies), initial=0)).tobytes())
        parts += bodies
    made = bytearray().join(parts)
    HEAD.pack_into(made, 0, len(made) - HEAD.size, zlib.crc32(memoryview(made)[HEAD.size :]))
    return made


def read_frame(payload: bytes, end: int) -> Frame:
    """Raises ValueError: not one of ours, whatever its checksum says."""
    if len(payload) < _ROWS_HEAD.size:
        raise ValueError("a frame without its head")
    kind, wanted_rows, count, size = _ROWS_HEAD.unpack_from(payload)
    rows_json = payload[_ROWS_HEAD.size : _ROWS_HEAD.size + size]
    found = Frame(kind, rows_json, count, wanted_rows=wanted_rows, end=end)
    if kind in WITH_BODIES:
        start = _ROWS_HEAD.size + size + -size % _OFFSET_BYTES
        until = start + (2 * count + 1) * _OFFSET_BYTES
        offsets = array(_OFFSET)
        if until <= len(payload):
            offsets.frombytes(payload[start:until])
        if not _fit(offsets, len(payload) - until):
            raise ValueError("bodies that do not fit their frame")
        found.bodies = Bodies(count, offsets, memoryview(payload)[until:])
    return found


def _fit(offsets: "array[int]", size: int) -> bool:
    """DuckDB takes the offsets for true."""
    spelled = offsets.tolist()
    return bool(spelled) and spelled[0] == 0 and spelled[-1] == size and spelled == sorted(spelled)
