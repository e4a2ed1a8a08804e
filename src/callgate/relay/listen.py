"""`subscriptions/listen` on the aggregate: we watch the lists, the owners watch their resources.

Lists are watched by the gateway itself (`subscribers`), so one subscription hears of every server. A resource
is watched by the server that owns it: it gets a subscription of its own, and what it says is passed on under
the client's. (2026-07-28, basic/patterns/subscriptions.)
"""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec

from callgate.model.errors import CallerError, CallgateError
from callgate.model.exchange import Exchange
from callgate.model.offers import OfferKind
from callgate.model.reply import Notice, Reply, Said, Tell
from callgate.ports.upstream import Asker
from callgate.relay.choose_route import by_uri
from callgate.relay.path import Path
from callgate.relay.subscribers import SayNotice
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


async def listen(path: Path, exchange: Exchange, asker: Asker, tell: Tell) -> Reply:
    arrival = exchange.arrival
    assert arrival.rpc_id is not None
    wanted = read_filter(arrival.params)
    watches = await _watches(path, wanted, asker)
    rpc_id, server_name = arrival.rpc_id, exchange.server_name
    acknowledged = asyncio.Event()  # that comes first, whatever the watches have heard ("Acknowledgment")

    async def say(notice: Notice) -> None:
        await tell(Notice(notice.method, with_subscription(notice.params, rpc_id)))

    async def say_of_resource(notice: Notice) -> None:
        await acknowledged.wait()
        await say(notice)

    async def say_of_lists(notice: Notice) -> None:
        await say(notice)
        acknowledged.set()

    tasks = [
        asyncio.create_task(_watch(path, exchange, asker, name, watch, say_of_resource))
        for name, watch in watches.items()
    ]
    try:
        await path.subscribers.listen(asker, wanted, await _granted(watches), say_of_lists)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        exchange.server_name = server_name  # each watch put its own
    return Reply(result=with_subscription(b"{}", rpc_id))


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
                msgspec.json.encode({"uri": uri}), resources, templates, path.listings.naming.territory
            )
            watches.setdefault(route.upstream, _Watch()).public[route.native_name] = uri
    return watches


async def _granted(watches: dict[str, _Watch]) -> list[str]:
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            for watch in watches.values():
                await watch.decided.wait()
    for watch in watches.values():
        watch.is_closed = True
    return [watch.public[uri] for watch in watches.values() for uri in watch.public if uri in watch.granted]


async def _watch(
    path: Path, exchange: Exchange, asker: Asker, name: str, watch: _Watch, say: SayNotice
) -> None:
    async def hear(said: Said) -> None:
        if not isinstance(said, Notice):
            return
        if said.method == ACKNOWLEDGED:
            if not watch.is_closed:
                granted = watched_uris(read_filter(said.params))
                watch.granted.update(uri for uri in granted if uri in watch.public)
            watch.decided.set()
        elif said.method == UPDATED:
            uri = text_of(peek(said.params).uri) or ""
            if uri in watch.granted:
                public = msgspec.json.encode(watch.public[uri])
                await say(Notice(UPDATED, with_member(said.params, "uri", public)))

    wanted = msgspec.json.encode({"notifications": {"resourceSubscriptions": list(watch.public)}})
    pause_s = _PAUSE_S
    while True:
        is_refused = False
        with suppress(CallgateError):  # its end is recorded in its hop; the other watches go on
            is_refused = (await path.ask(exchange, name, wanted, asker, hear)).fault is not None
        watch.decided.set()
        if is_refused or not watch.granted:
            return
        await asyncio.sleep(pause_s)  # the owner was restarted: it knows nothing of us any more
        pause_s = min(pause_s * 2, _MAX_PAUSE_S)
