"""Ordinary calls (`call_rows`) as bytes of a binary COPY, without an object for each of their columns.

Calls of a shape have most of their columns in common. Those come last and are packed once; the columns of a
call itself are one `struct` and two texts, and its bodies go from the journal as they are. It takes a
third of the time that whole rows take. What is stored is what `read_event_rows` says: a test compares them.
"""

from collections.abc import AsyncIterator, Iterable
from struct import Struct

from callgate.recorder.call_columns import SHARED_COLUMNS, Call, CallShape, WrittenCalls
from callgate.recorder.journal.frames import Bodies

_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_NULL = b"\xff\xff\xff\xff"
_EPOCH_US = 946_684_800_000_000  # 2000-01-01, from which PostgreSQL counts

_EVENT_OWN = [
    "id", "ts", "duration_ms", "request_bytes", "response_bytes", "request_tokens", "response_tokens",
    "place", "seq", "session_id", "rpc_id", "sql", "rows",
]  # fmt: skip
_EVENT_ALIKE = {
    "kind": "request", "sender": "client", "ok": True, "outcome": "answered", "ended_by": "upstream",
    "tokens_by": "bytes", "is_redacted": False, "is_cut": False, "cached": False,
}  # fmt: skip
_LEG_OWN = ["event_id", "leg", "duration_ms", "started_ms", "rpc_id", "same_request", "same_response"]
_LEG_SHAPE = ("server_name", "server_version", "server_protocol")
_LEG_ALIKE = {"ok": True, "cached": False}

_EVENT_NAMES = [*_EVENT_OWN, *SHARED_COLUMNS, *_EVENT_ALIKE]
_BODY_NAMES = ["id", "leg", "request_json", "response_json"]
_LEG_NAMES = [*_LEG_OWN, *_LEG_SHAPE, *_LEG_ALIKE]

# The number of columns, then each with its length before it.
_event = Struct(">hi16siqidiqiqiqiqiiiq").pack
_leg = Struct(">hi16sihidid").pack
_body = Struct(">hi16sih").pack
_length = Struct(">i").pack
_number = Struct(">iq").pack
_array, _empty_array = Struct(">iiIii").pack, Struct(">iiI").pack
_TEXT_OID = 25
_TRUE, _FALSE = b"\0\0\0\1\1", b"\0\0\0\1\0"


def _text(value: str) -> bytes:
    data = value.encode()
    return _length(len(data)) + data


def _packed(value: str | bool | tuple[str, ...] | None) -> bytes:
    if value is None:
        return _NULL
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        # One dimension, no NULL in it, of TEXT; counted from 1. An empty array has no dimension.
        array = _array(1, 0, _TEXT_OID, len(value), 1) if value else _empty_array(0, 0, _TEXT_OID)
        array += b"".join(map(_text, value))
        return _length(len(array)) + array
    return _TRUE if value else _FALSE


_ALIKE_OF_EVENTS = b"".join(map(_packed, _EVENT_ALIKE.values()))
_ALIKE_OF_LEGS = b"".join(map(_packed, _LEG_ALIKE.values()))


# Of a shape: how the requests begin that its calls' hops sent, and where they go on like the calls' own.
_Start = tuple[bytes, int]


