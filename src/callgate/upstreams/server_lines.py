"""The lines to one MCP server, and which of them serves whom.

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
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from callgate.model.envelope import Envelope, Era
from callgate.model.errors import UpstreamError
from callgate.model.reply import Notice, Undelivered, Unsolicited
from callgate.model.session import Session
from callgate.model.upstream_news import News, ServerMessage, StateChanged, ViewChanged
from callgate.model.view import COMMON, View
from callgate.ports.upstream import Asker
from callgate.upstreams.link.call_limits import CallLimits
from callgate.upstreams.link.call_on_line import LIST_METHODS
from callgate.upstreams.link.handshake import is_refusal
from callgate.upstreams.link.line import Line
from callgate.upstreams.link.link import LinkPlan, OnState, OnUnsolicited
from callgate.upstreams.link.listing_lines import ListingLines
from callgate.upstreams.link.log_levels import MESSAGE, LogLevels
from callgate.upstreams.link.own_lines import OwnLines, OwnPatience, Shares
from callgate.upstreams.openers import OwnChildOpener
from callgate.upstreams.transport import Opener
from callgate.wire.connection.request_table import START_TIMEOUT_S
from callgate.wire.eras.capabilities import answers_questions, view_declared
from callgate.wire.eras.input_required import ROUND_TRIP_METHODS
from callgate.wire.eras.params import our_envelope

# What is not simply passed on, even within one era.
_SPECIAL_METHODS = LIST_METHODS | {
    "initialize",
    "subscriptions/listen",
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
}
ROOTS_CHANGED = "notifications/roots/list_changed"


@dataclass(frozen=True, slots=True)
class McpUpstreamPlan:
    name: str
    opener: Opener
    timeout_s: float = 30.0
    isolation: str = "auto"  # "auto" | "shared" | "session"
    own_opener: OwnChildOpener | None = None  # of a process: for connections that serve one client
    call_limits: CallLimits = field(default_factory=CallLimits)
    title: str | None = None  # what people call it, where that is not its name
    start_timeout_s: float = START_TIMEOUT_S
    own_patience: OwnPatience = field(default_factory=OwnPatience)
    keeps_state: bool = True  # a server may remember what a session did, unless the operator knows better
    shares: Shares | None = None  # of processes that serve one client, over all servers
    on_close: Callable[[], None] = lambda: None  # what it had of the gateway is free again
    in_workspace: bool = False  # processes that serve one client run in that client's folder


class ServerLines:
    def __init__(self, plan: McpUpstreamPlan, levels: LogLevels, tell: Callable[[News], None]) -> None:
        """`tell`: hears what the server says outside of calls, and how it is doing."""
        self._plan = plan
        self._levels = levels
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        own_opener = plan.own_opener
        self.own = OwnLines(
            plan.name,
            self._open_own,
            plan.own_patience,
            one_each=plan.isolation == "session",
            by_folder=plan.in_workspace,
            on_empty=own_opener.rest if own_opener is not None else lambda: None,
            shares=plan.shares if own_opener is not None else None,
        )
        self.listing = ListingLines(
            plan.name,
            self._open_listing,
            lambda declared, method: tell(ViewChanged(plan.name, View(declared), method)),
        )
        self._shared_legacy: Line | None = None
        self._is_modern_only = False
        self.is_alike = False  # whatever clients declare, the lists are the same
        self.principals: set[str] = set()  # who asked something of the server
        self.first = self._open(lambda own: plan.opener, None, None, self._heard, self._first_changed)

    def shared(self) -> list[Line]:
        return [line for line in (self.first, self._shared_legacy) if line is not None]

    def all(self) -> list[Line]:
        """But those that only list."""
        return [*self.shared(), *self.own.all()]

    async def close(self) -> None:
        lines = (line.close() for line in self.shared())
        await asyncio.gather(self.own.close(), self.listing.close(), *lines)
        if self._plan.own_opener is not None:
            await self._plan.own_opener.close()

    # ---- which one

    def at_hand(self, method: str, asker: Asker) -> Line | None:
        """As `find`, as far as it is up; what nearly every call needs."""
        introduction = self.first.link.ready
        if introduction is None or method in _SPECIAL_METHODS:
            return None
        client = _client(asker)
        if self._isolates(client, introduction.era):
            line = self.own.find(client, asker.session)
            if line is not None:
                line.link.used_at = self._loop.time()
            return line
        prefers_legacy = introduction.era is Era.MODERN is not client.era and not self._is_modern_only
        return self._shared_legacy if prefers_legacy else self.first

    async def find(self, asker: Asker, method: str) -> Line:
        """Opened if need be, and mostly up. Raises UpstreamError."""
        era = (await self._up(self.first)).era
        assert era is not None, "it is up"
        client, session = _client(asker), asker.session
        if method in LIST_METHODS:
            return await self._to_list(client, session)
        has_own = self._isolates(client, era) and (
            self._opens_own(client, method) or self.own.has(client, session)
        )
        if era is Era.MODERN is not client.era and not self._is_modern_only:
            return await self._legacy_of_modern(session, has_own)
        return await self._own_line(client, session) if has_own else self.first

    def to_tell(self, method: str, session: Session) -> list[Line]:
        """Those that a notification of this session's goes to."""
        lines = self.own.of_session(session.session_id)
        if not lines and session.target == self._plan.name:  # everything of a direct client's passes
            lines = [self._shared_legacy or self.first]
        # No notification of a client's is left in the modern era, and a shared line declared no roots.
        return [
            line
            for line in lines
            if line.era is session.era and not (line.link.is_shared and method == ROOTS_CHANGED)
        ]

    def view_of(self, asker: Asker) -> View:
        client = _client(asker)
        declared = "" if self.is_alike else self._listed_as(client)
        if self.own.find(client, asker.session) is not None:
            return View(declared, asker.session.session_id)
        return View(declared) if declared else COMMON

    async def _up(self, line: Line) -> Line:
        if line.link.ready is None:
            await line.link.until_ready(self._plan.timeout_s)
        return line

    async def _own_line(self, client: Envelope, session: Session) -> Line:
        """Opened if need be, and up. Raises UpstreamError."""
        line = self.own.get(client, session)
        await self.own.until_ready(line, self._plan.timeout_s)
        if not line.is_moved_in:
            line.is_moved_in = True
            if session.era is Era.LEGACY:
                level = self._levels.by_session.get(session.session_id)
                await line.take_over(session.session_id, level, self.shared())
        return line

    async def _to_list(self, client: Envelope, session: Session) -> Line:
        """A client's own line if it has one; none is opened to list. The first line must be up."""
        own = self.own.find(client, session)
        if own is not None:
            return own
        declared = self._listed_as(client)
        # A modern server is told with each request what its client declares.
        if self.first.era is Era.MODERN or self.is_alike or not declared:
            return self.first
        line = self.listing.get(declared)
        try:
            return await self._up(line)
        except UpstreamError:
            self.listing.end(line)
            raise

    def _listed_as(self, client: Envelope) -> str:
        """What of its declaration may make a difference to what it is shown."""
        if self._plan.isolation == "shared" and not (client.era is Era.MODERN is self.first.era):
            return ""  # the connection that all share declares nothing, and serves its calls too
        return view_declared(client.capabilities, client.era)

    async def _legacy_of_modern(self, session: Session, has_own: bool) -> Line:
        """For a legacy client; a modern line where the server does not speak its era after all."""
        if not has_own and self._shared_legacy is None:
            self._shared_legacy = self._open(lambda own: own.fresh, Era.LEGACY, None, self._heard)
        shared = None if has_own else self._shared_legacy
        try:
            return await (self._up(shared) if shared else self._own_line(session.envelope, session))
        except UpstreamError as error:
            # Where a handshake went well, the refusal of another one is a passing trouble.
            speaks_legacy = any(one.link.is_ready and one.era is Era.LEGACY for one in self.all())
            if not is_refusal(error) or not self.first.link.is_ready or speaks_legacy:
                raise
            # It would try, and be refused, for ever.
            self._is_modern_only = True
            self.own.end(session.session_id, only_idle=False)
            if shared is not None and self._shared_legacy is shared:
                self._shared_legacy = None
                await shared.close()
            return await self._own_line(session.envelope, session) if has_own else self.first

    def _isolates(self, client: Envelope, server_era: Era) -> bool:
        """Whether this client is to have a line of its own, from its first call on."""
        isolation = self._plan.isolation
        if self._plan.own_opener is not None or isolation == "shared":
            return isolation != "shared"
        if client.era is Era.MODERN is server_era:
            return False
        return isolation == "session" or answers_questions(client.capabilities)

    def _opens_own(self, client: Envelope, method: str) -> bool:
        """Whatever may ask the client something needs a line on which it can be asked. A listener stays on
        its line, and what it is to hear of happens where its client's calls go, also those to come."""
        if method not in ROUND_TRIP_METHODS:
            return method == "subscriptions/listen"
        is_needed = method == "tools/call" or self._plan.in_workspace or self._plan.isolation == "session"
        return is_needed or answers_questions(client.capabilities)

    # ---- opening

    def _open(
        self,
        of_process: Callable[[OwnChildOpener], Opener],
        era: Era | None,
        client: Envelope | None,
        on_unsolicited: OnUnsolicited,
        on_state: OnState = lambda is_up: None,
    ) -> Line:
        """`of_process`: which opener serves, where each connection is a process."""
        plan = self._plan
        link_plan = LinkPlan(
            plan.name,
            plan.opener if plan.own_opener is None else of_process(plan.own_opener),
            era,
            client,
            plan.timeout_s,
            lambda: plan.own_patience.answer_s,
            plan.call_limits,
            plan.start_timeout_s,
        )
        return Line(link_plan, on_unsolicited, on_state)

    def _open_own(self, client: Envelope, session: Session) -> Line:
        session_id, folder = session.session_id, session.workspace if self._plan.in_workspace else None
        is_modern = self.first.era is Era.MODERN and (client.era is Era.MODERN or self._is_modern_only)

        def hear(item: Unsolicited | Undelivered) -> None:
            self._tell(ServerMessage(self._plan.name, session_id, item))

        return self._open(
            lambda own: own if folder is None else own.in_folder(Path(folder)),
            Era.MODERN if is_modern else Era.LEGACY,
            client,
            hear,
        )

    def _open_listing(self, declared: str, hear: OnUnsolicited) -> Line:
        return self._open(lambda own: own.if_free, Era.LEGACY, our_envelope(declared), hear)

    # ---- what shared lines say

    def _first_changed(self, is_up: bool) -> None:
        if is_up:
            self._is_modern_only = False  # another one may stand there now
            self.own.by_declaration = self.first.era is not Era.MODERN
        self._tell(StateChanged(self._plan.name, is_up))

    def _heard(self, item: Unsolicited | Undelivered) -> None:
        self._tell(ServerMessage(self._plan.name, None, item, self._wanted_by(item)))

    def _wanted_by(self, item: Unsolicited | Undelivered) -> tuple[str, ...]:
        """Who set a level for this message of a shared line's log, and has no line of its own to hear.

        Nobody, where several principals share it: it may be about another one's call.
        """
        if not isinstance(item, Notice) or item.method != MESSAGE or len(self.principals) > 1:
            return ()
        wanting = self._levels.wanting(item.params)
        return tuple(session_id for session_id in wanting if not self.own.of_session(session_id))


def _client(asker: Asker) -> Envelope:
    """Who is served: a legacy client said it once, a modern one says it with each request."""
    return asker.envelope if asker.envelope.era is Era.MODERN else asker.session.envelope
