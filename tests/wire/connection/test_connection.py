"""Our side of a conversation with an upstream, as dialogues; the numbers are the rules of
`wire.connection.connection`.

Rules 6, 7 and 9, and the progress of rule 2, are about what comes in: see test_incoming.py.
"""

import json

import pytest
from wire.dialogue import EXITED, Dialogue

from callgate.model.error_codes import (
    UPSTREAM_BUSY,
    UPSTREAM_EXITED,
    UPSTREAM_FAILED,
    UPSTREAM_TIMEOUT,
    UPSTREAM_UNAVAILABLE,
)
from callgate.model.errors import UpstreamError
from callgate.wire.connection.connection import ConnectionState
from callgate.wire.connection.events import (
    Answered,
    Cancelled,
    Ended,
    Held,
    Late,
    Orphan,
    Send,
)
from callgate.wire.connection.request_table import NO_TIMEOUT


def test_rule_1_a_request_while_starting_is_held_and_sent_in_order_when_ready() -> None:
    dialogue = Dialogue(ready=False)
    first = dialogue.connection.ask("tools/list", b'{"a":1}', None, None, dialogue.now)
    assert isinstance(first, Held)
    dialogue.connection.opened()
    second = dialogue.connection.ask("tools/call", b"", None, None, dialogue.now)
    assert isinstance(second, Held)
    released = dialogue.connection.ready(dialogue.now)
    assert released == [
        Send(first.rpc_id, b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":1}}'),
        Send(second.rpc_id, b'{"jsonrpc":"2.0","id":2,"method":"tools/call"}'),
    ]
    assert isinstance(dialogue.reply(second.rpc_id), Answered)


def test_rule_1_a_held_request_times_out_without_ever_being_sent() -> None:
    dialogue = Dialogue(ready=False)
    held = dialogue.ask(timeout_s=5.0)
    [ended] = dialogue.tick(5.0)
    assert isinstance(ended, Ended)
    assert (ended.pending.rpc_id, ended.error.code, ended.frame) == (held, UPSTREAM_TIMEOUT, None)
    assert "not ready" in ended.error.message
    assert dialogue.shake_hands() == []


def test_rule_1_a_held_request_whose_time_is_up_is_not_sent_before_the_tick_ends_it() -> None:
    dialogue = Dialogue(ready=False)
    dialogue.ask(timeout_s=5.0)
    dialogue.now += 5.0
    assert dialogue.shake_hands() == []
    assert len(dialogue.tick()) == 1


def test_rule_1_in_backoff_a_request_fails_at_once_with_the_reason() -> None:
    dialogue = Dialogue()
    dialogue.connection.lost(EXITED, dialogue.now)
    with pytest.raises(UpstreamError, match=r"ended with status 1.*next attempt is in 1 s") as caught:
        dialogue.ask()
    assert (caught.value.code, caught.value.hint) == (UPSTREAM_UNAVAILABLE, "See its stderr")
    assert dialogue.connection.in_flight == 0


def test_rule_1_when_closing_a_request_fails_at_once() -> None:
    dialogue = Dialogue()
    dialogue.connection.close(dialogue.now)
    with pytest.raises(UpstreamError, match="closed"):
        dialogue.ask()
    with pytest.raises(UpstreamError, match="closed"):
        dialogue.connection.ask_handshake("initialize", b"{}", None, dialogue.now)


def test_rule_1_a_word_from_before_a_loss_means_nothing_but_a_wrong_order_is_a_bug() -> None:
    dialogue = Dialogue(ready=False)
    with pytest.raises(RuntimeError, match="starting"):
        dialogue.connection.ready(dialogue.now)
    dialogue.connection.lost(EXITED, dialogue.now)  # the child died while it was being started
    dialogue.connection.opened()
    assert dialogue.connection.ready(dialogue.now) == []
    assert dialogue.connection.state is ConnectionState.BACKOFF
    dialogue.connection.retrying()
    dialogue.connection.retrying()
    assert dialogue.connection.state is ConnectionState.STARTING


def test_rule_2_a_request_is_in_the_table_with_its_timer_when_its_frame_is_handed_out() -> None:
    dialogue = Dialogue()
    call = object()
    sent = dialogue.connection.ask("tools/call", b"{}", call, None, dialogue.now)
    assert isinstance(sent, Send)
    assert (dialogue.connection.in_flight, dialogue.connection.next_deadline()) == (1, dialogue.now + 30.0)
    answered = dialogue.reply(sent.rpc_id)
    assert answered.pending.call is call
    assert json.loads(answered.result) == {"of": sent.rpc_id}
    assert (dialogue.connection.in_flight, dialogue.connection.next_deadline()) == (0, None)


def test_rule_2_the_timer_pauses_while_the_clients_input_is_awaited() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask(timeout_s=30.0)
    dialogue.now += 20.0
    dialogue.connection.pause(rpc_id, dialogue.now)
    assert dialogue.tick(3600.0) == []
    dialogue.connection.resume(rpc_id, dialogue.now)
    assert dialogue.tick(9.9) == []
    assert len(dialogue.tick(0.1)) == 1


def test_a_subscription_has_no_time_out() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask(timeout_s=NO_TIMEOUT)
    assert dialogue.connection.next_deadline() is None
    assert dialogue.tick(1e6) == []
    assert isinstance(dialogue.reply(rpc_id), Answered)


def test_rule_3_whatever_comes_first_is_the_only_outcome() -> None:
    dialogue = Dialogue()
    answered, cancelled, failed, overdue = (dialogue.ask(timeout_s=5.0) for _ in range(4))
    failure = UpstreamError(UPSTREAM_FAILED, "HTTP 500")
    connection = dialogue.connection
    assert isinstance(dialogue.reply(answered), Answered)
    assert isinstance(connection.cancel(cancelled, "gone", dialogue.now), Cancelled)
    ended = connection.fail(failed, failure, dialogue.now)
    assert ended is not None
    assert (ended.pending.rpc_id, ended.error) == (failed, failure)
    [timed_out] = dialogue.tick(5.0)
    assert isinstance(timed_out, Ended)
    assert timed_out.pending.rpc_id == overdue
    for rpc_id in (answered, cancelled, failed, overdue):
        assert connection.cancel(rpc_id, "again", dialogue.now) is None
        assert connection.fail(rpc_id, failure, dialogue.now) is None
        assert connection.busy(Send(rpc_id, b"{}"), dialogue.now) is None
        assert isinstance(dialogue.reply(rpc_id), Late | Orphan)
        connection.pause(rpc_id, dialogue.now)
        connection.resume(rpc_id, dialogue.now)
    assert (dialogue.tick(100.0), connection.in_flight, connection.next_deadline()) == ([], 0, None)


def test_rule_3_an_error_is_an_answer_too() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask()
    event = dialogue.hear({"id": rpc_id, "error": {"code": -32601, "message": "no"}})
    assert isinstance(event, Answered)
    assert event.result is None
    assert json.loads(event.error or b"") == {"code": -32601, "message": "no"}


@pytest.mark.parametrize(("random", "delay_s"), [(0.0, 0.005), (0.5, 0.010), (0.999, 0.015)])
def test_rule_4_a_busy_transport_is_tried_three_times_in_all_then_the_caller_is_told(
    random: float, delay_s: float
) -> None:
    dialogue = Dialogue(random)
    sent = dialogue.connection.ask("tools/call", b"{}", None, None, dialogue.now)
    assert isinstance(sent, Send)
    for _ in range(2):
        assert dialogue.connection.busy(sent, dialogue.now) is None
        retry_at = dialogue.connection.next_deadline()
        assert retry_at is not None
        assert retry_at - dialogue.now == pytest.approx(delay_s, abs=1e-4)
        dialogue.now = retry_at
        assert dialogue.tick() == [sent]
    ended = dialogue.connection.busy(sent, dialogue.now)
    assert isinstance(ended, Ended)
    assert (ended.error.code, ended.frame, ended.pending.sends) == (UPSTREAM_BUSY, None, 3)


def test_rule_4_there_is_no_retry_past_the_requests_own_time_out() -> None:
    dialogue = Dialogue()
    sent = dialogue.connection.ask("tools/call", b"{}", None, 0.008, dialogue.now)
    assert isinstance(sent, Send)
    ended = dialogue.connection.busy(sent, dialogue.now)
    assert isinstance(ended, Ended)
    assert ended.error.code is UPSTREAM_BUSY


def test_rule_4_a_request_that_waits_for_a_retry_has_nothing_to_cancel_upstream() -> None:
    dialogue = Dialogue()
    sent = dialogue.connection.ask("tools/call", b"{}", None, None, dialogue.now)
    assert isinstance(sent, Send)
    dialogue.connection.busy(sent, dialogue.now)
    assert isinstance(dialogue.reply(sent.rpc_id), Orphan)  # it cannot have been answered: it was never sent
    cancelled = dialogue.connection.cancel(sent.rpc_id, "gone", dialogue.now)
    assert cancelled is not None
    assert cancelled.frame is None
    assert dialogue.tick(1.0) == []


def test_rule_5_a_time_out_cancels_at_the_upstream_with_our_id() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask(timeout_s=30.0)
    assert dialogue.tick(29.9) == []
    [ended] = dialogue.tick(0.1)
    assert isinstance(ended, Ended)
    assert ended.error.code is UPSTREAM_TIMEOUT
    assert ended.error.message == "The server did not answer tools/call within 30 s"
    assert json.loads(ended.frame or b"") == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": rpc_id, "reason": "timed out"},
    }


