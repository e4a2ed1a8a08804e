"""When the store is brought up to date: as soon as a round is due, and not oftener than needed."""

from dataclasses import replace

import pytest

from callgate.ports.record_store import StoreTraits
from callgate.recorder.flush.round_times import RoundTimes
from callgate.recorder.stores.duckdb.record_store import TRAITS

LOOK_S = 0.25


def times_of(flush_every_s: float, *, is_shared: bool = False) -> RoundTimes:
    traits: StoreTraits = replace(TRAITS, flush_every_s=flush_every_s, is_shared=is_shared)
    return RoundTimes(traits, 0.0)


def end(times: RoundTimes, now_s: float, *, has_failed: bool = False) -> None:
    times.ended(now_s, lambda least, most: (least + most) / 2, has_failed=has_failed, is_watched=False)


def look_while_calls_come(times: RoundTimes, begin_s: float, most_s: float) -> float:
    """How long after the first call a round is due."""
    now_s, size = begin_s, 100
    while not times.is_due(size, now_s):
        assert now_s - begin_s < most_s
        now_s, size = now_s + times.next_look_s(now_s), size + 100
    return now_s - begin_s


@pytest.mark.parametrize("pause_s", [0.0, 4.0, 59.0])
def test_calls_that_go_on_wait_as_long_after_a_pause_as_ever(pause_s: float) -> None:
    times, now_s = times_of(5.0), 0.0
    while now_s < pause_s:
        assert not times.is_due(0, now_s)
        now_s += times.next_look_s(now_s)
    assert look_while_calls_come(times, now_s, 6.0) == pytest.approx(5.0, abs=LOOK_S)


def test_calls_that_go_on_while_a_round_stores_wait_from_its_end() -> None:
    times = times_of(5.0)
    times.stored(50)
    end(times, 3.0)
    assert look_while_calls_come(times, 3.0, 6.0) == pytest.approx(5.0)


@pytest.mark.parametrize("waited_s", [0.25, 3.0])
def test_a_pause_of_one_look_is_enough_for_a_store_of_our_own(waited_s: float) -> None:
    times = times_of(5.0)
    assert not times.is_due(100, waited_s)
    assert not times.is_due(200, waited_s + LOOK_S)
    assert times.is_due(200, waited_s + 2 * LOOK_S)


def test_a_shared_store_has_a_round_for_the_first_call_after_a_pause() -> None:
    times = times_of(1.0, is_shared=True)
    assert not times.is_due(0, 7.0)
    assert times.is_due(100, 7.1)
    times.stored(100)
    end(times, 7.2)
    assert not times.is_due(200, 7.9)
    assert times.is_due(200, 8.25)


@pytest.mark.parametrize("is_shared", [True, False])
def test_what_is_stored_is_not_due(is_shared: bool) -> None:
    times = times_of(1.0, is_shared=is_shared)
    times.stored(100)
    assert not any(times.is_due(100, float(now_s)) for now_s in range(100))


@pytest.mark.parametrize(("waited_s", "due_after_s"), [(0.25, 0.31), (0.0, 0.19), (0.9, 1.0), (4.9, 5.0)])
def test_a_round_that_is_due_before_the_next_look_is_not_put_off(waited_s: float, due_after_s: float) -> None:
    times = times_of(due_after_s, is_shared=True)
    assert waited_s + times.next_look_s(waited_s) == pytest.approx(due_after_s)


@pytest.mark.parametrize(("waited_s", "due_after_s"), [(0.0, 5.0), (60.0, 5.0), (60.0, 1.0), (0.3, 0.31)])
def test_nobody_looks_without_a_pause_unless_a_round_is_due(waited_s: float, due_after_s: float) -> None:
    times, looks = times_of(due_after_s, is_shared=True), 0
    while looks < 100 and waited_s < due_after_s + 1:
        waited_s += times.next_look_s(waited_s)
        looks += 1
    assert looks <= 6 + due_after_s / LOOK_S


def test_after_failures_the_next_try_waits_longer_each_time_up_to_a_limit() -> None:
    times, now_s = RoundTimes(replace(TRAITS, retry_s=(0.5, 30.0)), 0.0), 0.0
    waits: list[float] = []
    for _ in range(20):
        end(times, now_s, has_failed=True)
        failed_s = now_s
        while not times.may_retry(now_s):
            now_s += 0.25
        waits.append(now_s - failed_s)
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (1.0, 30.0)
    end(times, now_s)
    assert not times.may_retry(now_s + 0.25)
    assert times.may_retry(now_s + 0.5)
