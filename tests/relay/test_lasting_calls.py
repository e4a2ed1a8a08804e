"""Only calls that last are told to be open, each once."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from relay.stage import MODERN, RememberingSink
from waiting import until

from callgate.model.events import ExchangeOpened
from callgate.model.exchange import Arrival, Exchange
from callgate.model.identity import LOCAL
from callgate.model.session import Session
from callgate.relay.lasting_calls import LastingCalls

SESSION = Session("s-1", LOCAL, "http", MODERN, 1.0, 1.0)
CALL = Arrival("tools/call", b"7", b"{}", MODERN, LOCAL, "http", "new/1")


def a_call(name: str) -> Exchange:
    return Exchange(name, CALL, SESSION, 1.0, time.monotonic())


def told(sink: RememberingSink) -> list[str]:
    return [event.exchange.exchange_id for event in sink.events if isinstance(event, ExchangeOpened)]


async def test_calls_that_last_are_told_once_in_their_order_and_others_never() -> None:
    sink = RememberingSink()
    lasting = LastingCalls(sink)
    calls = [a_call(f"e-{number}") for number in range(4)]
    for call in calls:
        lasting.opened(call)
    lasting.young.pop(calls[0].exchange_id, None)
    lasting.young.pop(calls[2].exchange_id, None)
    await until(lambda: told(sink))
    assert told(sink) == ["e-1", "e-3"]
    lasting.young.pop(calls[1].exchange_id, None)  # told already: nothing more is to be done
    later = a_call("e-4")
    lasting.opened(later)
    await until(lambda: len(told(sink)) > 2)
    assert told(sink) == ["e-1", "e-3", "e-4"]


async def test_a_call_that_is_younger_than_the_oldest_waits_for_its_own_time() -> None:
    sink = RememberingSink()
    lasting = LastingCalls(sink)
    old, young = a_call("old"), a_call("young")
    old.opened_mono -= 3600
    young.opened_mono += 3600
    lasting.opened(old)
    lasting.opened(young)
    await until(lambda: told(sink))
    await asyncio.sleep(0)
    assert told(sink) == ["old"]


async def test_calls_that_last_share_timers_and_none_runs_for_a_part_of_a_millisecond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock of a loop may be no finer than a millisecond: a timer for less would run again and again."""
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    call_later = loop.call_later

    def noted(delay_s: float, then: Callable[..., object], *further: Any) -> asyncio.TimerHandle:
        if not further:  # those of `until` have
            waits.append(delay_s)
        return call_later(delay_s, then, *further)

    monkeypatch.setattr(loop, "call_later", noted)
    sink = RememberingSink()
    lasting = LastingCalls(sink)
    for number in range(40):
        call = a_call(f"e-{number}")
        call.opened_mono += number * 0.006_3  # not the step of the timers
        lasting.opened(call)
    await until(lambda: len(told(sink)) == 40)
    assert waits
    assert [delay_s for delay_s in waits if delay_s < 0.005] == []
