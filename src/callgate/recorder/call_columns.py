"""What ordinary calls (`call_rows`) look like in a frame of the journal, and reading them as whole rows."""

from collections.abc import Sequence

import msgspec

from callgate.model.exchange import EndedBy, Outcome
from callgate.recorder.rows import EventRow, HopRow

# Python 3.11 needs 0.1 µs to find a member of an enumeration.
_ANSWERED, _UPSTREAM = Outcome.ANSWERED, EndedBy.UPSTREAM


class CallShape(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    """What calls have in common; each name is that of a column."""

    method: str
    client: str
    server_name: str
    tool_name: str | None = None
    annotations: str | None = None
    principal: str | None = None
    via: str | None = None
    server_version: str | None = None
    server_protocol: str | None = None
    # Of a statement; see `StatementFacts`.
    source_id: str | None = None
    statement_type: str | None = None
    mode: str | None = None
    verdict: str | None = None
    rule: str | None = None
    tables: tuple[str, ...] | None = None
    truncated: bool | None = None
    # Where calls were sent on under another name: their hop's request begins with this, in ASCII, and goes on
    # like the call's behind as many characters.
    sent_start: str | None = None
    sent_cut: int | None = None


# Which of them are a column of an event, and not of its hop.
SHARED_COLUMNS = CallShape.__struct_fields__[:-2]
# What is a call's own, in the order of the columns of `CallColumns`.
Call = tuple[
    str, int, str, str, float, float, int, int, int | None, float, int, str | None, str | None,
    str | None, int | None,
]  # fmt: skip


class CallColumns(msgspec.Struct, omit_defaults=True, gc=False):
    """As JSON in a frame: what is a call's own, column by column. `hop_…` is of its only hop, whose bodies
    are told where they differ from the call's. A column that says nothing of any call is empty."""

    shapes: msgspec.Raw
    seq: int  # of the first call; each has the next one
    id: tuple[str, ...]
    ts: tuple[int, ...]
    session_id: tuple[str, ...]
    rpc_id: tuple[str, ...]
    duration_ms: tuple[float, ...]
    hop_ms: tuple[float, ...]
    request_bytes: tuple[int, ...]
    response_bytes: tuple[int, ...]
    hop_rpc_id: tuple[int | None, ...]
    hop_started_ms: tuple[float, ...]
    shape: tuple[int, ...] = ()  # its place among the shapes of the frame
    hop_request: tuple[str | None, ...] = ()
    hop_response: tuple[str | None, ...] = ()
    sql: tuple[str | None, ...] = ()
    rows: tuple[int | None, ...] = ()  # of its result

    def calls(self) -> list[Call]:
        """Raises ValueError: they are not equally long."""
        count = len(self.id)
        return list(
            zip(
                self.id,
                self.ts,
                self.session_id,
                self.rpc_id,
                self.duration_ms,
                self.hop_ms,
                self.request_bytes,
                self.response_bytes,
                self.hop_rpc_id,
                self.hop_started_ms,
                self.shape or (0,) * count,
                self.hop_request or (None,) * count,
                self.hop_response or (None,) * count,
                self.sql or (None,) * count,
                self.rows or (None,) * count,
                strict=True,
            )
        )


_decode = msgspec.json.Decoder(CallColumns).decode
_decode_shapes = msgspec.json.Decoder(list[CallShape]).decode


def _event_row(call: Call, shapes: list[CallShape], seq: int, request: bytes | memoryview) -> EventRow:
    (
        event_id,
        ts,
        session_id,
        rpc_id,
        duration_ms,
        hop_ms,
        request_bytes,
        response_bytes,
        hop_rpc_id,
        hop_started_ms,
        place,
        hop_request,
        hop_response,
        sql,
        rows,
    ) = call
    shape = shapes[place]
    if shape.sent_start is not None:
        hop_request = shape.sent_start + str(request[shape.sent_cut :], "utf-8", "replace")
    hop = HopRow(
        shape.server_name,
        True,
        hop_ms,
        None if hop_rpc_id is None else str(hop_rpc_id),
        hop_request is None,
        hop_response is None,
        hop_request,
        hop_response,
        server_version=shape.server_version,
        server_protocol=shape.server_protocol,
        started_ms=hop_started_ms,
    )
    return EventRow(
        event_id,
        ts,
        session_id,
        shape.method,
        shape.client,
        rpc_id=rpc_id,
        seq=seq,
        server_name=shape.server_name,
        server_version=shape.server_version,
        server_protocol=shape.server_protocol,
        tool_name=shape.tool_name,
        source_id=shape.source_id,
        duration_ms=duration_ms,
        ok=True,
        outcome=_ANSWERED,
        ended_by=_UPSTREAM,
        annotations=shape.annotations,
        request_bytes=request_bytes,
        response_bytes=response_bytes,
        sql=sql,
        statement_type=shape.statement_type,
        mode=shape.mode,
        verdict=shape.verdict,
        rule=shape.rule,
        tables=None if shape.tables is None else list(shape.tables),
        rows=rows,
        truncated=shape.truncated,
        principal=shape.principal,
        via=shape.via,
        hops=[hop],
    )


def event_rows(
    calls: list[Call], shapes: list[CallShape], first_seq: int, requests: Sequence[bytes | memoryview]
) -> list[EventRow]:
    """`requests`: their bodies. Raises ValueError: there are more or fewer."""
    numbered = zip(calls, requests, range(first_seq, first_seq + len(calls)), strict=True)
    return [_event_row(call, shapes, seq, request) for call, request, seq in numbered]


class WrittenCalls(msgspec.Struct, gc=False):
    """What a frame says."""

    shapes: list[CallShape]
    calls: list[Call]
    first_seq: int

    def __len__(self) -> int:
        return len(self.calls)


def read_calls(calls_json: bytes) -> WrittenCalls:
    """Without bodies. Raises msgspec.DecodeError: it is not what `Columns.json` wrote."""
    written = _decode(calls_json)
    shapes = _decode_shapes(written.shapes)
    try:
        calls = written.calls()
    except ValueError:
        raise msgspec.DecodeError("calls whose columns are not equally long") from None
    if not all(0 <= place < len(shapes) for place in written.shape or (0,)):
        raise msgspec.DecodeError("a call of a shape that is not there")
    return WrittenCalls(shapes, calls, written.seq)


def read_event_rows(calls_json: bytes, requests: Sequence[bytes | memoryview]) -> list[EventRow]:
    """Whole rows, without bodies; `requests` are those of the frame. Raises as `read_calls`."""
    written = read_calls(calls_json)
    try:
        return event_rows(written.calls, written.shapes, written.first_seq, requests)
    except ValueError:
        raise msgspec.DecodeError("calls without their requests") from None
