"""How often a server is asked for its lists."""

import asyncio
import gc
import weakref
from typing import Any

import pytest
from relay.stage import StagedUpstream

from callgate.model.error_codes import UPSTREAM_FAILED
from callgate.model.errors import UpstreamError
from callgate.model.offers import OfferKind
from callgate.model.view import COMMON, View
from callgate.relay.lists import listing_attempts
from callgate.relay.lists.listing_attempts import Attempts, Key

KEY: Key = ("one", OfferKind.TOOL, COMMON)


def attempts_of(upstream: StagedUpstream) -> Attempts:
    def make(*_: object) -> Any:
        return None

    def take(*_: object) -> None:
        return None

    return Attempts(make, take, lambda name: True)


async def test_a_server_that_says_it_changed_whenever_it_is_asked_is_asked_ever_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0
    delays: list[float] = []

    async def ask(_: object) -> object:
        nonlocal asked
        asked += 1
        attempt = attempts.running(KEY)
        assert attempt is not None
        attempt.is_outdated = True
        return object()

    class Patience:
        def __init__(self, _: object) -> None:
            self.delay_s = 1000.0

        def next_delay_s(self) -> float:
            delays.append(self.delay_s)
            return self.delay_s

    monkeypatch.setattr(listing_attempts, "ask_listing", ask)
    monkeypatch.setattr(listing_attempts, "Backoff", Patience)
    attempts = attempts_of(StagedUpstream("one"))
    attempts.start(KEY, None, is_up=True)
    for _ in range(50):
        await asyncio.sleep(0)
    assert asked == 2, "once more at once, in case it changed while it was asked; then it waits"
    assert len(delays) == 1
    await attempts.close()


@pytest.mark.parametrize(("view", "is_asked_again"), [(COMMON, True), (View('{"roots":{}}'), False)])
async def test_only_the_common_list_is_asked_again_by_the_clock(
    monkeypatch: pytest.MonkeyPatch, view: View, is_asked_again: bool
) -> None:
    async def fail(_: object) -> object:
        raise UpstreamError(UPSTREAM_FAILED, "it does not list")

    monkeypatch.setattr(listing_attempts, "ask_listing", fail)
    attempts = attempts_of(StagedUpstream("one"))
    key: Key = ("one", OfferKind.TOOL, view)
    attempt = attempts.start(key, None, is_up=True)
    assert attempt.task is not None
    await attempt.task
    trouble = attempts.trouble(key)
    assert trouble is not None
    assert (trouble.retry is not None) is is_asked_again
    await attempts.close()


async def test_what_is_known_of_a_list_that_failed_keeps_nothing_of_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may be known as long as the gateway runs: by the clock only the common list is asked for again."""

    class Connection:
        pass

    connections: list[weakref.ref[Connection]] = []

    async def fail(_: object) -> object:
        connection = Connection()
        connections.append(weakref.ref(connection))
        raise UpstreamError(UPSTREAM_FAILED, "it ended") from OSError(connection)

    monkeypatch.setattr(listing_attempts, "ask_listing", fail)
    attempts = attempts_of(StagedUpstream("one"))
    key: Key = ("one", OfferKind.TOOL, View('{"roots":{}}'))
    assert await attempts.ask(key) is None
    trouble = attempts.trouble(key)
    assert trouble is not None
    assert (trouble.code, trouble.message) == ("upstream.failed", "it ended")
    gc.collect()
    assert [connection() for connection in connections] == [None]
    await attempts.close()
