"""When the store is looked after: as soon as a round is due, and not oftener than needed."""

import pytest

from callgate.recorder.flush.keeper import next_look_s


@pytest.mark.parametrize(("waited_s", "due_after_s"), [(0.25, 0.31), (0.0, 0.19), (0.9, 1.0), (4.9, 5.0)])
def test_a_round_that_is_due_before_the_next_look_is_not_put_off(waited_s: float, due_after_s: float) -> None:
    assert waited_s + next_look_s(waited_s, due_after_s) == pytest.approx(due_after_s)


@pytest.mark.parametrize(("waited_s", "due_after_s"), [(0.0, 5.0), (60.0, 5.0), (60.0, 1.0), (0.3, 0.31)])
def test_nobody_looks_without_a_pause_unless_a_round_is_due(waited_s: float, due_after_s: float) -> None:
    looks = 0
    while looks < 100 and waited_s < due_after_s + 1:
        waited_s += next_look_s(waited_s, due_after_s)
        looks += 1
    assert looks <= 6 + due_after_s / 0.25
