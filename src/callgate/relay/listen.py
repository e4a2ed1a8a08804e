"""`subscriptions/listen` on the aggregate: we watch the lists, the owners watch their resources.

Lists are watched by the gateway itself (`ears`), so one subscription hears of every server. A resource is
watched by the server that owns it: it gets a subscription of its own, and what it says is passed on under the
client's. (2026-07-28, basic/patterns/subscriptions.)
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, cast

import msgspec

from callgate.model.errors import CallerError, CallgateError
from callgate.model.exchange import Exchange
from callgate.model.offers import Kind
from callgate.model.reply import Item, Notice, Reply
from callgate.ports.upstream import Asker
from callgate.relay.choose_route import by_uri
from callgate.relay.ears import ACKNOWLEDGED, UPDATED
from callgate.relay.path import Path
from callgate.wire.params import peek, text_of, with_member
from callgate.wire.subscription import with_subscription

# An owner that does not acknowledge by then is not in our acknowledgment; the client is told what it gets.
_PATIENCE_S = 5.0


class _Watch:
    """Resources of one upstream: native uri to the public one."""

    def __init__(self) -> None:
        self.public: dict[str, str] = {}
        self.is_granted = False
        self.decided = asyncio.Event()  # it acknowledged, or it will not


async def listen(path: Path, exchange: Exchange, asker: Asker) -> AsyncGenerator[Item]:
    arrival = exchange.arrival
    assert arrival.rpc_id is not None
    params: dict[str, Any] = msgspec.json.decode(arrival.params)
    asked_for = params.get("notifications")
    wanted = cast(dict[str, Any], asked_for if isinstance(asked_for, dict) else {})
    watches = await _watches(path, wanted, asker)
    said: asyncio.Queue[Notice | None] = asyncio.Queue(256)
    tasks = [
        asyncio.create_task(_watch(path, exchange, asker, name, watch, said))
        for name, watch in watches.items()
    ]
    try:
        granted = await _granted(watches)
        lists = path.ears.listen(wanted, granted)
        tasks.append(asyncio.create_task(_pump(lists, said)))
        while (notice := await said.get()) is not None:
            yield Notice(notice.method, with_subscription(notice.params, arrival.rpc_id))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    yield Reply(result=with_subscription(b"{}", arrival.rpc_id))


async def _watches(path: Path, wanted: dict[str, Any], asker: Asker) -> dict[str, _Watch]:
    watches: dict[str, _Watch] = {}
    uris = wanted.get("resourceSubscriptions")
    if not isinstance(uris, list) or not uris:
        return watches
    resources = await path.listings.known(Kind.RESOURCE, asker)
    templates = await path.listings.known(Kind.TEMPLATE, asker)
    for uri in cast(list[Any], uris):
        with suppress(CallerError):  # nobody has it: it is missing from the acknowledgment
            _, route = by_uri(msgspec.json.encode({"uri": uri}), resources, templates)
            watches.setdefault(route.upstream, _Watch()).public[route.native_name] = uri
    return watches


async def _granted(watches: dict[str, _Watch]) -> list[str]:
    if watches:
        waiting = [asyncio.create_task(watch.decided.wait()) for watch in watches.values()]
        await asyncio.wait(waiting, timeout=_PATIENCE_S)
        for task in waiting:
            task.cancel()
    return [uri for watch in watches.values() if watch.is_granted for uri in watch.public.values()]


async def _watch(
    path: Path, exchange: Exchange, asker: Asker, name: str, watch: _Watch, said: asyncio.Queue[Notice | None]
) -> None:
    wanted = {"notifications": {"resourceSubscriptions": list(watch.public)}}
    with suppress(CallgateError):  # its end is recorded in its hop; the other watches go on
        async with aclosing(path.ask(exchange, name, msgspec.json.encode(wanted), asker)) as items:
            async for item in items:
                if not isinstance(item, Notice):
                    continue
                if item.method == ACKNOWLEDGED:
                    watch.is_granted = True
                    watch.decided.set()
                elif item.method == UPDATED:
                    uri = text_of(peek(item.params).uri)
                    public = msgspec.json.encode(watch.public.get(uri or "", uri))
                    await said.put(Notice(UPDATED, with_member(item.params, "uri", public)))
    watch.decided.set()


async def _pump(lists: AsyncGenerator[Notice], said: asyncio.Queue[Notice | None]) -> None:
    async with aclosing(lists):
        async for notice in lists:
            await said.put(notice)
    await said.put(None)
