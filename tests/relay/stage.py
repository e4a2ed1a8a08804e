"""A relay between fakes of our own boundaries: upstreams that do as told, a sink that remembers."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallgateError
from callgate.model.events import Aside, Event, ExchangeSettled, NoticePassed
from callgate.model.exchange import Arrival, Exchange, Hop
from callgate.model.health import Health, State
from callgate.model.identity import LOCAL, Principal
from callgate.model.offers import OfferKind
from callgate.model.reply import Notice, Reply, Said, Tell, tell_nobody
from callgate.model.session import Session
from callgate.model.upstream_news import News
from callgate.model.view import COMMON, View
from callgate.ports.upstream import Asker
from callgate.relay.parked_calls import BridgeSettings
from callgate.relay.relay import Relay
from callgate.wire.eras.capabilities import view_declared

LEGACY = Envelope(Era.LEGACY, "2025-11-25", "old", "1")
BRIDGE = BridgeSettings(answer_timeout_s=60, state_key=b"0" * 32)
MODERN = Envelope(Era.MODERN, "2026-07-28", "new", "1", progress_token=b"1")


_LIST_MEMBERS = {kind.method: kind.member for kind in OfferKind}


class RememberingSink:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    @property
    def settled(self) -> list[Exchange]:
        """What clients asked."""
        return [exchange for exchange in self.all_settled if exchange.sender == "client"]

    @property
    def asides(self) -> list[Aside]:
        return [event for event in self.events if isinstance(event, Aside)]

    @property
    def all_settled(self) -> list[Exchange]:
        return [event.exchange for event in self.events if isinstance(event, (ExchangeSettled, NoticePassed))]


class StagedUpstream:
    """Offers tools by their definitions; a call answers with `result` or raises `error`."""

    def __init__(self, name: str, *tools: dict[str, Any]) -> None:
        self.name = name
        self.tools = list(tools)
        self.asked: list[tuple[str, bytes]] = []
        self.result: bytes = b'{"content":[]}'
        self.error: BaseException | None = None
        self.list_error: CallgateError | None = None
        self.notices: list[Notice] = []
        self.block: asyncio.Event | None = None
        self.reached = asyncio.Event()
        self.told: list[str] = []
        self.has_views = False  # lists depend on what clients declare
        self.has_own_lines = False  # and on the connection that each of them has
        self.is_alike = False
        self.list_raw: bytes | None = None
        self.next_page: Callable[[], bytes] | None = None
        self.is_built_in = False
        self.forgotten: list[str] = []
        self.say: Callable[[News], None] = lambda news: None
        self.envelopes: list[Envelope] = []
        self.era: Era | None = None  # None: whichever the client's is
        self.schemes: frozenset[str] = frozenset()
        self.lists: dict[str, list[dict[str, Any]]] = {}  # what it lists beside tools, by the method
        self.protocol: str | None = None  # the revision it speaks

    async def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        self.asked.append((hop.method, hop.params))
        self.envelopes.append(asker.envelope)
        hop.server_protocol = self.protocol
        if hop.method == "tools/list":
            if self.list_error is not None:
                raise self.list_error
            page = self.next_page() if self.next_page is not None else self.list_raw
            return Reply(result=page or json.dumps({"tools": self.tools}).encode())
        if hop.method in self.lists:
            member = _LIST_MEMBERS[hop.method]
            return Reply(result=json.dumps({member: self.lists[hop.method]}).encode())
        self.reached.set()
        hop.is_built_in = self.is_built_in
        for notice in self.notices:
            await tell(notice)
        if self.block is not None:
            await self.block.wait()
        if self.error is not None:
            raise self.error
        return Reply(result=self.result)

    def bridges(self, era: Era) -> bool:
        return self.era is not None and self.era is not era

    def tell(self, method: str, params: bytes, session: Session) -> None:
        self.told.append(method)

    def hear(self, listener: Callable[[News], None]) -> None:
        self.say = listener

    def view_of(self, asker: Asker) -> View:
        declared = view_declared(asker.envelope.capabilities, asker.envelope.era)
        own = asker.session.session_id if self.has_own_lines else ""
        return View("" if self.is_alike else declared, own) if self.has_views else COMMON

    def show_alike(self, is_alike: bool) -> None:
        self.is_alike = is_alike

    def forget(self, session: Session) -> None:
        self.forgotten.append(session.session_id)

    def health(self) -> Health:
        return Health(self.name, "mcp", State.UP, "staged")

    def leave(self) -> None:
        pass

    def is_busy(self) -> bool:
        return self.reached.is_set()

    async def close(self) -> None:
        pass


def resources(*uris: str, templates: tuple[str, ...] = ()) -> dict[str, list[dict[str, Any]]]:
    return {
        "resources/list": [{"uri": uri, "name": uri} for uri in uris],
        "resources/templates/list": [{"uriTemplate": uri, "name": uri} for uri in templates],
    }


def tool(name: str, **annotations: bool) -> dict[str, Any]:
    definition: dict[str, Any] = {"inputSchema": {"type": "object"}, "name": name, "x-unknown": 1}
    return definition | ({"annotations": annotations} if annotations else {})


def arrival(
    method: str,
    params: dict[str, Any] | None = None,
    *,
    envelope: Envelope = MODERN,
    session: Session | None = None,
    target: str | None = None,
    principal: Principal = LOCAL,
) -> Arrival:
    raw = b"" if params is None else json.dumps(params).encode()
    return Arrival(method, b"1", raw, envelope, principal, "http", "test", session, target)


async def reply_of(relay: Relay, question: Arrival) -> Reply:
    return await relay.answer(question, tell_nobody)


class Listening:
    """An answer as its client sees it: what is said before the reply, one after the other."""

    def __init__(self, relay: Relay, question: Arrival) -> None:
        self._said: asyncio.Queue[Said] = asyncio.Queue()
        self.reply = asyncio.create_task(relay.answer(question, self._said.put))

    async def next(self) -> Notice:
        said = await self._said.get()
        assert isinstance(said, Notice)
        return said

    @property
    def is_silent(self) -> bool:
        return self._said.empty()


def result_of(reply: Reply) -> Any:
    assert reply.result is not None, reply.fault
    return json.loads(reply.result)
