"""The resources that are watched over one connection, and by whom.

Rules
1. A resource is subscribed to at the server once, however many want to hear of it, and until the last one
   left.
2. Changes happen one after the other: two clients that subscribe at once both end up subscribed.
3. After a restart the server knows nothing of it: what is wanted is asked for again (`renew`).
4. A client that is gone watches nothing, at once; the server is told afterwards.

How the server is asked (`resources/subscribe` of the legacy era, our own listening of the modern one) is
handed in.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from callgate.model.error_codes import INVALID_PARAMS
from callgate.model.reply import Reply, RpcFault
from callgate.wire.params import peek, text_of

_DONE = Reply(result=b"{}")

# Asks the server a method with params, as a legacy client would.
Ask = Callable[[str, bytes], Awaitable[Reply]]
# Makes the server tell of these resources from now on; returns those it agreed to.
Watch = Callable[[Iterable[str]], Awaitable[frozenset[str]]]


class Watches:
    def __init__(self, ask: Ask, watch: Watch, is_modern: Callable[[], bool]) -> None:
        self._ask = ask
        self._watch = watch
        self._is_modern = is_modern
        self._changing = asyncio.Lock()
        self._wanted: dict[str, set[str]] = {}  # uri to those who want to hear of it

    @property
    def is_empty(self) -> bool:
        return not self._wanted

    def of(self, who: str) -> list[str]:
        """The resources that it wants to hear of."""
        return [uri for uri, wanted_by in self._wanted.items() if who in wanted_by]

    async def add(self, params: bytes, who: str) -> Reply:
        """`resources/subscribe` for one client. Raises UpstreamError."""
        uri = text_of(peek(params).uri)
        if uri is None:
            return await self._ask("resources/subscribe", params)  # the server says best what is wrong
        async with self._changing:
            is_first = uri not in self._wanted
            # Before the server is asked: a client that leaves meanwhile (`forget`) must be found here.
            self._wanted.setdefault(uri, set()).add(who)
            if not is_first:
                return _DONE
            try:
                reply = await self._subscribe(uri, params)
            except BaseException:
                self._wanted.pop(uri, None)
                raise
            if reply.fault is not None:
                self._wanted.pop(uri, None)
            return reply

    async def add_all(self, uris: list[str], who: str) -> None:
        """What one client wanted on another connection. Raises UpstreamError."""
        async with self._changing:
            new = [uri for uri in uris if uri not in self._wanted]
            for uri in uris:
                self._wanted.setdefault(uri, set()).add(who)
            if new:
                await self._change("resources/subscribe", new)

    async def remove(self, params: bytes, who: str) -> Reply:
        """`resources/unsubscribe` for one client. Raises UpstreamError."""
        uri = text_of(peek(params).uri)
        if uri is None:
            return await self._ask("resources/unsubscribe", params)
        async with self._changing:
            self._wanted.get(uri, set()).discard(who)
            if self._wanted.get(uri):
                return _DONE  # others still listen on the same connection
            self._wanted.pop(uri, None)
            if not self._is_modern():
                return await self._ask("resources/unsubscribe", params)
            await self._watch(list(self._wanted))
            return _DONE

    def forget(self, who: str) -> list[str]:
        """It is gone: the resources that nobody wants to hear of any more, for `drop`."""
        for wanted_by in self._wanted.values():
            wanted_by.discard(who)
        return [uri for uri, wanted_by in self._wanted.items() if not wanted_by]

    async def drop(self, uris: list[str]) -> None:
        async with self._changing:
            unwanted = [uri for uri in uris if not self._wanted.get(uri)]
            for uri in unwanted:
                self._wanted.pop(uri, None)
            await self._change("resources/unsubscribe", unwanted)

    async def renew(self) -> None:
        async with self._changing:
            for uri in [uri for uri, wanted_by in self._wanted.items() if not wanted_by]:
                del self._wanted[uri]
            await self._change("resources/subscribe", list(self._wanted))

    async def _change(self, method: str, uris: list[str]) -> None:
        """Of what is wanted now. A modern server is told all of it."""
        if self._is_modern():
            await self._watch(list(self._wanted))
            return
        for uri in uris:
            await self._ask(method, msgspec.json.encode({"uri": uri}))

    async def _subscribe(self, uri: str, params: bytes) -> Reply:
        if not self._is_modern():
            return await self._ask("resources/subscribe", params)
        granted = await self._watch(list(self._wanted))
        if uri in granted:
            return _DONE
        text = "The server does not report changes to this resource"
        return Reply(fault=RpcFault(INVALID_PARAMS, text, {"uri": uri[:500]}))
