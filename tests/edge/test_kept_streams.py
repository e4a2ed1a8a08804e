"""Answers kept for clients that lost their connection have a limit over all sessions."""

from callgate.edge.event_stream import EventStream
from callgate.edge.http_session import HttpSession, KeptStreams
from callgate.model.envelope import Envelope, Era
from callgate.model.identity import LOCAL
from callgate.model.session import Session


def _session(kept: KeptStreams, number: int = 0) -> HttpSession:
    envelope = Envelope(Era.LEGACY, "2025-11-25")
    return HttpSession(Session(f"s{number}", LOCAL, "http", envelope, 0.0, 0.0), None, kept)


def _unread(session: HttpSession, size_bytes: int) -> EventStream:
    stream = session.new_stream()
    stream.push(b"z" * size_bytes)
    stream.finish()
    session.look_at(stream)
    return stream


def test_past_the_limit_the_oldest_unread_answer_is_dropped_whichever_session_has_it() -> None:
    kept = KeptStreams(limit_bytes=1000)
    first, second = _session(kept, 1), _session(kept, 2)
    oldest, newer = _unread(first, 600), _unread(second, 300)
    assert kept.used_bytes == 900
    newest = _unread(second, 500)
    assert kept.used_bytes == 800
    assert first.find_stream(f"{oldest.stream_id}.0") is None
    for stream in (newer, newest):
        assert second.find_stream(f"{stream.stream_id}.0") == (stream, 0)


def test_what_is_dropped_with_its_session_or_for_its_number_is_not_counted_any_more() -> None:
    kept = KeptStreams(limit_bytes=10_000)
    session = _session(kept)
    for _ in range(40):
        _unread(session, 100)
    assert kept.used_bytes <= 17 * 100
    session.end()
    assert kept.used_bytes == 0


def test_an_answer_larger_than_the_limit_is_not_kept_at_all() -> None:
    kept = KeptStreams(limit_bytes=1000)
    session = _session(kept)
    stream = _unread(session, 2000)
    assert (kept.used_bytes, session.find_stream(f"{stream.stream_id}.0")) == (0, None)


def test_a_stream_under_way_is_nobody_s_to_drop() -> None:
    kept = KeptStreams(limit_bytes=10)
    session = _session(kept)
    stream = session.new_stream()
    stream.push(b"z" * 100)
    session.look_at(stream)
    assert session.find_stream(f"{stream.stream_id}.0") == (stream, 0)