class PackedRows:
    """Of one table, in pieces."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.pieces: list[bytes] = []

    def add(self, parts: Iterable[bytes | memoryview]) -> None:
        self.pieces.append(b"".join(parts))

    async def copy(self) -> AsyncIterator[bytes]:
        yield _HEAD
        for piece in self.pieces:
            yield piece
        yield _END


class PackedCalls:
    def __init__(self) -> None:
        self.count = 0
        self.tables = {
            "rpc_events": PackedRows(_EVENT_NAMES),
            "rpc_bodies": PackedRows(_BODY_NAMES),
            "rpc_event_upstreams": PackedRows(_LEG_NAMES),
        }

    def add(self, written: WrittenCalls, bodies: Bodies | None, first_place: int) -> None:
        """`first_place`: of these calls in their batch. Raises ValueError and struct.error for values that do
        not fit their columns."""
        of_event = [_shape_values(shape, SHARED_COLUMNS) + _ALIKE_OF_EVENTS for shape in written.shapes]
        of_leg = [_shape_values(shape, _LEG_SHAPE) + _ALIKE_OF_LEGS for shape in written.shapes]
        starts: list[_Start | None] = [
            None if shape.sent_start is None else (shape.sent_start.encode(), shape.sent_cut or 0)
            for shape in written.shapes
        ]
        calls = written.calls
        ids = [bytes.fromhex(call[0].replace("-", "")) for call in calls]
        self.tables["rpc_events"].add(_events(calls, ids, of_event, first_place, written.first_seq))
        self.tables["rpc_event_upstreams"].add(_legs(calls, ids, of_leg, starts))
        self.tables["rpc_bodies"].add(_bodies(calls, ids, bodies, starts))
        self.count += len(calls)


def _events(calls: list[Call], ids: list[bytes], of_shape: list[bytes], place: int, seq: int) -> list[bytes]:
    """`place` and `seq`: of the first of these calls."""
    rows: list[bytes] = []
    for at, call in enumerate(calls):
        (
            _, ts, session_id, rpc_id, duration_ms, _, request_bytes, response_bytes, _, _, shape, _, _, sql,
            found,
        ) = call  # fmt: skip
        rows += (
            _event(
                len(_EVENT_NAMES), 16, ids[at], 8, ts - _EPOCH_US, 8, duration_ms,
                8, request_bytes, 8, response_bytes,
                8, (request_bytes + 3) // 4, 8, (response_bytes + 3) // 4, 4, place + at, 8, seq + at,
            ),
            _text(session_id),
            _text(rpc_id),
            _packed(sql),
            _NULL if found is None else _number(8, found),
            of_shape[shape],
        )  # fmt: skip
    return rows


def _legs(
    calls: list[Call], ids: list[bytes], of_shape: list[bytes], starts: list[_Start | None]
) -> list[bytes]:
    rows: list[bytes] = []
    for call_id, call in zip(ids, calls, strict=True):
        hop_ms, (hop_rpc_id, started_ms, shape, request, response) = call[5], call[8:13]
        rows += (
            _leg(len(_LEG_NAMES), 16, call_id, 2, 1, 8, hop_ms, 8, started_ms),
            _NULL if hop_rpc_id is None else _text(str(hop_rpc_id)),
            _TRUE if request is None and starts[shape] is None else _FALSE,
            _TRUE if response is None else _FALSE,
            of_shape[shape],
        )
    return rows


def _bodies(
    calls: list[Call],
    ids: list[bytes],
    bodies: Bodies | None,
    starts: list[_Start | None],
) -> list[bytes | memoryview]:
    rows: list[bytes | memoryview] = []
    for at, call in enumerate(calls):
        request, response = bodies.of_row(at) if bodies is not None else (b"", b"")
        if request or response:
            rows.append(_body(len(_BODY_NAMES), 16, ids[at], 2, 0))
            rows += (_length(len(request)), request) if request else (_NULL,)
            rows += (_length(len(response)), response) if response else (_NULL,)
        shape, hop_request, hop_response = call[10:13]
        start = starts[shape]
        if start is not None or hop_request is not None or hop_response is not None:
            rows.append(_body(len(_BODY_NAMES), 16, ids[at], 2, 1))
            if start is None:
                rows.append(_packed(hop_request))
            else:
                begin, cut = start
                rows += (_length(len(begin) + len(request) - cut), begin, request[cut:])
            rows.append(_packed(hop_response))
    return rows


def _shape_values(shape: CallShape, names: Iterable[str]) -> bytes:
    return b"".join(_packed(getattr(shape, name)) for name in names)
