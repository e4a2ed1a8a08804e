"""The record's `trace_id`: of the trace an exchange is exported to, else of the one its caller named."""

import dataclasses

import msgspec
import pytest
from recorder.happenings import a_session, settled

from callgate.model.exchange import Exchange, Trace
from callgate.recorder.build_rows import event_row

TRACE, OTHER = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"


def traceparent(trace_id: str) -> str:
    return f"00-{trace_id}-00f067aa0ba902b7-01"


def exchange_with(in_meta: str | None, in_header: str | None, trace: Trace | None = None) -> Exchange:
    exchange = settled(a_session()).exchange
    envelope = dataclasses.replace(exchange.arrival.envelope, traceparent=in_meta)
    headers = None if in_header is None else {"traceparent": in_header}
    arrival = msgspec.structs.replace(exchange.arrival, envelope=envelope, headers=headers)
    return msgspec.structs.replace(exchange, arrival=arrival, trace=trace)


@pytest.mark.parametrize(
    ("exchange", "trace_id"),
    [
        (exchange_with(traceparent(TRACE), None), TRACE),
        (exchange_with(None, traceparent(TRACE)), TRACE),
        (exchange_with(traceparent(TRACE), traceparent(OTHER)), TRACE),
        (exchange_with(traceparent("z" * 32), None), None),
        (exchange_with(None, None), None),
        (exchange_with(None, None, Trace(TRACE, "00f067aa0ba902b7")), TRACE),
    ],
)
def test_a_row_knows_its_trace(exchange: Exchange, trace_id: str | None) -> None:
    assert event_row(exchange).trace_id == trace_id
