"""The queue between loop and recorder: bounded by bytes, bodies go first, and every loss is counted."""

import pytest
from recorder.happenings import NOW_S, a_session, opened, settled

from callgate.model.events import Aside, ExchangeOpened, ExchangeSettled, SessionOpened
from callgate.model.exchange import EndedBy, Outcome, Settlement
from callgate.recorder.intake import OBJECT_BYTES, Bodiless, Intake

BODY = b'{"name":"%b"}' % (b"x" * 3000)
SIZE = OBJECT_BYTES + 4 * len(BODY)


def call(number: int) -> ExchangeSettled:
    return settled(a_session(), NOW_S + number, params=BODY, reply=BODY, sql=f"SELECT {number}")


def test_what_fits_comes_out_in_its_order_and_leaves_nothing_behind() -> None:
    intake = Intake()
    calls = [call(number) for number in range(10)]
    for event in calls:
        intake.put(event)
    assert intake.take(4, 10**9) + intake.take(100, 10**9) == calls
    assert (len(intake), intake.size_bytes, intake.take_losses().rows()) == (0, 0, [])


def test_a_group_ends_at_its_bytes() -> None:
    intake = Intake()
    for number in range(10):
        intake.put(call(number))
    assert len(intake.take(100, 2 * SIZE)) == 2


def test_past_the_first_limit_bodies_go_and_past_the_second_only_the_count_is_left() -> None:
    intake = Intake(bodies_until_bytes=4 * SIZE, rows_until_bytes=4 * SIZE + 3 * OBJECT_BYTES)
    intake.reason = "No space left on device"
    for number in range(20):
        intake.put(call(number))
        assert intake.size_bytes <= 4 * SIZE + 3 * OBJECT_BYTES
    taken = intake.take(100, 10**9)
    assert [type(event) for event in taken] == [ExchangeSettled] * 4 + [Bodiless] * 3
    bodiless, missing = intake.take_losses().rows()
    assert (bodiless.count, bodiless.reason) == (3, "recorded without bodies: No space left on device")
    assert (missing.count, missing.reason) == (13, "not recorded: No space left on device")
    assert (missing.since, missing.until) == (int((NOW_S + 7) * 1e6), int((NOW_S + 19) * 1e6))
    assert intake.take_losses().rows() == []
    intake.put(call(20))
    assert isinstance(intake.take(1, 1)[0], ExchangeSettled), "there is room again"


def test_a_call_without_bodies_keeps_its_statement_and_their_sizes() -> None:
    intake = Intake(bodies_until_bytes=0)
    intake.put(call(1))
    (bare,) = intake.take(1, 1)
    assert isinstance(bare, Bodiless)
    assert (bare.request_bytes, bare.response_bytes) == (len(BODY), len(BODY))
    assert bare.exchange.hops[0].facts is not None
    assert bare.exchange.hops[0].facts.sql == "SELECT 1"
    assert b"xxx" not in repr(bare).encode()


@pytest.mark.parametrize("event", [opened(a_session()), ExchangeOpened(call(1).exchange)])
def test_in_a_squeeze_a_session_is_kept_and_an_opening_is_left_to_its_end(
    event: SessionOpened | ExchangeOpened,
) -> None:
    intake = Intake(bodies_until_bytes=0)
    intake.put(event)
    assert len(intake) == isinstance(event, SessionOpened)
    assert intake.take_losses().rows() == []


def said(number: int) -> Aside:
    return Aside(
        event_id=f"{number}",
        at_s=NOW_S + number,
        method="notifications/message",
        settlement=Settlement(Outcome.ANSWERED, EndedBy.GATEWAY),
        params=BODY,
        size_bytes=len(BODY),
        sender="server",
    )


def test_what_a_server_says_out_of_turn_weighs_what_it_holds() -> None:
    weight = OBJECT_BYTES + len(BODY)
    intake = Intake(bodies_until_bytes=2 * weight, rows_until_bytes=2 * weight + OBJECT_BYTES)
    for number in range(5):
        intake.put(said(number))
    taken = intake.take(100, 10**9)
    assert [event.params for event in taken if isinstance(event, Aside)] == [BODY, BODY, b""]
    assert [row.count for row in intake.take_losses().rows()] == [1, 2]
