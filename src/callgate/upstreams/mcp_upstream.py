"""One MCP server behind us, as relay sees it: what is asked of it, and how it is doing.

Which of its lines serves whom is `server_lines`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from callgate.model.envelope import Era
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.reply import Reply, Tell
from callgate.model.session import Session
from callgate.model.stderr_text import quoted
from callgate.model.upstream_news import News
from callgate.ports.upstream import Asker
from callgate.upstreams.child.slots import Expendable
from callgate.upstreams.link.call_on_line import CallOnLine, ToolOnLine
from callgate.upstreams.link.handshake import Introduction
from callgate.upstreams.link.line import Line
from callgate.upstreams.link.log_levels import LogLevels
from callgate.upstreams.server_lines import ROOTS_CHANGED, McpUpstreamPlan, ServerLines
from callgate.upstreams.workspaces import Workspaces
from callgate.wire.eras.capabilities import answers_questions
from callgate.wire.eras.input_required import ROUND_TRIP_METHODS
from callgate.wire.eras.subscription import with_subscription

# One that ends at once again and again is down, not starting.
_SURELY_STARTING_S = 2.0


class McpUpstream:
    """Made inside a running loop; begins to connect at once, and nobody waits for it. Implements
    `ports.Upstream`, `ports.StatefulUpstream` and `ports.RetryingUpstream`."""

    schemes: frozenset[str] = frozenset()  # several servers may have files, or pages

    def __init__(self, plan: McpUpstreamPlan) -> None:
        self._plan = plan
        self.name = plan.name
        self.title, self.call_limits = plan.title, plan.call_limits
        self._listener: Callable[[News], None] = lambda news: None
        self._levels = LogLevels()
        self._workspaces = Workspaces(plan.name, plan.own_patience) if plan.in_workspace else None
        self._leaving = asyncio.Event()
        self._is_closed = False
        self._lines = ServerLines(plan, self._levels, lambda news: self._listener(news))
        self.view_of = self._lines.view_of

    # ---- what is asked

    def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Coroutine[Any, Any, Reply]:
        self._lines.principals.add(asker.session.principal.name)
        if self._workspaces is not None and hop.method in ROUND_TRIP_METHODS:
            return self._ask_in_folder(self._workspaces, hop, asker, tell)
        line = self._lines.at_hand(hop.method, asker)
        introduction = line.link.ready if line is not None else None
        if line is not None and introduction is not None and introduction.era is asker.envelope.era:
            return CallOnLine(line, introduction, self._levels).plain(hop, asker, tell)
        return self._find_and_ask(hop, asker, tell)

    def tool_caller(self, native_name: str, asker: Asker) -> ToolOnLine | None:
        line = self._lines.at_hand("tools/call", asker) if self._workspaces is None else None
        if line is None or (introduction := line.link.ready) is None:
            return None
        if _takes_turns(line, asker, "tools/call"):
            return None
        self._lines.principals.add(asker.session.principal.name)
        own = None if line.link.is_shared else self._lines.own
        return ToolOnLine(line, introduction, self._levels, native_name, asker, own)

    async def _ask_in_folder(self, workspaces: Workspaces, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        folder = await workspaces.folder_of(asker, tell)
        session = asker.session
        if session.era is Era.LEGACY and workspaces.has_moved(session.session_id, folder):
            self._lines.own.end(session.session_id, only_idle=True)  # it works elsewhere now
        there = msgspec.structs.replace(asker, session=replace(session, workspace=str(folder)))
        return await self._find_and_ask(hop, there, tell)

    async def _find_and_ask(self, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        line = await self._lines.find(asker, hop.method)
        line.users += 1
        try:
            introduction = line.link.ready
            if introduction is None:
                introduction = await line.link.until_ready(self._plan.timeout_s)
            call = CallOnLine(line, introduction, self._levels)
            if hop.method == "subscriptions/listen":
                return await self._listen(call.any(hop, asker, tell), asker.rpc_id)
            if not _takes_turns(line, asker, hop.method):
                return await call.any(hop, asker, tell)
            # A caller that waits for its turn waits for other calls, which may take long.
            return await call.in_turn(hop, asker, tell, self._lines.own, self._plan.call_limits.timeout_s)
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

    def bridges(self, era: Era) -> bool:
        met = self._lines.first.link.introduction
        # A modern client may have to be asked for its roots, whatever the server is.
        is_asked = self._workspaces is not None and era is Era.MODERN
        return is_asked or met is None or met.era is not era

    # ---- what is told

    def tell(self, method: str, params: bytes, session: Session) -> None:
        if self._workspaces is not None and method == ROOTS_CHANGED:
            self._workspaces.roots_changed(session.session_id)
        for line in self._lines.to_tell(method, session):
            line.link.tell(method, params)

    def hear(self, listener: Callable[[News], None]) -> None:
        self._listener = listener

    def show_alike(self, is_alike: bool) -> None:
        self._lines.is_alike = is_alike

    def forget(self, session: Session) -> None:
        self._levels.by_session.pop(session.session_id, None)
        if self._workspaces is not None:
            self._workspaces.forget(session.session_id)
        # A modern session ends by silence. A client that still listens, or has a parked call, is not silent.
        self._lines.own.end(session.session_id, only_idle=session.era is Era.MODERN)
        for line in self._lines.shared():
            line.forget(session.session_id)

    # ---- how it is doing

    def keeps_state(self) -> bool:
        """A process, or a handshake server that gave us a session.

        What a process of either era keeps (open files, its own tools) is in that process alone."""
        first = self._lines.first
        if not self._plan.keeps_state or first.era is None:
            return False
        is_process = self._plan.own_opener is not None
        return is_process or (first.era is Era.LEGACY and first.link.has_server_session)

    def health(self) -> Health:
        first = self._lines.first.link
        shown = partial(Health, self.name, "mcp", last_failure=first.last_failure, title=self.title)
        # A client's own connection may be up again before the one that the next client needs first.
        up = next((line.link for line in self._lines.shared() if line.link.is_ready), None)
        if up is not None:
            met = up.introduction
            return shown(
                State.UP,
                _describe(met, len(self._lines.all())),
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
        """Of the line that all others follow."""
        await self._lines.first.link.retry()

    def expendable(self) -> list[Expendable]:
        """Processes that could be done without at the moment: see `child.slots`."""
        return self._lines.own.expendable() + self._lines.listing.expendable()

    def leave(self) -> None:
        self._leaving.set()

    def is_busy(self) -> bool:
        return any(line.is_used for line in self._lines.all())

    async def close(self) -> None:
        await self._lines.close()
        if not self._is_closed:  # it may leave while the gateway stops: then both close it
            self._is_closed = True
            self._plan.on_close()


def _takes_turns(line: Line, asker: Asker, method: str) -> bool:
    return (
        asker.envelope.era is Era.MODERN
        and line.era is Era.LEGACY
        and line.link.is_pipe
        and not line.link.is_shared
        and method in ROUND_TRIP_METHODS
        and answers_questions(asker.envelope.capabilities)
    )


def _describe(introduction: Introduction | None, lines: int) -> str:
    if introduction is None:
        return "up"
    who = " ".join(part for part in (introduction.server_name, introduction.server_version) if part)
    shared = f", {lines} connections" if lines > 1 else ""
    return f"{who or 'a server'}, {introduction.era.value} ({introduction.revision}){shared}"
