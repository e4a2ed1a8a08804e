"""Server-sent events, written and read."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.model.errors import CallerError
from callgate.wire.framing.sse import KEEP_ALIVE, SseDecoder, SseEvent, encode_event

LINES = st.sampled_from(
    [b"data: {}", b"data:x", b"data", b"data:  two", b"id: 7", b"id", b"id: \0", b"event: message",
     b"event: ping", b"retry: 250", b"retry: soon", b": comment", b"unknown: 1", "data: ü".encode(), b"", b""]
)  # fmt: skip
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def decode(*pieces: bytes) -> list[SseEvent]:
    decoder = SseDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


@given(
    lines=st.lists(st.tuples(LINES, ENDS)),
    cuts=st.lists(st.integers(0, 300)),
    bom=st.sampled_from([b"", b"\xef\xbb\xbf", b"\xef\xbb"]),
)
def test_events_do_not_depend_on_how_the_bytes_were_cut(
    lines: list[tuple[bytes, bytes]], cuts: list[int], bom: bytes
) -> None:
    stream = bom + b"".join(line + end for line, end in lines)
    borders = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    assert decode(*(stream[a:b] for a, b in itertools.pairwise(borders))) == decode(stream)


@given(events=st.lists(st.binary(min_size=1, max_size=40)), event_id=st.none() | st.just("a-1"))
def test_what_we_write_is_what_we_read(events: list[bytes], event_id: str | None) -> None:
    frames = [event.replace(b"\r", b" ").replace(b"\n", b" ") for event in events]
    stream = b"".join(KEEP_ALIVE + encode_event(event, event_id) for event in events)
    assert decode(stream) == [SseEvent("message", frame, event_id) for frame in frames]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_separates_lines_and_events(end: bytes) -> None:
    stream = end.join([b"data: a", b"data: b", b"", b"data: c", b"", b""])
    assert [event.data for event in decode(stream)] == [b"a\nb", b"c"]
    assert [event.data for event in decode(*(bytes([byte]) for byte in stream))] == [b"a\nb", b"c"]


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_first_field() -> None:
    assert decode(b"\xef", b"\xbb", b"\xbfdata: x\n\n") == [SseEvent("message", b"x")]
    assert decode(b"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n") == [SseEvent("message", b"x")]


def test_an_id_without_data_is_an_event_because_it_primes_a_client() -> None:
    assert decode(b"id: 1\nretry: 500\ndata:\n\n") == [SseEvent("message", b"", "1", 500)]
    assert decode(b"id: 1\n\n") == [SseEvent("message", b"", "1")]


def test_comments_and_lone_event_names_are_no_events_and_do_not_stick() -> None:
    assert decode(b": ping\n\nevent: endpoint\n\ndata: x\n\n") == [SseEvent("message", b"x")]


def test_the_name_of_an_event_is_kept() -> None:
    assert decode(b"event: endpoint\ndata: /messages?a=1\n\n") == [SseEvent("endpoint", b"/messages?a=1")]


def test_only_one_space_after_the_colon_belongs_to_the_framing() -> None:
    assert decode(b"data:  x \n\n")[0].data == b" x "


def test_an_id_with_a_null_and_a_retry_that_is_no_number_are_ignored() -> None:
    assert decode(b"id: a\0b\nretry: 1e3\ndata: x\n\n") == [SseEvent("message", b"x")]
    assert decode(b"retry: 9999999999\ndata: x\n\n") == [SseEvent("message", b"x")]


def test_an_unfinished_event_is_held_back() -> None:
    assert decode(b"data: x\n") == []


@pytest.mark.parametrize(
    "piece", [b"x" * 40, b"data: " + b"x" * 40 + b"\n", b": " + b"x" * 40], ids=["line", "data", "comment"]
)
def test_an_event_past_the_limit_is_refused_not_collected(piece: bytes) -> None:
    decoder = SseDecoder(max_event_bytes=100)
    decoder.feed(piece)
    with pytest.raises(CallerError) as caught:
        decoder.feed(piece * 3)
    assert caught.value.code.code == "caller.too_large"


def test_many_events_together_may_be_larger_than_one_may_be() -> None:
    decoder = SseDecoder(max_event_bytes=100)
    assert len(decoder.feed(b"data: 1234567890\n\n" * 50)) == 50
