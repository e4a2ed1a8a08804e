"""The table of one connection's requests: each leaves once, and with its timers."""

from callgate.wire.connection.request_table import NO_TIMEOUT, TOMBSTONE_EXTRA_S, Pending, RequestTable


def added(table: RequestTable, now: float = 0.0, timeout_s: float = 30.0) -> Pending:
    pending = Pending(next(table.new_ids), "tools/call", None, table.epoch, now, timeout_s)
    table.add(pending, now)
    return pending


def test_ids_only_grow_also_after_requests_have_left() -> None:
    table = RequestTable()
    first = added(table)
    table.answer(first.rpc_id)
    second = added(table)
    table.end(second, now=0.0)
    assert first.rpc_id < second.rpc_id < added(table).rpc_id


def test_an_answered_request_leaves_no_timer_and_no_tombstone() -> None:
    table = RequestTable()
    pending = added(table)
    table.answer(pending.rpc_id)
    assert (len(table), table.tombstones, table.next_at()) == (0, 0, None)
    assert table.tombstone(pending.rpc_id, now=0.0) is None


def test_an_ended_request_leaves_a_tombstone_that_expires_on_lookup_and_by_sweeping() -> None:
    table = RequestTable()
    pending = added(table, timeout_s=90.0)  # the longest time-out in use counts
    table.end(pending, now=10.0)
    expires = 10.0 + 90.0 + TOMBSTONE_EXTRA_S
    tombstone = table.tombstone(pending.rpc_id, now=expires - 0.1)
    assert tombstone is not None
    assert (tombstone.method, tombstone.ended) == ("tools/call", 10.0)
    assert table.tombstone(pending.rpc_id, now=expires) is None
    assert table.tombstones == 1
    table.sweep(expires)
    assert table.tombstones == 0


def test_tombstones_are_swept_by_new_ones_too_so_that_they_cannot_pile_up() -> None:
    table = RequestTable()
    for second in range(1000):
        table.end(added(table, now=float(second)), now=float(second))
    assert table.tombstones == 30 + TOMBSTONE_EXTRA_S


def test_a_pause_keeps_the_remaining_time_and_two_pauses_need_two_resumes() -> None:
    table = RequestTable()
    pending = added(table, now=0.0)
    table.pause(pending, now=10.0)
    table.pause(pending, now=12.0)
    assert table.timed_out(1000.0) == []
    table.resume(pending, now=1000.0)
    assert pending.due_at == NO_TIMEOUT
    table.resume(pending, now=2000.0)
    assert pending.due_at == 2020.0
    table.resume(pending, now=2005.0)  # one too many changes nothing
    assert pending.due_at == 2020.0
    assert table.timed_out(2020.0) == [pending]


def test_progress_extends_the_time_out_up_to_ten_times_its_length_but_five_minutes_at_least() -> None:
    table = RequestTable()
    short, long = added(table, timeout_s=10.0), added(table, timeout_s=60.0)
    for second in range(0, 700, 5):
        for pending in (short, long):
            if pending in list(table):
                table.extend(pending, now=float(second))
        for pending in table.timed_out(float(second)):
            table.end(pending, now=float(second))
            assert second == {short: 300, long: 600}[pending]
    assert len(table) == 0


def test_the_time_a_person_thinks_does_not_count_towards_the_total() -> None:
    table = RequestTable()
    pending = added(table, now=0.0)
    table.pause(pending, now=10.0)
    table.resume(pending, now=1010.0)
    table.extend(pending, now=1011.0)
    assert pending.due_at == 1041.0
    assert pending.gives_up_at == 300.0 + 1000.0


def test_progress_during_a_pause_gives_back_the_full_time_afterwards() -> None:
    table = RequestTable()
    pending = added(table, now=0.0)
    table.pause(pending, now=25.0)
    table.extend(pending, now=26.0)
    assert pending.due_at == NO_TIMEOUT
    table.resume(pending, now=40.0)
    assert pending.due_at == 70.0


def test_a_request_without_a_time_out_never_has_a_timer_and_does_not_prolong_tombstones() -> None:
    table = RequestTable()
    forever = added(table, timeout_s=NO_TIMEOUT)
    table.extend(forever, now=1.0)
    table.pause(forever, now=2.0)
    table.resume(forever, now=3.0)
    assert table.next_at() is None
    table.end(added(table), now=0.0)
    table.sweep(30.0 + TOMBSTONE_EXTRA_S)
    assert table.tombstones == 0
    assert list(table) == [forever]


def test_a_request_of_an_older_epoch_or_one_that_never_left_is_not_awaited() -> None:
    table = RequestTable()
    old, held = added(table), added(table)
    held.unsent = b"{}"
    assert table.awaited(old.rpc_id) is old
    assert table.awaited(held.rpc_id) is None
    table.epoch += 1
    assert table.awaited(old.rpc_id) is None
    assert table.tombstone(old.rpc_id, now=1.0) is not None
    assert table.tombstone(held.rpc_id, now=1.0) is None


def test_ending_removes_a_waiting_retry_as_well() -> None:
    table = RequestTable()
    pending = added(table)
    table.wait_to_retry(pending, b"{}", 0.01, now=0.0)
    assert table.next_at() == 0.01
    table.end(pending, now=0.0)
    assert table.next_at() is None
    assert table.to_retry(1.0) == []


def test_what_is_due_comes_earliest_first_whatever_the_time_outs_are() -> None:
    table = RequestTable()
    last, first = added(table, now=0.0, timeout_s=30.0), added(table, now=1.0, timeout_s=10.0)
    second, never = added(table, now=2.0, timeout_s=10.0), added(table, now=2.0, timeout_s=99.0)
    assert table.next_at() == 11.0
    assert table.timed_out(10.9) == []
    assert table.timed_out(50.0) == [first, second, last]
    for pending in (first, second, last):
        table.end(pending, now=50.0)
    assert table.to_retry(50.0) == []
    assert (table.next_at(), list(table)) == (101.0, [never])


def test_the_moment_of_an_answered_request_is_forgotten_when_it_comes() -> None:
    table = RequestTable()
    answered, open_one = added(table, now=0.0), added(table, now=20.0)
    table.answer(answered.rpc_id)
    assert table.next_at() == 30.0  # not later than anything is due
    assert (table.timed_out(30.0), table.to_retry(30.0)) == ([], [])
    assert table.next_at() == open_one.due_at == 50.0
