"""One MCP server behind us, as relay sees it: which of its links serves whom, and how it is doing.

Rules (protocol.md, "Isolation of legacy upstreams")
1. The first link finds out the era and is shared. Modern requests need no other: they carry all they need.
2. Legacy clients that declare no sampling, elicitation or roots share a link; one that declares any gets its
   own, which declares exactly what that client does. `shared` and `session` force it either way.
3. A link of its own ends with its session. There is a ceiling on them.
4. A list may be asked over a link of either era; everything else needs one of the client's.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import UPSTREAM_BUSY, UPSTREAM_OTHER_ERA
from callgate.model.errors import UpstreamError
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.heard import Heard, News, StateChanged
from callgate.model.offers import Kind
from callgate.model.reply import Item, Notice, Reply, Unasked
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.upstreams.call import Call
from callgate.upstreams.handshake import Introduction, other_era, with_envelope
from callgate.upstreams.link import Link, LinkPlan
from callgate.upstreams.transport import Opener
from callgate.wire.params import peek, text_of
from callgate.wire.request_table import NO_TIMEOUT
from callgate.wire.subscription import subscription_of, with_subscription

_QUESTIONS = frozenset({"sampling", "elicitation", "roots"})
_LIST_METHODS = frozenset(kind.method for kind in Kind)
_SPECIAL_METHODS = frozenset({"initialize", "subscriptions/listen"})
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# Links of single sessions, each perhaps a process: past this the machine is at risk, not the client.
_MAX_OWN_LINKS = 100
# A server that keeps state for its client keeps it this long; the next call starts a new one.
_OWN_IDLE_S = 1800.0
# A proxy on the way may cut a stream that is silent for long: ask again, but not in a hurry.
_LISTEN_PAUSE_S = 1.0
_LISTEN_MAX_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True)
class McpUpstreamPlan:
    name: str
    opener: Opener
    timeout_s: float = 30.0
    isolation: str = "auto"  # "auto" | "shared" | "session"


class McpUpstream:
    """Made inside a running loop; begins to connect at once, and nobody waits for it."""

    def __init__(self, plan: McpUpstreamPlan) -> None:
        self._plan = plan
        self._listener: Callable[[News], None] = lambda news: None
        self._own: dict[str, Link] = {}
        self._shared_legacy: Link | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._first = self._new_link(None, None, None)

    @property
    def name(self) -> str:
        return self._plan.name

    # ---- ports.Upstream

    def ask(self, hop: Hop, asker: Asker) -> AsyncGenerator[Item]:
        first = self._first
        introduction = first.introduction
        # What nearly every call needs: the shared link is up and speaks the client's era. One generator less.
        if (
            introduction is not None
            and introduction.era is asker.envelope.era
            and hop.method not in _SPECIAL_METHODS
            and not self._needs_own(asker.session.envelope)
        ):
            self._note_version(hop, introduction)
            return self._ask(first, hop, asker, introduction.era is Era.MODERN)
        return self._find_and_ask(hop, asker)

    def _ask(self, link: Link, hop: Hop, asker: Asker, modern: bool) -> AsyncGenerator[Item]:
        # A list that we ask ourselves, or for a legacy client, has no envelope of its own yet.
        speaker = asker.envelope if asker.envelope.era is Era.MODERN else None
        params = with_envelope(hop.params, speaker) if modern else hop.params
        # Only the modern era repeats the name in a header.
        call = Call(_name_in(hop.method, params) if modern else None, hop.param_headers, hop)
        timeout_s = NO_TIMEOUT if hop.method == "subscriptions/listen" else None
        return link.ask(hop.method, params, call, timeout_s)

    async def _find_and_ask(self, hop: Hop, asker: Asker) -> AsyncGenerator[Item]:
        link = await self._link_for(asker, hop.method)
        introduction = link.introduction
        if hop.method == "initialize":
            introduction = await link.until_ready(self._plan.timeout_s)
        self._note_version(hop, introduction)
        if hop.method == "initialize" and introduction is not None:
            yield Reply(result=introduction.result)
            return
        modern = introduction is not None and introduction.era is Era.MODERN
        subscribing = hop.method == "subscriptions/listen"
        try:
            async with aclosing(self._ask(link, hop, asker, modern)) as items:
                async for item in items:
                    yield _restore_subscription(item, asker.rpc_id) if subscribing else item
        finally:
            self._note_version(hop, link.introduction)

    def tell(self, method: str, params: bytes, session: Session) -> None:
        link = self._own.get(session.session_id)
        if link is None and session.target == self.name:  # everything of a direct client's passes
            link = self._shared_legacy or self._first
        if link is not None:
            link.tell(method, params)

    def hear(self, listener: Callable[[News], None]) -> None:
        self._listener = listener

    def view_of(self, session: Session) -> str | None:
        return session.session_id if self._needs_own(session.envelope) else None

    def forget(self, session: Session) -> None:
        self._end_own(session.session_id)

    def health(self) -> Health:
        links = self._links()
        ready = [link for link in links if link.is_ready]
        if ready:
            return Health(self.name, "mcp", State.UP, _describe(ready[0].introduction, len(links)))
        error = self._first.error
        if error is None:
            return Health(self.name, "mcp", State.STARTING, "connecting")
        last = self._first.stderr_tail[-1:]
        detail = f"{error.message} (stderr: {last[0]})" if last and not error.hint else error.message
        return Health(self.name, "mcp", State.DOWN, detail, error.code.code)

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await asyncio.gather(*(link.close() for link in self._links()))
        if self._ending:
            await asyncio.wait(list(self._ending))

    # ---- links

    def _links(self) -> list[Link]:
        shared = [self._shared_legacy] if self._shared_legacy is not None else []
        return [self._first, *shared, *self._own.values()]

    def _new_link(self, era: Era | None, client: Envelope | None, session_id: str | None) -> Link:
        plan = LinkPlan(self.name, self._plan.opener, era, client, self._plan.timeout_s)

        def on_heard(item: Unasked) -> None:
            self._listener(Heard(self.name, session_id, item))

        return Link(plan, on_heard, self._first_changed if era is None else lambda is_up: None)

    async def _link_for(self, asker: Asker, method: str) -> Link:
        """Raises UpstreamError."""
        first = self._first
        if first.introduction is None:
            await first.until_ready(self._plan.timeout_s)
        introduction = first.introduction
        assert introduction is not None
        if asker.envelope.era is introduction.era is Era.MODERN:
            return first
        if method in _LIST_METHODS and not self._needs_own(asker.session.envelope):
            return first
        if asker.envelope.era is Era.MODERN:
            raise other_era(self.name, Era.MODERN)
        try:
            return await self._legacy_link(asker, introduction.era)
        except UpstreamError as error:
            if error.code is UPSTREAM_OTHER_ERA and method in _LIST_METHODS:
                return first  # it can be listed, if not called
            raise

    async def _legacy_link(self, asker: Asker, first_era: Era) -> Link:
        session = asker.session
        if self._needs_own(session.envelope):
            self._reap()
            link = self._own.get(session.session_id)
            if link is None:
                link = self._own[session.session_id] = self._new_link(
                    Era.LEGACY, session.envelope, session.session_id
                )
            link.used_at = asyncio.get_running_loop().time()
        elif first_era is Era.LEGACY:
            return self._first
        else:
            if self._shared_legacy is None:
                self._shared_legacy = self._new_link(Era.LEGACY, None, None)
            link = self._shared_legacy
        if link.introduction is None:
            await link.until_ready(self._plan.timeout_s)
        return link

    def _reap(self) -> None:
        """Make room: clients that crash never say goodbye, and each of them may hold a process.

        What was idle for long goes; at the ceiling, what was idle longest. Raises UpstreamError when all are
        busy.
        """
        idle = [(link.used_at, session_id) for session_id, link in self._own.items() if link.in_flight == 0]
        long_ago = asyncio.get_running_loop().time() - _OWN_IDLE_S
        for used_at, session_id in sorted(idle):
            if used_at < long_ago or len(self._own) >= _MAX_OWN_LINKS:
                self._end_own(session_id)
        if len(self._own) >= _MAX_OWN_LINKS:
            raise UpstreamError(
                UPSTREAM_BUSY,
                f"{self.name} already serves {_MAX_OWN_LINKS} sessions with their own connection",
                hint='End some sessions, or set isolation = "shared" for this server',
            )

    def _end_own(self, session_id: str) -> None:
        link = self._own.pop(session_id, None)
        if link is not None:
            task = asyncio.create_task(link.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def _needs_own(self, client: Envelope) -> bool:
        if client.era is Era.MODERN:
            return False
        if self._plan.isolation != "auto":
            return self._plan.isolation == "session"
        return _answers_questions(client.capabilities)

    # ---- what the first link tells

    def _first_changed(self, is_up: bool) -> None:
        self._listener(StateChanged(self.name, is_up))
        introduction = self._first.introduction
        if is_up and introduction is not None and introduction.era is Era.MODERN:
            if self._listening is not None:
                self._listening.cancel()
            self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        """A modern server says what changed only to those who ask. Ends with the link, or a plain no."""
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        params = with_envelope(msgspec.json.encode({"notifications": wanted}), None)
        pause_s = _LISTEN_PAUSE_S
        while self._first.is_ready:
            with suppress(UpstreamError):
                if not await self._listen_once(params):
                    return
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LISTEN_MAX_PAUSE_S)

    async def _listen_once(self, params: bytes) -> bool:
        """Whether it is worth asking again."""
        async with aclosing(self._first.ask("subscriptions/listen", params, Call(), NO_TIMEOUT)) as items:
            async for item in items:
                if isinstance(item, Notice) and item.method.endswith("list_changed"):
                    self._listener(Heard(self.name, None, Notice(item.method, b"")))
                elif isinstance(item, Reply):
                    return item.fault is None
        return True

    def _note_version(self, hop: Hop, introduction: Introduction | None) -> None:
        if introduction is not None:
            hop.server_version, hop.server_protocol = introduction.server_version, introduction.revision


@lru_cache(maxsize=1024)
def _answers_questions(capabilities: bytes) -> bool:
    return not _QUESTIONS.isdisjoint(msgspec.json.decode(capabilities, type=dict[str, msgspec.Raw]))


def _describe(introduction: Introduction | None, links: int) -> str:
    if introduction is None:
        return "up"
    who = " ".join(part for part in (introduction.server_name, introduction.server_version) if part)
    shared = f", {links} connections" if links > 1 else ""
    return f"{who or 'a server'}, {introduction.era.value} ({introduction.revision}){shared}"


def _name_in(method: str, params: bytes) -> str | None:
    member = _NAMED.get(method)
    if member is None:
        return None
    peeked = peek(params)
    return text_of(peeked.name if member == "name" else peeked.uri)


def _restore_subscription(item: Item, rpc_id: bytes) -> Item:
    """The client knows its subscription by its own request's id, the upstream by ours."""
    if isinstance(item, Notice) and subscription_of(item.params) is not None:
        return Notice(item.method, with_subscription(item.params, rpc_id))
    if isinstance(item, Reply) and item.result is not None and subscription_of(item.result) is not None:
        return Reply(result=with_subscription(item.result, rpc_id))
    return item
