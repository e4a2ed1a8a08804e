"""A flush: a batch is stored once or not at all, and what a writer left open is ended for it."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from recorder.happenings import read_back
from stores.kinds import StoreKind

from callgate.model.errors import SetupError
from callgate.ports.record_store import AlreadyStoredError, RecordStore
from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import EVENTS, GAPS, OPENED, SESSIONS
from callgate.recorder.read.pages import EPOCH
from callgate.recorder.rows import EventRow, GapRow, HopRow, SessionRow

Store = RecordStore[Batch]


def event(number: int, **changed: Any) -> EventRow:
    row = EventRow(f"01890000-0000-7000-8000-{number:012}", number, "s-1", "tools/call", "probe/1")
    row.ok, row.outcome, row.ended_by = True, "answered", "upstream"
    return msgspec.structs.replace(row, **changed)


def opened(number: int, writer: str, **changed: Any) -> EventRow:
    return event(number, writer=writer, ok=None, outcome=None, ended_by=None, **changed)


def segment_of(writer: str, number: int = 0) -> str:
    return f"{writer}.{number:06}.journal"


class Writer:
    """One process's journal: each batch goes on where the one before ended."""

    def __init__(self, store: Store, name: str = "1-a") -> None:
        self.store = store
        self.segment = segment_of(name)
        self.reached = 0

    def write(self, *kinds_and_rows: tuple[bytes, list[Any]]) -> None:
        batch = Batch()
        for kind, rows in kinds_and_rows:
            batch.add(self.segment, read_back(kind, *rows, end=self.reached + 100), self.reached)
        self.store.write(batch)
        self.reached += 100


