"""A wakeup wakes once for all that set it, and is never missed."""

import threading

from callgate.recorder.recorder import Wakeup

_LONG_S = 30.0  # nobody waits for it, unless something is wrong


def test_what_was_set_before_the_wait_wakes_at_once() -> None:
    wakeup = Wakeup()
    wakeup.set()
    wakeup.set()
    assert wakeup.wait(_LONG_S)
    assert not wakeup.wait(0), "one wait is for both"


def test_what_was_cleared_wakes_nobody_and_the_next_one_does() -> None:
    wakeup = Wakeup()
    wakeup.clear()
    wakeup.set()
    wakeup.clear()
    assert not wakeup.wait(0)
    wakeup.set()
    assert wakeup.wait(_LONG_S)


def test_whatever_was_put_down_before_it_was_set_is_found_afterwards() -> None:
    wakeup, put, found = Wakeup(), list[int](), list[int]()

    def take() -> None:
        while len(found) < 20_000 and wakeup.wait(_LONG_S):
            wakeup.clear()
            found.extend(put[len(found) :])

    taker = threading.Thread(target=take)
    taker.start()
    for number in range(20_000):
        put.append(number)
        wakeup.set()
    taker.join()
    assert found == put
