"""A bell is heard once for all who rang, and never missed."""

import threading

from callgate.recorder.bell import Bell

_LONG_S = 30.0  # nobody waits for it, unless something is wrong


def test_a_ring_before_the_wait_is_heard() -> None:
    bell = Bell()
    bell.ring()
    bell.ring()
    assert bell.wait(_LONG_S)
    assert not bell.wait(0), "both were heard"


def test_who_was_hushed_is_not_heard_and_the_next_is() -> None:
    bell = Bell()
    bell.hush()
    bell.ring()
    bell.hush()
    assert not bell.wait(0)
    bell.ring()
    assert bell.wait(_LONG_S)


def test_whatever_was_put_down_before_a_ring_is_found_after_it() -> None:
    bell, put, found = Bell(), list[int](), list[int]()

    def take() -> None:
        while len(found) < 20_000 and bell.wait(_LONG_S):
            bell.hush()
            found.extend(put[len(found) :])

    taker = threading.Thread(target=take)
    taker.start()
    for number in range(20_000):
        put.append(number)
        bell.ring()
    taker.join()
    assert found == put