def at(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def test_a_row_is_stored_with_all_that_it_says(kind: StoreKind, store: Store) -> None:
    hop = HopRow("demo", True, 1.5, "7", request_json="{}", server_version="1", started_ms=0.5)
    row = event(
        1, tables=["a", "b"], request_json=b'{"x":"\xc3\xbc"}', response_json=None, request_bytes=9,
        hops=[hop], duration_ms=2.5, rows=3, truncated=False, sql="SELECT 'x'", seq=5, principal="alice",
        trace_id="t",
    )  # fmt: skip
    Writer(store).write((EVENTS, [row]))
    told = kind.ask(
        store,
        "SELECT ts, session_id, method, kind, sender, tables, request_json, response_json, request_bytes,"
        " request_tokens, response_tokens, tokens_by, duration_ms, rows, truncated, sql, seq, principal,"
        " trace_id, is_redacted, is_cut, cached, ok, outcome, tool_name FROM rpc_events",
    )
    assert told == [
        (at(1), "s-1", "tools/call", "request", "client", ["a", "b"], '{"x":"ü"}', None, 9, 3, 0, "bytes",
         2.5, 3, False, "SELECT 'x'", 5, "alice", "t", False, False, False, True, "answered", None),
    ]  # fmt: skip
    legs = kind.ask(
        store,
        "SELECT server_name, ok, duration_ms, rpc_id, same_request, same_response, request_json,"
        " response_json, error, cached, server_version, server_protocol, started_ms FROM rpc_event_upstreams",
    )
    assert legs == [("demo", True, 1.5, "7", False, False, "{}", None, None, False, "1", None, 0.5)]


def test_sums_and_words_of_a_session_add_up_over_batches(kind: StoreKind, store: Store) -> None:
    writer = Writer(store)
    writer.write((SESSIONS, [SessionRow("s-1", 1, 5, client_name="probe", writer="1-a")]))
    writer.write((EVENTS, [event(1, request_tokens=3, response_tokens=4), event(2, ok=False)]))
    writer.write(
        (SESSIONS, [SessionRow("s-1", 1, 9, ended_at=9, client_version="2", writer="1-a")]),
        (EVENTS, [event(3, request_bytes=9)]),
    )
    told = kind.ask(
        store,
        "SELECT session_id, created_at, last_seen_at, ended_at, client_name, client_version,"
        " tool_call_count, error_count, total_tokens FROM sessions",
    )
    assert told == [("s-1", at(1), at(9), at(9), "probe", "2", 3, 1, 10)]


def test_two_writers_of_one_session_make_one_session(kind: StoreKind, store: Store) -> None:
    for name in ("1-a", "2-b"):
        Writer(store, name).write(
            (SESSIONS, [SessionRow("s-1", 1, 5, client_name="probe", writer=name)]),
            (EVENTS, [event(1 if name == "1-a" else 2)]),
        )
    assert kind.ask(store, "SELECT session_id, client_name, tool_call_count FROM sessions") == [
        ("s-1", "probe", 2)
    ]


def test_what_is_open_is_seen_until_it_is_settled(kind: StoreKind, store: Store) -> None:
    writer = Writer(store)
    writer.write((OPENED, [opened(1, "1-a", request_json=b"{}"), opened(2, "1-a")]))
    seen = "SELECT ts, outcome, request_json FROM rpc_events ORDER BY id"
    assert kind.ask(store, seen) == [(at(1), None, "{}"), (at(2), None, None)]
    writer.write((EVENTS, [event(1, was_open=True)]))
    assert kind.ask(store, seen) == [(at(1), "answered", None), (at(2), None, None)]
    writer.write((OPENED, [opened(3, "1-a")]), (EVENTS, [event(3, was_open=True)]))
    assert kind.ask(store, seen)[2:] == [(at(3), "answered", None)]


def test_what_a_dead_writer_left_open_is_lost_and_its_sessions_end(kind: StoreKind, store: Store) -> None:
    for number, name in ((1, "1-dead"), (2, "2-alive")):
        Writer(store, name).write(
            (SESSIONS, [SessionRow(f"s-{number}", 5, number, writer=name)]),
            (OPENED, [opened(number, name, session_id=f"s-{number}")]),
        )
    for _ in range(2):
        store.sweep({"2-alive"})
        assert kind.ask(store, "SELECT ts, outcome, ended_by, ok FROM rpc_events ORDER BY id") == [
            (at(1), "lost", "gateway", False),
            (at(2), None, None, None),
        ]
        assert kind.ask(
            store, "SELECT session_id, tool_call_count, error_count, ended_at FROM sessions ORDER BY 1"
        ) == [("s-1", 1, 1, at(1)), ("s-2", 0, 0, None)]


def test_a_batch_that_fails_leaves_nothing_not_even_its_watermark(kind: StoreKind, store: Store) -> None:
    first, second = Writer(store), Writer(store, "2-b")
    first.write((EVENTS, [event(1)]))
    kind.break_legs(store)
    with pytest.raises(store.failures):
        second.write((EVENTS, [event(2, hops=[HopRow("demo", True)])]), (GAPS, [GapRow(1, 2, 1, "x")]))
    store.close()
    store.open()
    assert dict(store.watermarks([first.segment, second.segment])) == {first.segment: 100}


def test_how_far_each_segment_is_stored_survives_the_store_being_closed(
    kind: StoreKind, store: Store, tmp_path: Path
) -> None:
    writer = Writer(store)
    for number in range(3):
        writer.write((EVENTS, [event(number)]))
    store.close()
    again = kind.store(tmp_path)
    again.open()
    assert again.watermarks([writer.segment]).get(writer.segment) == 300
    assert kind.ask(again, "SELECT count(*) FROM rpc_events") == [(3,)]
    again.close()


def test_a_batch_that_is_stored_already_is_never_stored_twice(kind: StoreKind, store: Store) -> None:
    """As after an answer to COMMIT that was lost, or by a second process on the same folder."""
    writer, twin = Writer(store), Writer(store)
    writer.write((EVENTS, [event(1)]))
    if store.traits.is_shared:
        with pytest.raises(AlreadyStoredError):
            twin.write((EVENTS, [event(1)]))
        assert kind.ask(store, "SELECT count(*) FROM rpc_events") == [(1,)]
    assert store.watermarks([writer.segment])[writer.segment] == 100


@pytest.mark.parametrize("all_odd", [("\x00", "a\x00b"), ("\ufffe", "🎉")])
def test_any_character_reaches_the_store_or_is_replaced(
    kind: StoreKind, store: Store, all_odd: tuple[str, ...]
) -> None:
    rows = [
        event(number, sql=odd, tool_name=odd, request_json=odd.encode(), hops=[HopRow(odd, True, error=odd)])
        for number, odd in enumerate(all_odd, 1)
    ]
    sessions = [SessionRow(f"s-{number}", 1, 1, client_name=odd) for number, odd in enumerate(all_odd, 1)]
    Writer(store).write((EVENTS, [*rows, event(len(rows) + 1)]), (SESSIONS, sessions))
    told = kind.ask(store, "SELECT sql, tool_name, request_json FROM rpc_events ORDER BY id")
    spelled = [odd.replace("\x00", "\ufffd") if store.traits.replaces_nul else odd for odd in all_odd]
    assert told == [*((one, one, one) for one in spelled), (None, None, None)]


def test_a_failure_is_told_in_words(store: Store) -> None:
    told = store.trouble(OSError(28, "No space left on device"))
    assert isinstance(told, SetupError)
    assert "No space left on device" in told.message
    assert told.hint
