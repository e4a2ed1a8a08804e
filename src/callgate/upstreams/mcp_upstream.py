"""One MCP server behind us, as relay sees it: which of its lines serves whom, and how it is doing.

Rules (protocol.md, "Isolation of legacy upstreams", "The bridge")
1. The first line finds out the era and is shared. A modern server needs no other for a modern client:
   requests carry all they need.
2. At a legacy server, clients that declare no sampling, elicitation or roots share a line; one that
   declares any gets its own (`own_lines`). `shared` and `session` force it either way.
3. A legacy client of a server that speaks both eras gets a legacy line. Where the server refuses that, and
   for a modern client of a legacy server, the eras are bridged: `call_on_line` says how.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import UPSTREAM_OTHER_ERA
from callgate.model.errors import UpstreamError
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.heard import Heard, News, StateChanged
from callgate.model.reply import Item, Unasked, Unpassed
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.upstreams.call_on_line import LIST_METHODS, CallOnLine, note_version
from callgate.upstreams.handshake import Introduction
from callgate.upstreams.line import Line
from callgate.upstreams.link import LinkPlan
from callgate.upstreams.log_levels import LogLevels
from callgate.upstreams.own_lines import OwnLines
from callgate.upstreams.transport import ClosableOpener, Opener
from callgate.wire.capabilities import answers_questions
from callgate.wire.input_required import ROUND_TRIP_METHODS
from callgate.wire.request_table import START_TIMEOUT_S

# What is not simply passed on, even within one era.
_SPECIAL_METHODS = frozenset(
    {"initialize", "subscriptions/listen", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"}
)
# A modern server's answer to a request without its headers (2026-07-28, basic/versioning, "Compatibility
# Matrix").
_REFUSING_STATUSES = frozenset({400, 404, 405})
# One that ends at once again and again is down, not starting.
_SURELY_STARTING_S = 2.0


@dataclass(frozen=True, slots=True)
class McpUpstreamPlan:
    name: str
    opener: Opener
    timeout_s: float = 30.0
    isolation: str = "auto"  # "auto" | "shared" | "session"
    answer_timeout_s: float = 600.0  # how long a person may think about a server's question
    own_opener: ClosableOpener | None = None  # for connections that serve one client; None: the same
    start_timeout_s: float = START_TIMEOUT_S


class McpUpstream:
    """Made inside a running loop; begins to connect at once, and nobody waits for it."""

    def __init__(self, plan: McpUpstreamPlan) -> None:
        self._plan = plan
        self._listener: Callable[[News], None] = lambda news: None
        self._levels = LogLevels()
        self._own = OwnLines(plan.name, plan.isolation == "session", self._open_own)
        self._shared_legacy: Line | None = None
        self._is_modern_only = False
        self._first = self._open(None, None, None)

    @property
    def name(self) -> str:
        return self._plan.name

    # ---- ports.Upstream

    @property
    def schemes(self) -> frozenset[str]:
        """None: several servers may have files, or pages."""
        return frozenset()

    def ask(self, hop: Hop, asker: Asker) -> AsyncGenerator[Item]:
        introduction = self._first.link.ready
        # What nearly every call needs: the shared line is up and speaks the client's era. One generator less.
        if (
            introduction is not None
            and introduction.era is asker.envelope.era
            and hop.method not in _SPECIAL_METHODS
            and not self._needs_own(_client(asker), introduction.era)
        ):
            return CallOnLine(self._first, introduction, self._levels).plain(hop, asker)
        return self._find_and_ask(hop, asker)

    def bridges(self, era: Era) -> bool:
        introduction = self._first.link.introduction
        return introduction is None or introduction.era is not era

    def tell(self, method: str, params: bytes, session: Session) -> None:
        lines = self._own.of_session(session.session_id)
        if not lines and session.target == self.name:  # everything of a direct client's passes
            lines = [self._shared_legacy or self._first]
        for line in lines:
            if line.era is session.era:  # no notification of a client's is left in the modern era
                line.link.tell(method, params)

    def hear(self, listener: Callable[[News], None]) -> None:
        self._listener = listener

    def view_of(self, session: Session) -> str | None:
        era = self._first.era or Era.LEGACY
        is_bridged = session.era is Era.LEGACY and self._is_modern_only
        return session.session_id if not is_bridged and self._needs_own(session.envelope, era) else None

    def forget(self, session: Session) -> None:
        self._levels.forget(session.session_id)
        # A modern session ends by silence: whoever still listens, or has a call parked, is not silenced.
        self._own.end(session.session_id, only_idle=session.era is Era.MODERN)
        for line in self._shared():
            line.forget(session.session_id)

    def health(self) -> Health:
        lines = self._lines()
        ready = [line.link for line in lines if line.link.is_ready]
        if ready:
            up = ready[0]
            met = up.introduction
            return Health(
                self.name,
                "mcp",
                State.UP,
                _describe(met, len(lines)),
                era=met and met.era.value,
                version=met and met.server_version,
                stderr_tail=tuple(up.stderr_tail),
                protocol=met and met.revision,
                last_failure=self._first.link.last_failure,
            )
        first = self._first.link
        error, tail = first.error, tuple(first.stderr_tail)
        said = f" (stderr: {tail[-1]})" if tail else ""
        if error is None or (first.starting_s or 0.0) >= _SURELY_STARTING_S:
            detail = f"starting; it has {first.start_timeout_s:g} s to answer{said}"
            return Health(
                self.name,
                "mcp",
                State.STARTING,
                detail,
                stderr_tail=tail,
                last_failure=first.last_failure,
            )
        return Health(
            self.name,
            "mcp",
            State.DOWN,
            error.message if error.hint else error.message + said,
            error.code.code,
            stderr_tail=tail,
            last_failure=first.last_failure,
        )

    async def close(self) -> None:
        await asyncio.gather(self._own.close(), *(line.close() for line in self._shared()))
        if self._plan.own_opener is not None:
            await self._plan.own_opener.close()

    # ---- lines

    async def _find_and_ask(self, hop: Hop, asker: Asker) -> AsyncGenerator[Item]:
        line = await self._line_for(asker, hop.method)
        introduction = line.link.ready
        if introduction is None:
            introduction = await line.link.until_ready(self._plan.timeout_s)
        call = CallOnLine(line, introduction, self._levels, is_shared=line.link.is_shared)
        if self._takes_turns(line, asker, hop.method):
            asked = call.in_turn(hop, asker, self._own, self._plan.timeout_s)
        else:
            asked = call.any(hop, asker)
        try:
            async with aclosing(asked) as items:
                async for item in items:
                    yield item
        finally:
            if line.link.introduction is not None:
                note_version(hop, line.link.introduction)

    def _shared(self) -> list[Line]:
        return [line for line in (self._first, self._shared_legacy) if line is not None]

    def _lines(self) -> list[Line]:
        return [*self._shared(), *self._own.all()]

    def _open(self, era: Era | None, client: Envelope | None, session_id: str | None) -> Line:
        own_opener = self._plan.own_opener if client is not None else None
        plan = LinkPlan(
            self.name,
            own_opener or self._plan.opener,
            era,
            client,
            self._plan.timeout_s,
            self._plan.answer_timeout_s,
            self._plan.start_timeout_s,
        )

        def on_heard(item: Unasked | Unpassed) -> None:
            self._listener(Heard(self.name, session_id, item))

        return Line(plan, on_heard, self._first_changed if era is None else lambda is_up: None)

    def _open_own(self, client: Envelope, session: Session) -> Line:
        return self._open(Era.LEGACY, client, session.session_id)

    async def _line_for(self, asker: Asker, method: str) -> Line:
        """Raises UpstreamError."""
        first = self._first
        if first.link.ready is None:
            await first.link.until_ready(self._plan.timeout_s)
        era = first.era
        assert era is not None
        client = _client(asker)
        if client.era is era is Era.MODERN:
            return first
        needs_own = self._needs_own(client, era)
        if method in LIST_METHODS and not needs_own:
            return first
        if era is Era.MODERN:
            return await self._legacy_line_of_modern(asker, needs_own)
        if not needs_own:
            return first
        return await _ready(self._own.get(client, asker.session), self._plan.timeout_s)

    async def _legacy_line_of_modern(self, asker: Asker, needs_own: bool) -> Line:
        """For a legacy client; the first line where the server does not speak its era after all."""
        if self._is_modern_only:
            return self._first
        if needs_own:
            line = self._own.get(asker.session.envelope, asker.session)
        else:
            line = self._shared_legacy = self._shared_legacy or self._open(Era.LEGACY, None, None)
        try:
            return await _ready(line, self._plan.timeout_s)
        except UpstreamError as error:
            if not _is_refusal(error) or not self._first.link.is_ready or self._speaks_legacy():
                raise
            # It would try, and be refused, for ever.
            self._is_modern_only = True
            self._own.end(asker.session.session_id, only_idle=False)
            if self._shared_legacy is line:
                self._shared_legacy = None
                await line.close()
            return self._first

    def _speaks_legacy(self) -> bool:
        """Whether a handshake went well: then the refusal of another one is a passing trouble."""
        return any(line.link.is_ready for line in self._lines() if line is not self._first)

    def _needs_own(self, client: Envelope, server_era: Era) -> bool:
        if client.era is Era.MODERN is server_era:
            return False
        if self._plan.isolation != "auto":
            return self._plan.isolation == "session"
        return answers_questions(client.capabilities)

    def _takes_turns(self, line: Line, asker: Asker, method: str) -> bool:
        return (
            asker.envelope.era is Era.MODERN
            and line.link.is_pipe
            and not line.link.is_shared
            and method in ROUND_TRIP_METHODS
        )

    def _first_changed(self, is_up: bool) -> None:
        if is_up:
            self._is_modern_only = False  # another one may stand there now
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


async def _ready(line: Line, timeout_s: float) -> Line:
    if line.link.ready is None:
        await line.link.until_ready(timeout_s)
    return line


def _describe(introduction: Introduction | None, lines: int) -> str:
    if introduction is None:
        return "up"
    who = " ".join(part for part in (introduction.server_name, introduction.server_version) if part)
    shared = f", {lines} connections" if lines > 1 else ""
    return f"{who or 'a server'}, {introduction.era.value} ({introduction.revision}){shared}"
