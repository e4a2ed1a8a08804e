"""Relay asks upstreams and sql: whatever stands behind us answers MCP methods."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, runtime_checkable

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.health import Health
from callgate.model.reply import Reply, Said, Tell
from callgate.model.session import Session
from callgate.model.upstream_news import News
from callgate.model.view import View


class Asker(msgspec.Struct, frozen=True, gc=False):
    """On whose behalf an upstream is asked: what it declared decides which connection serves it."""

    envelope: Envelope
    session: Session
    rpc_id: bytes  # the client's own id of the request: a subscription is known to the client by it


CallListener = Callable[[Reply | Said | CallgateError], None]


class BegunCall(Protocol):
    """A call that is under way; its listener hears of the answer."""

    def go_on(self, tell: Tell) -> Awaitable[Reply]:
        """All that the server says, from the first on that the listener was told of instead of the answer."""
        ...

    def cancel(self) -> None:
        """Nobody waits for it any more; its listener hears nothing more of it."""
        ...


class ToolCaller(Protocol):
    """Calls of one tool by one client, sent without a task that waits for their answers."""

    def begin(self, hop: Hop, listener: CallListener) -> BegunCall | None:
        """As `Upstream.ask`, for a call that can be sent at once and needs nothing but the server's answer.

        None: ask, this caller is of no use any more. The listener is told once: the answer, the error that
        ended the call, or the first that the server said before its answer. It may be told before this
        returns.
        """
        ...


@runtime_checkable
class PlainUpstream(Protocol):
    """An upstream whose tools can be called without a task."""

    def bridges(self, era: Era) -> bool:
        """As of every upstream."""
        ...

    def tool_caller(self, native_name: str, asker: Asker) -> ToolCaller | None:
        """For all calls of this tool by this client; None: there is none at the moment."""
        ...


@runtime_checkable
class StatefulUpstream(Protocol):
    """An upstream whose server may remember what a session did."""

    def keeps_state(self) -> bool:
        """Whether one session's requests must all be made over the same connection. False while not known."""
        ...


@runtime_checkable
class RetryingUpstream(Protocol):
    """An upstream that connects, and connects again by itself after a while."""

    async def retry(self) -> None:
        """Connect again now, if it is down. Returns when the attempt is over; health says how it went."""
        ...


class Upstream(Protocol):
    @property
    def name(self) -> str:
        """The id the operator gave it; also the prefix of its public names."""
        ...

    @property
    def schemes(self) -> frozenset[str]:
        """Schemes of resources, in lower case, that are its alone, even if others list such addresses."""
        ...

    def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Coroutine[Any, Any, Reply]:
        """Ask `hop.method` with `hop.params` (raw JSON with native names). `tell` hears what comes before the
        reply.

        `initialize` answers with what the upstream said in its own handshake. Cancelling it cancels at the
        upstream. A failure raises `UpstreamError` or `SourceError`, a method that does not
        exist here `CallerError`; the upstream may fill in the hop's `facts` and what it knows of the server.
        """
        ...

    def bridges(self, era: Era) -> bool:
        """Whether a client of that era is, or may be, served by a server of the other one."""
        ...

    def tell(self, method: str, params: bytes, session: Session) -> None:
        """A notification of this client's, best effort."""
        ...

    def hear(self, listener: Callable[[News], None]) -> None:
        """The listener for unsolicited messages; set once, before anything is asked."""
        ...

    def view_of(self, asker: Asker) -> View:
        """Which of its lists this request is shown: what a client declares may decide it."""
        ...

    def show_alike(self, is_alike: bool) -> None:
        """Whether it was found that what a client declares makes no difference: then all have one view."""
        ...

    def forget(self, session: Session) -> None:
        """The session ended: connections that served only it may go."""
        ...

    def health(self) -> Health: ...

    def leave(self) -> None:
        """Nobody new will ask: it is about to be closed. What lasts by itself, as a subscription, ends."""
        ...

    def is_busy(self) -> bool:
        """Whether a call is under way."""
        ...

    async def close(self) -> None: ...
