"""Edge asks relay."""

from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from callgate.model.exchange import Arrival
from callgate.model.identity import Principal
from callgate.model.reply import Item
from callgate.model.session import Session
from callgate.ports.outlet import Outlet


class Answerer(Protocol):
    def answer(self, arrival: Arrival) -> AsyncGenerator[Item]:
        """Notices, then exactly one `Reply`. Closing the generator early is the client's cancellation."""
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

    def server_of(self, public_name: str) -> str | None:
        """Whose a tool or prompt of that name at /mcp would be."""
        ...

    def has_server(self, name: str) -> bool:
        """Whether /servers/<name>/mcp leads anywhere."""
        ...
