"""Whatever the order of things: one outcome for each request, nothing across epochs, nothing left behind."""

import json
import math
import random
from collections import defaultdict

from examples import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from callgate.model.error_codes import UPSTREAM_EXITED, UPSTREAM_FAILED
from callgate.model.errors import UpstreamError
from callgate.wire.connection.connection import Connection, ConnectionState
from callgate.wire.connection.events import Answered, Cancelled, Ended, Event, Late, Orphan, Progressed, Send

ANY = st.integers(0, 10_000)  # picks one of what there is at that moment
STATES = ConnectionState
LONG_ENOUGH_S = 90.0 + 10.0 + 30.0 + 5.0  # longest time-out used here, and the rest of a tombstone's life


class Conversation(RuleBasedStateMachine):
    """The upstream answers what it was ever sent, as often and as late as it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = Connection(random.Random(1).random)
        self.now = 0.0
        self.labels = 0
        self.asked: dict[int, int] = {}  # rpc_id to label
        self.sent_in: dict[int, int] = {}  # rpc_id to the epoch in which its frame last left
        self.just_sent: list[Send] = []
        self.outcomes: dict[int, list[str]] = defaultdict(list)

    # --- the life of the connection

    @precondition(lambda self: self.connection.state is STATES.STARTING)
    @rule()
    def open(self) -> None:
        self.connection.opened()

    @precondition(lambda self: self.connection.state is STATES.INITIALIZING)
    @rule()
    def become_ready(self) -> None:
        released = self.connection.ready(self.now)
        assert [send.rpc_id for send in released] == sorted(send.rpc_id for send in released)
        for send in released:
            assert send.rpc_id not in self.sent_in, "sent twice"
            self.note_sent(send)

    @precondition(lambda self: self.connection.state is STATES.INITIALIZING)
    @rule()
    def shake_hands(self) -> None:
        label = self.new_label()
        send = self.connection.ask_handshake("initialize", b"{}", label, self.now)
        self.asked[send.rpc_id] = label
        self.note_sent(send)

    @rule()
    def lose(self) -> None:
        self.note(self.connection.lost(UpstreamError(UPSTREAM_EXITED, "gone"), self.now))

    @precondition(lambda self: self.connection.state is STATES.BACKOFF)
    @rule()
    def retry(self) -> None:
        self.connection.retrying()

    # --- requests

    @precondition(lambda self: self.connection.state in (STATES.STARTING, STATES.INITIALIZING, STATES.READY))
    @rule(
        timeout_s=st.sampled_from([None, 0.02, 5.0, 90.0]),
        wants_progress=st.booleans(),
        count=st.integers(1, 5),
    )
    def ask(self, timeout_s: float | None, wants_progress: bool, count: int) -> None:
        for _ in range(count):
            label = self.new_label()
            params = b'{"_meta":{"progressToken":"label %d"}}' % label if wants_progress else b"{}"
            made = self.connection.ask("tools/call", params, label, timeout_s, self.now)
            assert made.rpc_id not in self.asked, "an id was used again"
            self.asked[made.rpc_id] = label
            if isinstance(made, Send):
                self.note_sent(made)

    @precondition(lambda self: self.just_sent)
    @rule(which=ANY)
    def find_the_transport_busy(self, which: int) -> None:
        send = self.just_sent.pop(which % len(self.just_sent))
        ended = self.connection.busy(send, self.now)
        if ended is not None:
            self.note([ended])
        if ended is not None or self.connection.find(send.rpc_id) is not None:  # it waits to be sent again
            del self.sent_in[send.rpc_id]

    @precondition(lambda self: self.asked)
    @rule(which=ANY)
    def cancel(self, which: int) -> None:
        rpc_id = self.pick(which)
        cancelled = self.connection.cancel(rpc_id, "no longer wanted", self.now)
        if cancelled is not None:
            assert (cancelled.frame is not None) == (
                rpc_id in self.sent_in and not cancelled.pending.handshake
            )
            self.note([cancelled])

    @precondition(lambda self: self.asked)
    @rule(which=ANY)
    def fail(self, which: int) -> None:
        ended = self.connection.fail(self.pick(which), UpstreamError(UPSTREAM_FAILED, "HTTP 500"), self.now)
        self.note([] if ended is None else [ended])

    @precondition(lambda self: self.asked)
    @rule(which=ANY)
    def pause(self, which: int) -> None:
        self.connection.pause(self.pick(which), self.now)

    @precondition(lambda self: self.asked)
    @rule(which=ANY)
    def resume(self, which: int) -> None:
        self.connection.resume(self.pick(which), self.now)

    # --- what the upstream says

    @precondition(lambda self: self.asked)
    @rule(which=ANY, copies=st.integers(1, 3))
    def answer(self, which: int, copies: int) -> None:
        rpc_id = self.pick(which)
        frame = b'{"jsonrpc":"2.0","id":%d,"result":{"to":%d}}' % (rpc_id, rpc_id)
        for copy in range(copies):
            [event] = self.connection.receive(frame, None, self.now)
            assert isinstance(event, Answered | Late | Orphan)
            if isinstance(event, Answered):
                assert copy == 0, "a duplicate was delivered"
                assert self.sent_in[rpc_id] == self.connection.epoch, "delivered across epochs"
                assert event.pending.call == self.asked[rpc_id], "delivered to another request"
                assert json.loads(event.result or b"") == {"to": rpc_id}
                self.note([event])

    @precondition(lambda self: self.asked)
    @rule(which=ANY)
    def report_progress(self, which: int) -> None:
        rpc_id = self.pick(which)
        frame = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d}}' % rpc_id
        [event] = self.connection.receive(frame, None, self.now)
        assert isinstance(event, Progressed | Late | Orphan)
        if isinstance(event, Progressed):
            assert json.loads(event.params) == {"progressToken": f"label {self.asked[rpc_id]}"}
            assert self.sent_in[rpc_id] == self.connection.epoch
            assert not self.outcomes[self.asked[rpc_id]], "progress after the end"

    @rule(seconds=st.sampled_from([0.001, 0.01, 0.02, 1.0, 5.0, 29.0, 100.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.tick()

    # --- what always holds

    @invariant()
    def every_request_is_open_or_has_one_outcome(self) -> None:
        assert all(len(outcomes) <= 1 for outcomes in self.outcomes.values()), self.outcomes
        ended = sum(map(len, self.outcomes.values()))
        assert self.connection.in_flight == self.labels - ended

    @invariant()
    def timers_belong_to_open_requests_and_tombstones_to_ended_ones(self) -> None:
        table = self.connection._table
        for pending in table:
            assert (pending.due_at < math.inf) == (pending.pauses == 0)
            assert (pending.retry_at < math.inf) == (pending.unsent is not None and pending.sends > 0)
            assert table._soonest <= min(pending.due_at, pending.retry_at)
        expiries = [tombstone.expires for tombstone in table._tombstones.values()]
        assert expiries == sorted(expiries)
        assert not set(table._tombstones) & set(table._pending)

    def teardown(self) -> None:
        self.note(self.connection.close(self.now))
        assert self.connection.close(self.now) == []
        assert sorted(self.outcomes) == list(range(self.labels))
        assert all(len(outcomes) == 1 for outcomes in self.outcomes.values())
        self.now += LONG_ENOUGH_S
        assert self.connection.tick(self.now) == []
        table = self.connection._table
        assert (len(table), table._tombstones) == (0, {})
        assert table.next_at() is None

    # --- bookkeeping

    def new_label(self) -> int:
        self.labels += 1
        return self.labels - 1

    def pick(self, which: int) -> int:
        """Any request ever, the recent ones more often: they are those that are still open."""
        ids = list(self.asked)
        recent = ids[-6:]
        return recent[which % len(recent)] if which % 4 else ids[which % len(ids)]

    def note_sent(self, send: Send) -> None:
        assert json.loads(send.frame)["id"] == send.rpc_id
        self.sent_in[send.rpc_id] = self.connection.epoch
        self.just_sent.append(send)

    def note(self, ends: list[Ended] | list[Event] | list[Cancelled]) -> None:
        for end in ends:
            assert isinstance(end, Answered | Ended | Cancelled)
            self.outcomes[end.pending.call].append(type(end).__name__)
            self.just_sent = [send for send in self.just_sent if send.rpc_id != end.pending.rpc_id]

    def tick(self) -> None:
        for event in self.connection.tick(self.now):
            if isinstance(event, Send):
                assert self.outcomes[self.asked[event.rpc_id]] == []
                assert self.connection._table._pending[event.rpc_id].sends <= 3
                self.note_sent(event)
            else:
                self.note([event])
        next_deadline = self.connection.next_deadline()
        assert next_deadline is None or next_deadline > self.now


Conversation.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=60)
TestWhateverHappensInAConversation = Conversation.TestCase


def test_ten_thousand_in_flight_answered_in_random_order_all_get_their_own_answer() -> None:
    chance = random.Random(2026)
    connection = Connection(chance.random)
    connection.opened()
    connection.ready(0.0)
    calls = {connection.ask("tools/call", b"{}", n, None, n * 0.0001).rpc_id: n for n in range(10_000)}
    assert connection.in_flight == 10_000
    order = list(calls)
    chance.shuffle(order)
    for step, rpc_id in enumerate(order):
        now = 1.0 + step * 0.0001
        [event] = connection.receive(b'{"jsonrpc":"2.0","id":%d,"result":%d}' % (rpc_id, rpc_id), None, now)
        assert isinstance(event, Answered)
        assert (event.pending.call, event.result) == (calls[rpc_id], b"%d" % rpc_id)
        assert connection.tick(now) == []
    assert (connection.in_flight, connection.next_deadline()) == (0, None)
