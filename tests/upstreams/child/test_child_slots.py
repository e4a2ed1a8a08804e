"""How many processes there may be, and which one goes for another."""

import asyncio
import time
from functools import partial

import pytest

from callgate.model.error_codes import UPSTREAM_BUSY
from callgate.model.errors import UpstreamError
from callgate.upstreams.child import child
from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.slots import ChildSlots, Expendable, Need


class Processes:
    """Named ones that can be done without, and what was ended of them."""

    def __init__(self, slots: ChildSlots) -> None:
        self.slots = slots
        self.idle: dict[str, tuple[Need, float]] = {}
        self.ended: list[str] = []
        slots.ask_first(self.expendable)

    def expendable(self) -> list[Expendable]:
        return [Expendable(need, at, partial(self.end, name)) for name, (need, at) in self.idle.items()]

    def end(self, name: str) -> None:
        del self.idle[name]
        self.ended.append(name)
        asyncio.get_running_loop().call_soon(self.slots.give_back)  # it is gone a moment later


async def test_what_is_needed_least_goes_first() -> None:
    slots = ChildSlots(5)
    slots.reserve()
    processes = Processes(slots)
    for _ in range(4):
        await slots.take()
    processes.idle = {
        "idle long": (Need.IDLE, 1.0),
        "idle": (Need.IDLE, 2.0),
        "left": (Need.CLIENT_LEFT, 3.0),
        "spare": (Need.SPARE, 4.0),
    }
    for _ in range(4):
        await slots.take()
        assert slots.used == 5
    assert processes.ended == ["spare", "left", "idle long", "idle"]


async def test_as_many_are_ended_as_somebody_waits_for() -> None:
    slots = ChildSlots(3)
    processes = Processes(slots)
    for _ in range(3):
        await slots.take()
    processes.idle = {name: (Need.IDLE, float(at)) for at, name in enumerate("abc")}
    await asyncio.gather(slots.take(), slots.take())
    assert processes.ended == ["a", "b"]


async def test_when_all_are_in_use_one_waits_a_moment_and_is_told_so() -> None:
    slots = ChildSlots(1, patience_s=0.01)
    await slots.take()
    with pytest.raises(UpstreamError, match="All 1 processes") as caught:
        await slots.take()
    assert caught.value.code is UPSTREAM_BUSY
    assert "max_children" in caught.value.hint
    slots.give_back()
    await slots.take()


async def test_one_that_becomes_idle_while_somebody_waits_gives_way() -> None:
    slots = ChildSlots(1)
    processes = Processes(slots)
    await slots.take()
    waiting = asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    processes.idle["late"] = (Need.IDLE, 1.0)
    await waiting
    assert processes.ended == ["late"]


async def test_places_are_given_in_the_order_of_asking_and_none_is_lost_to_who_gave_up() -> None:
    slots = ChildSlots(1)
    await slots.take()
    order: list[int] = []

    async def take(number: int) -> None:
        await slots.take()
        order.append(number)

    waiting = [asyncio.create_task(take(number)) for number in range(3)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    for number in (0, 2):
        slots.give_back()
        await waiting[number]
    waiting[2].cancel()
    slots.give_back()
    assert order == [0, 2]
    assert slots.used == 0


async def test_a_place_given_to_one_who_is_cancelled_meanwhile_is_not_lost() -> None:
    slots = ChildSlots(1)
    await slots.take()
    waiting = asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    slots.give_back()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slots.used == 0


async def test_nothing_is_ended_for_a_spare_and_it_does_not_overtake() -> None:
    slots = ChildSlots(2)
    processes = Processes(slots)
    processes.idle["idle"] = (Need.IDLE, 1.0)
    assert slots.take_free()
    assert slots.take_free()
    assert not slots.take_free()
    assert processes.ended == []


async def test_a_slot_that_comes_with_the_end_of_patience_is_not_lost() -> None:
    slots = ChildSlots(1, patience_s=0.02)
    await slots.take()
    waiting = asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    # Given back in the turn of the loop in which the patience ends, and before the waiting one runs again.
    loop.call_later(0.02, slots.give_back)
    time.sleep(0.05)
    outcome = (await asyncio.gather(waiting, return_exceptions=True))[0]
    assert slots.used == (0 if isinstance(outcome, UpstreamError) else 1)


async def test_a_start_that_fails_by_a_bug_gives_its_slot_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a server that is started again and again takes the slots of all others."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(child, "launch_of", fail)
    slots = ChildSlots(1)
    with pytest.raises(ZeroDivisionError):
        await ChildTransport(ChildCommand("files", "true"), None, slots=slots).start()
    assert slots.used == 0