def test_rule_5_a_cancel_says_the_reason_whatever_is_in_it() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask()
    cancelled = dialogue.connection.cancel(rpc_id, 'he said "stop" \ud800', dialogue.now)
    assert cancelled is not None
    params = json.loads(cancelled.frame or b"")["params"]
    assert params == {"requestId": rpc_id, "reason": 'he said "stop" ?'}


def test_rule_5_a_handshake_is_never_cancelled_and_has_two_minutes() -> None:
    dialogue = Dialogue(ready=False)
    dialogue.connection.opened()
    probe = dialogue.connection.ask_handshake("server/discover", b"{}", "probe", dialogue.now, 2.0)
    hello = dialogue.connection.ask_handshake("initialize", b"{}", "hello", dialogue.now)
    cancelled = dialogue.connection.cancel(probe.rpc_id, "silence", dialogue.now)
    assert cancelled is not None
    assert cancelled.frame is None
    assert dialogue.tick(119.9) == []
    [ended] = dialogue.tick(0.1)
    assert isinstance(ended, Ended)
    assert (ended.pending.rpc_id, ended.pending.call, ended.frame) == (hello.rpc_id, "hello", None)


def test_rule_5_a_held_request_has_nothing_to_cancel_upstream() -> None:
    dialogue = Dialogue(ready=False)
    cancelled = dialogue.connection.cancel(dialogue.ask(), "gone", dialogue.now)
    assert cancelled is not None
    assert cancelled.frame is None
    assert dialogue.shake_hands() == []


