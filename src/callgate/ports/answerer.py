"""Edge asks relay."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol

from callgate.model.exchange import Arrival
from callgate.model.identity import Principal
from callgate.model.reply import Reply, Tell
from callgate.model.session import Presence, Session
from callgate.ports.homes import AdoptedSession
from callgate.ports.outlet import Outlet

Answering = Callable[[Tell], Coroutine[Any, Any, Reply]]  # as `Answerer.answer`, for a request that it knows


class PlainReceiver(Protocol):
    """The part that began a plain call. One of the two is called, once, unless the call was cancelled."""

    def replied(self, reply: Reply) -> None: ...

    def said_more(self, go_on: Answering) -> None:
        """The server said something before its answer: `go_on` tells it, then all that comes, as `answer`."""
        ...


class PlainCall(Protocol):
    @property
    def session(self) -> Session: ...

    def cancel(self) -> None:
        """The client's cancellation."""
        ...


class Answerer(Protocol):
    async def answer(self, arrival: Arrival, tell: Tell) -> Reply:
        """`tell` hears what is said before the reply. Cancelling it is the client's cancellation. A `tell`
        that has no listener any more raises CancelledError itself."""
        ...

    def begin(self, arrival: Arrival, tool_name: str, receiver: PlainReceiver, /) -> PlainCall | None:
        """A `tools/call` of this tool that needs nothing but its server's answer, without a task that waits.

        None: `answer_generally`; nothing was done yet. Otherwise it is under way, and the receiver hears of
        it.
        """
        ...

    async def answer_generally(self, arrival: Arrival, tell: Tell) -> Reply:
        """As `answer`, for a request that could not be begun."""
        ...

    def notice(self, arrival: Arrival) -> None:
        """A client's notification; there is nothing to answer."""
        ...

    def find_session(self, handshake_id: str, principal: Principal) -> Session | None:
        """The open legacy session of that id, if it belongs to that principal."""
        ...

    def attach(self, session: Session, outlet: Outlet, on_end: Callable[[], None]) -> None:
        """Where to say things to this legacy client out of turn, and whom to tell that the session ended."""
        ...

    def end_session(self, session: Session) -> None:
        """The client ended it, or its connection closed. Ending twice is harmless."""
        ...

    def end_stream(self, presence: Presence, principal: Principal) -> None:
        """The stream that was one client closed: the modern sessions on it are over."""
        ...

    def server_of(self, public_name: str) -> str | None:
        """Whose a tool or prompt of that name at /mcp would be."""
        ...

    def has_server(self, name: str) -> bool:
        """Whether /servers/<name>/mcp leads anywhere."""
        ...

    def server_names(self) -> Iterable[str]:
        """Those for which it does."""
        ...


class SharedSessions(Protocol):
    """What an `Answerer` that is one of several replicas knows of sessions."""

    def adopt(self, adopted: AdoptedSession, handshake_id: str, principal: Principal) -> Session:
        """A legacy session whose home is gone goes on here."""
        ...

    async def home_of(self, arrival: Arrival) -> str | None:
        """The other replica that a modern client's request belongs to; None: here."""
        ...

    def is_held(self, arrival: Arrival) -> bool:
        """It continues a call that another replica has open: what it wants ends with that process."""
        ...

    async def after_loss(self, arrival: Arrival, gone: str) -> str | None:
        """The same, once the replica that `home_of` named is gone. Raises UpstreamError."""
        ...
