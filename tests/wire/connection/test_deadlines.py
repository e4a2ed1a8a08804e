"""The set of moments: what is next, what is due, and that nothing stays behind."""

import time

from hypothesis import given
from hypothesis import strategies as st

from callgate.wire.connection.deadlines import Deadlines


def test_the_next_moment_is_the_least_of_all_durations() -> None:
    deadlines = Deadlines()
    deadlines.add(1, 30.0, now=0.0)
    deadlines.add(2, 10.0, now=5.0)
    deadlines.add(3, 30.0, now=6.0)
    assert deadlines.next_at() == 15.0
    assert deadlines.due(14.9) == []
    assert deadlines.due(15.0) == [2]
    assert deadlines.next_at() == 30.0


def test_what_is_due_comes_earliest_first_across_durations() -> None:
    deadlines = Deadlines()
    deadlines.add(1, 30.0, now=0.0)
    deadlines.add(2, 10.0, now=1.0)
    deadlines.add(3, 10.0, now=2.0)
    deadlines.add(4, 99.0, now=2.0)
    assert deadlines.due(50.0) == [2, 3, 1]
    assert len(deadlines) == 1


def test_a_removed_entry_leaves_nothing_behind() -> None:
    deadlines = Deadlines()
    for key in range(100):
        deadlines.add(key, float(key % 7 + 1), now=0.0)
    for key in range(100):
        deadlines.remove(key)
    deadlines.remove(5)  # once more is fine
    assert len(deadlines) == 0
    assert deadlines.next_at() is None
    assert deadlines._lane_of == {}
    assert not any(deadlines._lanes.values())


def test_a_key_can_be_added_again_with_another_moment_once_it_was_removed() -> None:
    deadlines = Deadlines()
    deadlines.add(1, 30.0, now=0.0)
    deadlines.remove(1)
    assert deadlines.add(1, 30.0, now=20.0) == deadlines.at(1) == 50.0
    assert deadlines.due(49.0) == []
    assert deadlines.due(50.0) == [1]
    assert deadlines.at(1) is None


def test_an_older_reading_of_the_clock_does_not_break_the_order() -> None:
    deadlines = Deadlines()
    deadlines.add(1, 10.0, now=5.0)
    deadlines.add(2, 10.0, now=4.0)
    deadlines.add(3, 10.0, now=5.5)
    assert deadlines.due(15.0) == [1, 2]
    assert deadlines.next_at() == 15.5


def test_a_thousand_different_durations_share_few_lanes_and_are_late_by_a_tenth_at_most() -> None:
    deadlines = Deadlines()
    durations = {key: 5.0 + key * 0.0371 for key in range(1000)}
    for key, duration_s in reversed(durations.items()):
        at = deadlines.add(key, duration_s, now=100.0)
        assert 100.0 + duration_s <= at <= 100.0 + duration_s * 1.1 + 1e-9
        assert deadlines.next_at() == at  # each is shorter than all before it
    assert len(deadlines._lanes) < 32 + 30
    assert sorted(deadlines.due(200.0)) == list(range(1000))
    deadlines.add(1, 1.0, now=200.0)
    assert len(deadlines._lanes) == 1, "empty lanes stay only where there are few"


def test_the_first_of_many_is_found_as_quickly_after_thousands_were_removed_before_it() -> None:
    """The trap of a plain dict: its first entry lies behind the holes of all that were removed."""
    deadlines = Deadlines()
    for key in range(50_000):
        deadlines.add(key, 30.0, now=key * 0.0001)
    begun = time.process_time()
    for key in range(49_999):
        deadlines.remove(key)
        deadlines.next_at()
    # About 0.05 s; with a dict 1.2 billion holes are walked over, which takes seconds.
    assert time.process_time() - begun < 1.0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "remove", "due"]),
            st.integers(0, 20),
            st.one_of(st.sampled_from([0.01, 10.0, 30.0]), st.floats(0.0, 100.0)),
        ),
        max_size=200,
    )
)
def test_it_agrees_with_a_plain_list_of_moments(steps: list[tuple[str, int, float]]) -> None:
    deadlines, plain, now = Deadlines(), dict[int, float](), 0.0
    for action, key, seconds in steps:
        if action == "due":
            now += seconds
            assert set(deadlines.due(now)) == {k for k, at in plain.items() if at <= now}
            plain = {k: at for k, at in plain.items() if at > now}
        elif action == "remove" or key in plain:
            deadlines.remove(key)
            plain.pop(key, None)
        else:
            plain[key] = deadlines.add(key, seconds, now)
            assert now + seconds <= plain[key] <= now + max(0.001, seconds * 1.1) + 1e-9
        assert deadlines.next_at() == min(plain.values(), default=None)
        assert len(deadlines) == len(plain)
        assert len(deadlines._lanes) <= max(8, len(plain) + 1), "empty lanes were left"
