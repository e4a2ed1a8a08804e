"""Which rows an event makes, and which it does not."""

import time

import msgspec
import pytest
from recorder.happenings import REDACTOR, ROW_REDACTOR, a_session, opened, settled

from callgate.model.events import ExchangeOpened, SessionClosed
from callgate.recorder.build_rows import event_row
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Grouper
from callgate.recorder.losses import Losses
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.sequence import Sequence


@pytest.fixture
def grouper() -> Grouper:
    return Grouper(Sequence(), "writer")


def test_a_session_is_told_when_it_opens_and_closes_and_not_with_each_call(grouper: Grouper) -> None:
    session = a_session()
    first = grouper.group([opened(session), settled(session), settled(session)], Losses())
    assert ([row.session_id for row in first.sessions], len(first.calls)) == (["s-1"], 2)
    assert first.created == first.sessions
    session.ended_at = 5.0
    last = grouper.group([settled(session), SessionClosed(session)], Losses())
    assert [row.ended_at for row in last.sessions] == [5_000_000]


def test_every_day_has_a_row_of_each_session_used_on_it(
    grouper: Grouper, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = a_session()
    grouper.group([opened(session)], Losses())
    assert grouper.group([settled(session)], Losses()).sessions == []
    tomorrow = time.time() + 86_400
    monkeypatch.setattr("callgate.recorder.group_rows.time.time", lambda: tomorrow)
    again = grouper.group([settled(session)], Losses())
    assert ([row.session_id for row in again.sessions], again.created) == (["s-1"], [])


def test_a_call_that_ended_at_once_leaves_one_row_and_one_that_lasts_two(grouper: Grouper) -> None:
    quick, slow = settled(a_session()), settled(a_session())
    settlement, slow.exchange.settlement = slow.exchange.settlement, None
    quick.exchange.opened_mono = slow.exchange.opened_mono = time.monotonic() - 1
    group = grouper.group([ExchangeOpened(quick.exchange), ExchangeOpened(slow.exchange), quick], Losses())
    assert [row.id for row in group.opened] == [slow.exchange.exchange_id]
    assert (group.opened[0].writer, group.opened[0].outcome) == ("writer", None)
    group.spell_out_calls()
    assert [(row.id, row.was_open) for row in group.events] == [(quick.exchange.exchange_id, False)]
    slow.exchange.settlement = settlement
    group = grouper.group([slow], Losses())
    assert [(row.id, row.was_open) for row in group.events] == [(slow.exchange.exchange_id, True)]
    assert grouper.group([], Losses()).opened == []


def test_a_name_with_a_lone_surrogate_costs_its_odd_characters_only(grouper: Grouper) -> None:
    odd, usual = settled(a_session()), settled(a_session())
    odd.exchange.server_name = "\ud800"
    group = grouper.group([odd, usual], Losses())
    frames = b"".join(Framer(ROW_REDACTOR).frames_of(group))
    assert odd.exchange.exchange_id.encode() in frames
    assert usual.exchange.exchange_id.encode() in frames


def test_an_exchange_that_is_not_settled_after_all_is_counted(grouper: Grouper) -> None:
    odd = settled(a_session())
    odd.exchange.settlement = None
    group = grouper.group([odd], Losses())
    assert group.events == []
    assert [msgspec.to_builtins(row)["count"] for row in group.gaps] == [1]


def test_open_calls_of_many_bytes_are_written_a_part_at_a_time_and_all(
    grouper: Grouper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.recorder.group_rows._OPEN_BYTES", 30)
    calls = [settled(a_session(), params=b'{"name":"demo__query"}').exchange for _ in range(5)]
    for call in calls:
        call.settlement, call.opened_mono = None, time.monotonic() - 1
    first = grouper.group([ExchangeOpened(call) for call in calls], Losses())
    parts = [first, grouper.group([], Losses()), grouper.group([], Losses())]
    assert [len(part.opened) for part in parts] == [2, 2, 1]
    assert [row.id for part in parts for row in part.opened] == [call.exchange_id for call in calls]


@pytest.mark.parametrize(
    ("server", "is_masked"), [("a", True), ("demo", False), ("aggregate", True), (None, True)]
)
def test_a_rule_of_one_server_holds_wherever_it_may_have_spoken(server: str | None, is_masked: bool) -> None:
    redactor = RowRedactor(REDACTOR, 1000, {"a": Redactor(["pin"])})
    exchange = settled(a_session(), params=b'{"pin":"a pin"}').exchange
    exchange.server_name = server
    rows = [event_row(exchange)]
    redactor.events_json(rows)
    assert ("a pin" not in repr(rows)) == is_masked
