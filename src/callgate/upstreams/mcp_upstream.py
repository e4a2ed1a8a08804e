"""One MCP server behind us, as relay sees it: which of its lines serves whom, and how it is doing.

Rules (docs/servers.md, docs/bridge.md)
1. The first line finds out the era and is shared. A modern server needs no other for a modern client:
   requests carry all they need.
2. What a process remembers belongs to one client: the first `tools/call` of a session on a stdio server opens
   a line of its own, and from then on all its requests go there (`own_lines`). At a legacy server over HTTP
   only clients that declare sampling, elicitation or roots get one, from their first call on. `shared` and
   `session` force it either way.
3. Lists come from the shared line, for clients that declare more from one that only lists (`listing_lines`),
   and from a client's own once it has one: none is opened to list.
4. A legacy client of a server that speaks both eras gets a legacy line. Where the server refuses that, and
   for a modern client of a legacy server, the eras are bridged: `call_on_line` says how.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import UPSTREAM_OTHER_ERA
from callgate.model.errors import UpstreamError
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.reply import Answer, Asking, Notice, Reply, Tell, Undelivered, Unsolicited
from callgate.model.session import Session
from callgate.model.stderr_text import quoted
from callgate.model.upstream_news import News, ServerMessage, StateChanged, ViewChanged
from callgate.model.view import COMMON, View
from callgate.ports.upstream import Asker
from callgate.upstreams.child.slots import Expendable
from callgate.upstreams.link.call_limits import CallLimits
from callgate.upstreams.link.call_on_line import LIST_METHODS, CallOnLine, ToolOnLine
from callgate.upstreams.link.handshake import Introduction
from callgate.upstreams.link.line import Line
from callgate.upstreams.link.link import LinkPlan
from callgate.upstreams.link.listing_lines import ListingLines
from callgate.upstreams.link.log_levels import MESSAGE, LogLevels
from callgate.upstreams.link.own_lines import OwnLines, OwnPatience, Shares
from callgate.upstreams.transport import ClosableOpener, Opener
from callgate.upstreams.workspaces import Workspaces
from callgate.wire.connection.request_table import START_TIMEOUT_S
from callgate.wire.eras.capabilities import answers_questions, view_declared
from callgate.wire.eras.input_required import ROUND_TRIP_METHODS
from callgate.wire.eras.params import our_envelope
from callgate.wire.eras.subscription import LIST_CHANGED, with_subscription

# What is not simply passed on, even within one era.
_SPECIAL_METHODS = LIST_METHODS | {
    "initialize",
    "subscriptions/listen",
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
}
_NOBODY = Answer(error=b'{"code":-32601,"message":"This connection only lists: nobody can be asked"}')
# A modern server's answer to a request without its headers (2026-07-28, basic/versioning, "Compatibility
# Matrix").
_REFUSING_STATUSES = frozenset({400, 404, 405})
_ROOTS_CHANGED = "notifications/roots/list_changed"
# One that ends at once again and again is down, not starting.
_SURELY_STARTING_S = 2.0


@dataclass(frozen=True, slots=True)
class McpUpstreamPlan:
    name: str
    opener: Opener
    timeout_s: float = 30.0
    isolation: str = "auto"  # "auto" | "shared" | "session"
    own_opener: ClosableOpener | None = None  # for connections that serve one client; None: the same
    call_limits: CallLimits = field(default_factory=CallLimits)
    title: str | None = None  # what people call it, where that is not its name
    start_timeout_s: float = START_TIMEOUT_S
    own_patience: OwnPatience | None = None
    keeps_state: bool = True  # a server may remember what a session did, unless the operator knows better
    shares: Shares | None = None  # of processes that serve one client, over all servers
    on_close: Callable[[], None] = lambda: None  # what it had of the gateway is free again
    in_workspace: bool = False  # processes that serve one client run in that client's folder


class McpUpstream:
    """Made inside a running loop; begins to connect at once, and nobody waits for it."""

    schemes: frozenset[str] = frozenset()  # several servers may have files, or pages

    def __init__(self, plan: McpUpstreamPlan) -> None:
        self._plan = plan
        self.name = plan.name
        self.title, self.call_limits = plan.title, plan.call_limits
        self._loop = asyncio.get_running_loop()
        self._listener: Callable[[News], None] = lambda news: None
        self._levels = LogLevels()
        self._patience = plan.own_patience or OwnPatience()
        self._is_process = plan.own_opener is not None
        self._own = OwnLines(
            plan.name,
            plan.isolation == "session",
            self._open_own,
            self._patience,
            plan.own_opener.rest if plan.own_opener is not None else lambda: None,
            plan.shares if plan.own_opener is not None else None,
        )
        self._own.by_folder = plan.in_workspace
        self._workspaces = Workspaces(plan.name, self._patience) if plan.in_workspace else None
        self._listing = ListingLines(plan.name, self._open_listing)
        self._shared_legacy: Line | None = None
        self._is_modern_only = False
        self._is_alike = False  # whatever clients declare, the lists are the same
        self._principals: set[str] = set()  # who asked something of it
        self._leaving = asyncio.Event()
        self._is_closed = False
        self._first = self._open(None, None, None)

    # ---- ports.Upstream

    def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Coroutine[Any, Any, Reply]:
        self._principals.add(asker.session.principal.name)
        if self._workspaces is not None and hop.method in ROUND_TRIP_METHODS:
            return self._ask_in_folder(self._workspaces, hop, asker, tell)
        line = self._line_at_hand(hop.method, asker)
        introduction = line.link.ready if line is not None else None
        if line is not None and introduction is not None and introduction.era is asker.envelope.era:
            return CallOnLine(line, introduction, self._levels).plain(hop, asker, tell)
        return self._find_and_ask(hop, asker, tell)

    def tool_caller(self, native_name: str, asker: Asker) -> ToolOnLine | None:
        line = self._line_at_hand("tools/call", asker) if self._workspaces is None else None
        if line is None or (introduction := line.link.ready) is None:
            return None
        if self._takes_turns(line, asker, "tools/call"):
            return None
        self._principals.add(asker.session.principal.name)
        own = None if line.link.is_shared else self._own
        return ToolOnLine(line, introduction, self._levels, native_name, asker, own)

    def _line_at_hand(self, method: str, asker: Asker) -> Line | None:
        """As `_line_for`, as far as it is up; what nearly every call needs."""
        introduction = self._first.link.ready
        if introduction is None or method in _SPECIAL_METHODS:
            return None
        client = _client(asker)
        if self._isolates(client, introduction.era):
            line = self._own.find(client, asker.session)
            if line is not None:
                line.link.used_at = self._loop.time()
            return line
        prefers_legacy = introduction.era is Era.MODERN is not client.era and not self._is_modern_only
        return self._shared_legacy if prefers_legacy else self._first

    def expendable(self) -> list[Expendable]:
        """Processes that could be done without at the moment: see `child.slots`."""
        return self._own.expendable() + self._listing.expendable()

    def keeps_state(self) -> bool:
        """Implements `ports.StatefulUpstream`: a process, or a handshake server that gave us a session.

        What a process of either era keeps (open files, its own tools) is in that process alone."""
        met = self._first.link.introduction
        if not self._plan.keeps_state or met is None:
            return False
        return self._is_process or (met.era is Era.LEGACY and self._first.link.has_server_session)

    def bridges(self, era: Era) -> bool:
        introduction = self._first.link.introduction
        # A modern client may have to be asked for its roots, whatever the server is.
        is_asked = self._workspaces is not None and era is Era.MODERN
        return is_asked or introduction is None or introduction.era is not era

    def tell(self, method: str, params: bytes, session: Session) -> None:
        if self._workspaces is not None and method == _ROOTS_CHANGED:
            self._workspaces.roots_changed(session.session_id)
        lines = self._own.of_session(session.session_id)
        if not lines and session.target == self.name:  # everything of a direct client's passes
            lines = [self._shared_legacy or self._first]
        for line in lines:
            # No notification of a client's is left in the modern era, and a shared line declared no roots.
            if line.era is session.era and not (line.link.is_shared and method == _ROOTS_CHANGED):
                line.link.tell(method, params)

    def hear(self, listener: Callable[[News], None]) -> None:
        self._listener = listener

    def view_of(self, asker: Asker) -> View:
        client = _client(asker)
        declared = "" if self._is_alike else self._listed_as(client)
        if self._own.find(client, asker.session) is not None:
            return View(declared, asker.session.session_id)
        return View(declared) if declared else COMMON

    def show_alike(self, is_alike: bool) -> None:
        self._is_alike = is_alike

    def forget(self, session: Session) -> None:
        self._levels.forget(session.session_id)
        if self._workspaces is not None:
            self._workspaces.forget(session.session_id)
        # A modern session ends by silence. A client that still listens, or has a parked call, is not silent.
        self._own.end(session.session_id, only_idle=session.era is Era.MODERN)
        for line in self._shared():
            line.forget(session.session_id)

    def health(self) -> Health:
        lines, first = self._lines(), self._first.link
        shown = partial(Health, self.name, "mcp", last_failure=first.last_failure, title=self.title)
        # A client's own connection may be up again before the one that the next client needs first.
        up = next((line.link for line in self._shared() if line.link.is_ready), None)
        if up is not None:
            met = up.introduction
            return shown(
                State.UP,
                _describe(met, len(lines)),
                era=met and met.era.value,
                version=met and met.server_version,
                stderr_tail=tuple(up.stderr_tail),
                protocol=met and met.revision,
            )
        error, tail = first.error, tuple(first.stderr_tail)
        if error is None or (first.starting_s or 0.0) >= _SURELY_STARTING_S:
            detail = f"starting; it has {self._plan.start_timeout_s:g} s to answer{quoted(tail)}"
            return shown(State.STARTING, detail, stderr_tail=tail)
        return shown(State.DOWN, first.trouble, error.code.code, stderr_tail=tail)

    async def retry(self) -> None:
        """Implements `ports.RetryingUpstream`: of the line that all others follow."""
        await self._first.link.retry()

    def leave(self) -> None:
        self._leaving.set()

    def is_busy(self) -> bool:
        return any(line.is_used for line in self._lines())

    async def close(self) -> None:
        await asyncio.gather(
            self._own.close(), self._listing.close(), *(line.close() for line in self._shared())
        )
        if self._plan.own_opener is not None:
            await self._plan.own_opener.close()
        if not self._is_closed:  # it may leave while the gateway stops: then both close it
            self._is_closed = True
            self._plan.on_close()

    # ---- lines

    async def _ask_in_folder(self, workspaces: Workspaces, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        folder = await workspaces.folder_of(asker, tell)
        session = asker.session
        if session.era is Era.LEGACY and workspaces.has_moved(session.session_id, folder):
            self._own.end(session.session_id, only_idle=True)  # it works elsewhere now
        there = msgspec.structs.replace(asker, session=replace(session, workspace=str(folder)))
        return await self._find_and_ask(hop, there, tell)

    async def _find_and_ask(self, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        line = await self._line_for(asker, hop.method, hop.method == "subscriptions/listen")
        line.users += 1
        try:
            introduction = line.link.ready
            if introduction is None:
                introduction = await line.link.until_ready(self._plan.timeout_s)
            call = CallOnLine(line, introduction, self._levels, is_shared=line.link.is_shared)
            if hop.method == "subscriptions/listen":
                return await self._listen(call.any(hop, asker, tell), asker.rpc_id)
            if not self._takes_turns(line, asker, hop.method):
                return await call.any(hop, asker, tell)
            # A caller that waits for its turn waits for other calls, which may take long.
            return await call.in_turn(hop, asker, tell, self._own, self._plan.call_limits.timeout_s)
        finally:
            line.users -= 1
            if (met := line.link.introduction) is not None:  # also where it was answered without the server
                hop.server_version, hop.server_protocol = met.server_version, met.revision

    async def _listen(self, asked: Coroutine[Any, Any, Reply], rpc_id: bytes) -> Reply:
        """It lasts for ever, unless the server ends it, or we leave: then its client may listen again."""
        listening, leaving = asyncio.ensure_future(asked), asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait((listening, leaving), return_when=asyncio.FIRST_COMPLETED)
            return await listening if listening.done() else Reply(result=with_subscription(b"{}", rpc_id))
        finally:
            leaving.cancel()
            if not listening.done():
                listening.cancel()
                await asyncio.wait((listening,))

    def _shared(self) -> list[Line]:
        return [line for line in (self._first, self._shared_legacy) if line is not None]

    def _lines(self) -> list[Line]:
        return [*self._shared(), *self._own.all()]

    def _open(
        self, era: Era | None, client: Envelope | None, session_id: str | None, folder: str | None = None
    ) -> Line:
        is_first = era is None
        opener, own_opener = self._plan.opener, self._plan.own_opener
        if own_opener is not None and folder is not None:
            opener = own_opener.in_folder(Path(folder))
        elif own_opener is not None and not is_first:
            opener = own_opener.fresh if client is None else own_opener
        plan = LinkPlan(
            self.name,
            opener,
            era,
            client,
            self._plan.timeout_s,
            lambda: self._patience.answer_s,
            self._plan.call_limits,
            self._plan.start_timeout_s,
        )

        def on_unsolicited(item: Unsolicited | Undelivered) -> None:
            wanted_by = self._wanted_by(item) if session_id is None else ()
            self._listener(ServerMessage(self.name, session_id, item, wanted_by))

        return Line(plan, on_unsolicited, self._first_changed if is_first else lambda is_up: None)

    def _wanted_by(self, item: Unsolicited | Undelivered) -> tuple[str, ...]:
        """Who set a level for this message of a shared line's log, and has no line of its own to hear.

        Nobody, where several principals share it: it may be about another one's call.
        """
        if not isinstance(item, Notice) or item.method != MESSAGE or len(self._principals) > 1:
            return ()
        wanting = self._levels.wanting(item.params)
        return tuple(session_id for session_id in wanting if not self._own.of_session(session_id))

    def _open_listing(self, declared: str) -> Line:
        own_opener = self._plan.own_opener
        plan = LinkPlan(
            self.name,
            own_opener.if_free if own_opener is not None else self._plan.opener,
            Era.LEGACY,
            our_envelope(declared),
            self._plan.timeout_s,
            start_timeout_s=self._plan.start_timeout_s,
        )

        def on_unsolicited(item: Unsolicited | Undelivered) -> None:
            if isinstance(item, Asking):
                item.respond(_NOBODY)
            elif isinstance(item, Notice) and item.method in LIST_CHANGED.values():
                self._listener(ViewChanged(self.name, View(declared), item.method))

        return Line(plan, on_unsolicited, lambda is_up: None)

    def _open_own(self, client: Envelope, session: Session) -> Line:
        is_modern = self._first.era is Era.MODERN and (client.era is Era.MODERN or self._is_modern_only)
        folder = session.workspace if self._plan.in_workspace else None
        return self._open(Era.MODERN if is_modern else Era.LEGACY, client, session.session_id, folder)

    async def _line_for(self, asker: Asker, method: str, listens: bool) -> Line:
        """Raises UpstreamError. `listens`: a listener stays on its line, and what it is to hear of happens
        where its client's calls go, also those that come later."""
        first = self._first
        if first.link.ready is None:
            await first.link.until_ready(self._plan.timeout_s)
        era = first.era
        assert era is not None
        client = _client(asker)
        if method in LIST_METHODS:
            return await self._line_to_list(client, asker.session)
        has_own = self._isolates(client, era) and (
            listens or self._opens_own(client, method) or self._own.has(client, asker.session)
        )
        if era is Era.MODERN is not client.era:
            return await self._legacy_line_of_modern(asker, has_own)
        return await self._own_line(client, asker.session) if has_own else first

    async def _own_line(self, client: Envelope, session: Session) -> Line:
        """Opened if need be, and up. Raises UpstreamError."""
        line = self._own.get(client, session)
        await self._own.until_ready(line, self._plan.timeout_s)
        if not line.is_moved_in:
            line.is_moved_in = True
            if session.era is Era.LEGACY:
                level = self._levels.of(session.session_id)
                await line.take_over(session.session_id, level, self._shared())
        return line

    async def _line_to_list(self, client: Envelope, session: Session) -> Line:
        """A client's own line if it has one; none is opened to list. The first line must be up."""
        own = self._own.find(client, session)
        if own is not None:
            return own
        declared = self._listed_as(client)
        # A modern server is told with each request what its client declares.
        if self._first.era is Era.MODERN or self._is_alike or not declared:
            return self._first
        line = self._listing.get(declared)
        try:
            return await self._up(line)
        except UpstreamError:
            self._listing.end(line)
            raise

    def _listed_as(self, client: Envelope) -> str:
        """What of its declaration may make a difference to what it is shown."""
        if self._plan.isolation == "shared" and not (client.era is Era.MODERN is self._first.era):
            return ""  # the connection that all share declares nothing, and serves its calls too
        return view_declared(client.capabilities, client.era)

    async def _legacy_line_of_modern(self, asker: Asker, has_own: bool) -> Line:
        """For a legacy client; a modern line where the server does not speak its era after all."""
        session = asker.session
        if self._is_modern_only:
            return await self._own_line(session.envelope, session) if has_own else self._first
        if has_own:
            line = self._own.get(session.envelope, session)
        else:
            line = self._shared_legacy = self._shared_legacy or self._open(Era.LEGACY, None, None)
        try:
            return await (self._own_line(session.envelope, session) if has_own else self._up(line))
        except UpstreamError as error:
            # Where a handshake went well, the refusal of another one is a passing trouble.
            speaks_legacy = any(one.link.is_ready and one.era is Era.LEGACY for one in self._lines())
            if not _is_refusal(error) or not self._first.link.is_ready or speaks_legacy:
                raise
            # It would try, and be refused, for ever.
            self._is_modern_only = True
            self._own.end(session.session_id, only_idle=False)
            if self._shared_legacy is line:
                self._shared_legacy = None
                await line.close()
            return await self._legacy_line_of_modern(asker, has_own)

    async def _up(self, line: Line) -> Line:
        if line.link.ready is None:
            await line.link.until_ready(self._plan.timeout_s)
        return line

    def _isolates(self, client: Envelope, server_era: Era) -> bool:
        """Whether this client is to have a line of its own, from its first call on."""
        isolation = self._plan.isolation
        if self._is_process or isolation == "shared":
            return isolation != "shared"
        if client.era is Era.MODERN is server_era:
            return False
        return isolation == "session" or answers_questions(client.capabilities)

    def _opens_own(self, client: Envelope, method: str) -> bool:
        """Whatever may ask the client something needs a line on which it can be asked."""
        if method == "tools/call" or self._workspaces is not None:
            return method in ROUND_TRIP_METHODS
        may_be_asked = self._plan.isolation == "session" or answers_questions(client.capabilities)
        return may_be_asked and method in ROUND_TRIP_METHODS

    def _takes_turns(self, line: Line, asker: Asker, method: str) -> bool:
        return (
            asker.envelope.era is Era.MODERN
            and line.era is Era.LEGACY
            and line.link.is_pipe
            and not line.link.is_shared
            and method in ROUND_TRIP_METHODS
            and answers_questions(asker.envelope.capabilities)
        )

    def _first_changed(self, is_up: bool) -> None:
        if is_up:
            self._is_modern_only = False  # another one may stand there now
            self._own.by_declaration = self._first.era is not Era.MODERN
        self._listener(StateChanged(self.name, is_up))


def _client(asker: Asker) -> Envelope:
    """Who is served: a legacy client said it once, a modern one says it with each request."""
    return asker.envelope if asker.envelope.era is Era.MODERN else asker.session.envelope


def _is_refusal(error: UpstreamError) -> bool:
    """The server said no to the handshake itself; anything else may be a passing trouble."""
    return (
        error.code is UPSTREAM_OTHER_ERA
        or error.data.get("refused") == "initialize"
        or error.data.get("status") in _REFUSING_STATUSES
    )


def _describe(introduction: Introduction | None, lines: int) -> str:
    if introduction is None:
        return "up"
    who = " ".join(part for part in (introduction.server_name, introduction.server_version) if part)
    shared = f", {lines} connections" if lines > 1 else ""
    return f"{who or 'a server'}, {introduction.era.value} ({introduction.revision}){shared}"
