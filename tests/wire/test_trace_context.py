"""W3C Trace Context: what is taken for a caller's span, and how ours is written into `_meta`."""

import json

import pytest

from callgate.wire.trace_context import RemoteSpan, read_traceparent, state_in, with_trace, write_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"00-{TRACE}-{SPAN}-01", RemoteSpan(TRACE, SPAN, True)),
        (f"00-{TRACE}-{SPAN}-00", RemoteSpan(TRACE, SPAN, False)),
        (f"00-{TRACE}-{SPAN}-03", RemoteSpan(TRACE, SPAN, True)),
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", RemoteSpan(TRACE, SPAN, True)),
        (f"00-{TRACE}-{SPAN}-01-more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE}-{SPAN}-01\n", None),
        (f"00-{TRACE}-{SPAN}", None),
        ("", None),
        (None, None),
    ],
)
def test_only_a_well_formed_traceparent_names_a_span(text: str | None, found: RemoteSpan | None) -> None:
    assert read_traceparent(text) == found


def test_what_is_written_can_be_read() -> None:
    for is_sampled in (True, False):
        written = write_traceparent(TRACE, SPAN, is_sampled)
        assert read_traceparent(written) == RemoteSpan(TRACE, SPAN, is_sampled)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (b"", {"_meta": {"traceparent": "new", "baggage": "ours"}}),
        (b'{"name":"x"}', {"name": "x", "_meta": {"traceparent": "new", "baggage": "ours"}}),
        (
            b'{"_meta":{"traceparent":"old","baggage":"theirs","n":12345678901234567890},"name":"x"}',
            {"_meta": {"traceparent": "new", "baggage": "theirs", "n": 12345678901234567890}, "name": "x"},
        ),
        (b'{"_meta":null}', {"_meta": {"traceparent": "new", "baggage": "ours"}}),
    ],
)
def test_our_span_is_written_beside_what_was_there(params: bytes, expected: dict[str, object]) -> None:
    assert json.loads(with_trace(params, "new", [("baggage", "ours")])) == expected


@pytest.mark.parametrize("params", [b'{"_meta":[]}', b'{"_meta":{"\\ud800":1}}', b'{"\\ud800":1}'])
def test_what_cannot_be_read_passes_as_it_is(params: bytes) -> None:
    assert with_trace(params, "new") == params


@pytest.mark.parametrize(
    ("params", "state"),
    [
        (b'{"_meta":{"tracestate":"a=1"}}', "a=1"),
        (b'{"_meta":{"tracestate":7}}', None),
        (b'{"_meta":{"tracestate":"' + b"a" * 513 + b'"}}', None),
        (b'{"_meta":[]}', None),
        (b"", None),
    ],
)
def test_a_tracestate_is_taken_if_it_is_one(params: bytes, state: str | None) -> None:
    assert state_in(params) == state
