"""`subscriptions/listen` on the aggregate: we watch the lists, the owners watch their resources.

Lists are watched by the gateway itself (`subscribers`), so one subscription hears of every server. A resource
is watched by the server that owns it: it gets a subscription of its own, and what it says is passed on under
the client's. (2026-07-28, basic/patterns/subscriptions.)
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import msgspec

from callgate.model.errors import CallerError, CallgateError
from callgate.model.exchange import Exchange
from callgate.model.offers import OfferKind
from callgate.model.reply import Item, Notice, Reply
from callgate.ports.upstream import Asker
from callgate.relay.choose_route import by_uri
from callgate.relay.path import Path
from callgate.wire.eras.subscription import (
    ACKNOWLEDGED,
    UPDATED,
    read_filter,
    watched_uris,
    with_subscription,
)
from callgate.wire.params import peek, text_of, with_member

# An owner that does not acknowledge by then is not in our acknowledgment; the client is told what it gets.
_PATIENCE_S = 5.0
# Before an owner that went away is asked again, each time longer.
_PAUSE_S = 1.0
_MAX_PAUSE_S = 30.0


class _Watch:
    """Resources of one upstream: native uri to the public one."""

    def __init__(self) -> None:
        self.public: dict[str, str] = {}
        self.granted: set[str] = set()  # native uris that the upstream agreed to tell of, in time
        self.decided = asyncio.Event()  # it acknowledged, or it will not
        self.is_closed = False  # the client was told what it gets: nothing is added any more


async def listen(path: Path, exchange: Exchange, asker: Asker) -> AsyncGenerator[Item]:
    arrival = exchange.arrival
    assert arrival.rpc_id is not None
    wanted = read_filter(arrival.params)
    watches = await _watches(path, wanted, asker)
    said: asyncio.Queue[Notice | None] = asyncio.Queue(256)
    server_name = exchange.server_name
    tasks = [
        asyncio.create_task(_watch(path, exchange, asker, name, watch, said))
        for name, watch in watches.items()
    ]
    try:
        lists = path.subscribers.listen(asker, wanted, await _granted(watches))
        # First of all, whatever the watches have heard meanwhile ("Acknowledgment").
        acknowledged = await anext(lists)
        yield Notice(acknowledged.method, with_subscription(acknowledged.params, arrival.rpc_id))
        tasks.append(asyncio.create_task(_pump(lists, said)))
        while (notice := await said.get()) is not None:
            yield Notice(notice.method, with_subscription(notice.params, arrival.rpc_id))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        exchange.server_name = server_name  # each watch put its own
    yield Reply(result=with_subscription(b"{}", arrival.rpc_id))


async def _watches(path: Path, wanted: dict[str, Any], asker: Asker) -> dict[str, _Watch]:
    watches: dict[str, _Watch] = {}
    uris = watched_uris(wanted)
    if not uris:
        return watches
    resources = await path.listings.to_route_by(OfferKind.RESOURCE, asker)
    templates = await path.listings.to_route_by(OfferKind.TEMPLATE, asker)
    for uri in uris:
        with suppress(CallerError):  # nobody has it: it is missing from the acknowledgment
            route, _ = by_uri(
                msgspec.json.encode({"uri": uri}), resources, templates, path.listings.territory
            )
            watches.setdefault(route.upstream, _Watch()).public[route.native_name] = uri
    return watches


async def _granted(watches: dict[str, _Watch]) -> list[str]:
    if watches:
        waiting = [asyncio.create_task(watch.decided.wait()) for watch in watches.values()]
        await asyncio.wait(waiting, timeout=_PATIENCE_S)
        for task in waiting:
            task.cancel()
    for watch in watches.values():
        watch.is_closed = True
    return [watch.public[uri] for watch in watches.values() for uri in watch.public if uri in watch.granted]


async def _watch(
    path: Path, exchange: Exchange, asker: Asker, name: str, watch: _Watch, said: asyncio.Queue[Notice | None]
) -> None:
    wanted = msgspec.json.encode({"notifications": {"resourceSubscriptions": list(watch.public)}})
    pause_s = _PAUSE_S
    while True:
        is_refused = False
        with suppress(CallgateError):  # its end is recorded in its hop; the other watches go on
            async with aclosing(path.ask(exchange, name, wanted, asker)) as items:
                async for item in items:
                    if isinstance(item, Reply):
                        is_refused = item.fault is not None
                    elif isinstance(item, Notice):
                        await _take(item, watch, said)
        watch.decided.set()
        if is_refused or not watch.granted:
            return
        await asyncio.sleep(pause_s)  # the owner was restarted: it knows nothing of us any more
        pause_s = min(pause_s * 2, _MAX_PAUSE_S)


async def _take(notice: Notice, watch: _Watch, said: asyncio.Queue[Notice | None]) -> None:
    if notice.method == ACKNOWLEDGED:
        if not watch.is_closed:
            granted = watched_uris(read_filter(notice.params))
            watch.granted.update(uri for uri in granted if uri in watch.public)
        watch.decided.set()
    elif notice.method == UPDATED:
        uri = text_of(peek(notice.params).uri) or ""
        if uri in watch.granted:
            public = msgspec.json.encode(watch.public[uri])
            await said.put(Notice(UPDATED, with_member(notice.params, "uri", public)))


async def _pump(lists: AsyncGenerator[Notice], said: asyncio.Queue[Notice | None]) -> None:
    async with aclosing(lists):
        async for notice in lists:
            await said.put(notice)
    await said.put(None)