def test_rule_8_a_loss_fails_everything_in_flight_with_its_reason_each_with_its_own_error() -> None:
    dialogue = Dialogue()
    asked = [dialogue.ask() for _ in range(3)]
    ends = dialogue.connection.lost(EXITED, dialogue.now)
    assert [ended.pending.rpc_id for ended in ends] == asked
    assert {(ended.error.code, ended.error.message, ended.frame) for ended in ends} == {
        (UPSTREAM_EXITED, EXITED.message, None)
    }
    assert len({id(ended.error) for ended in ends}) == 3
    assert dialogue.connection.lost(EXITED, dialogue.now) == []
    assert dialogue.connection.next_deadline() is None


@pytest.mark.parametrize(
    ("random", "delays_s"),
    [
        (0.5, [1, 2, 4, 8, 16, 30, 30]),
        (0.0, [0.8, 1.6, 3.2, 6.4, 12.8, 24, 24]),
        (1.0, [1.2, 2.4, 4.8, 9.6, 19.2, 30, 30]),
    ],
)
def test_rule_8_the_wait_doubles_up_to_thirty_seconds_and_success_resets_it(
    random: float, delays_s: list[float]
) -> None:
    dialogue = Dialogue(random, ready=False)
    for delay_s in delays_s:
        dialogue.connection.lost(EXITED, dialogue.now)
        retry_at = dialogue.connection.retry_at
        assert retry_at is not None
        assert retry_at - dialogue.now == pytest.approx(delay_s)
        dialogue.now = retry_at
        dialogue.connection.retrying()
        assert dialogue.connection.retry_at is None
    dialogue.shake_hands()
    dialogue.connection.lost(EXITED, dialogue.now)
    assert dialogue.connection.retry_at == pytest.approx(dialogue.now + delays_s[0])


def test_rule_10_close_ends_everything_once_and_can_be_said_twice() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask()
    [ended] = dialogue.connection.close(dialogue.now)
    assert ended.error.code is UPSTREAM_UNAVAILABLE
    assert dialogue.connection.close(dialogue.now) == []
    assert dialogue.connection.lost(EXITED, dialogue.now) == []
    dialogue.connection.retrying()
    dialogue.connection.opened()
    assert dialogue.connection.ready(dialogue.now) == []
    assert dialogue.connection.state is ConnectionState.CLOSING
    assert isinstance(dialogue.reply(rpc_id), Late)
    late_word = b'{"jsonrpc":"2.0","method":"notifications/message"}'
    assert dialogue.connection.receive(late_word, None, dialogue.now) == []


def test_rule_10_nothing_is_replayed_after_a_reconnect() -> None:
    dialogue = Dialogue()
    sent = dialogue.connection.ask("tools/call", b"{}", None, None, dialogue.now)
    assert isinstance(sent, Send)
    dialogue.connection.busy(sent, dialogue.now)
    dialogue.ask()
    dialogue.connection.lost(EXITED, dialogue.now)
    dialogue.connection.retrying()
    assert dialogue.shake_hands() == []
    assert dialogue.tick(60.0) == []
