"""What of an exchange becomes a span, and in which words."""

from typing import Any

import msgspec
import pytest
from recorder.happenings import NOW_S, a_session, settled

from callgate.model.exchange import EndedBy, Exchange, Outcome, Settlement, Trace
from callgate.otel.attributes import Peer, TelemetryWording
from callgate.otel.operations import Side, TracedOperation, operations_of

TRACE = Trace("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "b7ad6b7169203331")


def traced(**changed: Any) -> Exchange:
    exchange = settled(a_session(), NOW_S, **changed).exchange
    exchange.trace = TRACE
    exchange.hops[0].facts = None
    return exchange


def ended(exchange: Exchange, outcome: Outcome, reply: bytes | None = None) -> Exchange:
    exchange.settlement = None
    exchange.settle(Settlement(outcome, EndedBy.UPSTREAM, reply), 10.5)
    return exchange


def told(exchange: Exchange) -> list[TracedOperation]:
    return list(operations_of(exchange))


def test_an_exchange_without_a_trace_is_not_told() -> None:
    assert told(settled(a_session()).exchange) == []


def test_a_request_and_its_leg_are_two_spans_in_order() -> None:
    whole, leg = told(traced())
    assert (whole.side, whole.span_id, whole.parent_id) == (Side.SERVER, TRACE.span_id, TRACE.parent_id)
    assert (leg.side, leg.span_id, leg.parent_id) == (Side.CLIENT, None, TRACE.span_id)
    assert whole.ended_ns - whole.began_ns == pytest.approx(4_500_000, abs=1_000)
    assert leg.tool == "query"


def test_a_leg_that_was_answered_from_what_was_known_is_none() -> None:
    exchange = traced()
    exchange.hops[0].cached = True
    assert [one.side for one in told(exchange)] == [Side.SERVER]


def test_a_server_s_question_is_a_child_of_the_call_and_ours_to_the_client() -> None:
    exchange = traced()
    exchange.sender = "server"
    (question, *_) = told(exchange)
    assert (question.side, question.span_id, question.parent_id) == (Side.CLIENT, None, TRACE.span_id)
    assert question.rpc_id is None


@pytest.mark.parametrize(
    ("outcome", "reply", "expected"),
    [
        (Outcome.ANSWERED, b"{}", (None, None)),
        (Outcome.TOOL_ERROR, b'{"isError":true}', ("tool_error", None)),
        (Outcome.REFUSED, b'{"isError":true}', ("tool_error", None)),
        (Outcome.REFUSED, b'{"code":-31001,"message":"no"}', ("-31001", "-31001")),
        (Outcome.FAILED, b'{"code":-32602,"message":"no"}', ("-32602", "-32602")),
        (Outcome.FAILED, b"[]", ("_OTHER", None)),
        (Outcome.CANCELLED, None, ("cancelled", None)),
        (Outcome.LOST, None, ("lost", None)),
    ],
)
def test_how_it_ended_is_told_in_the_conventions_words(
    outcome: Outcome, reply: bytes | None, expected: tuple[str | None, str | None]
) -> None:
    whole = told(ended(traced(), outcome, reply))[0]
    assert (whole.ending.error_type, whole.ending.status_code) == expected


@pytest.mark.parametrize(("raw", "said"), [(b"7", "7"), (b'"a b"', "a b"), (b"null", None), (b'""', '""')])
def test_a_request_s_id_is_told_as_text(raw: bytes, said: str | None) -> None:
    assert told(traced(rpc_id=raw))[0].rpc_id == said


def test_metrics_tell_apart_as_many_names_as_there_is_room_for() -> None:
    wording = TelemetryWording(lambda text: text)
    said = set()
    for number in range(3_000):
        exchange = traced()
        exchange.tool_name = f"made up {number}"
        said.add(wording.of_metric(told(exchange)[0])["gen_ai.tool.name"])
    assert len(said) <= 1_001
    assert "_OTHER" in said


def test_a_peer_is_told_by_its_address_and_never_by_its_whole_url() -> None:
    wording = TelemetryWording(lambda text: text, {"demo": Peer("http", "example.com", 443)})
    found = wording.of_span(told(traced())[1])
    assert (found["server.address"], found["server.port"], found["network.transport"]) == (
        "example.com",
        443,
        "tcp",
    )


def test_a_lone_surrogate_is_replaced_before_it_reaches_protobuf() -> None:
    exchange = traced()
    exchange.tool_name = "half \ud800"
    wording = TelemetryWording(lambda text: text)
    whole = told(exchange)[0]
    assert wording.span_name(whole) == "tools/call half ?"
    assert wording.of_span(whole)["gen_ai.tool.name"] == "half ?"


def test_no_operation_holds_a_long_text_of_a_stranger_s() -> None:
    long = "x" * 1_000_000
    exchange = settled(a_session(), sql=long, rpc_id=b'"%b"' % long.encode()).exchange
    exchange.trace, exchange.tool_name, exchange.hops[0].is_built_in = TRACE, long, True
    reply = b'{"code":1,"message":"%b"}' % long.encode()
    waiting = told(ended(exchange, Outcome.FAILED, reply))
    assert len(waiting) == 2
    assert all(len(msgspec.json.encode(one)) < 30_000 for one in waiting)
