"""What stands in for a configured server or source that this version cannot reach: it says so, always."""

from collections.abc import AsyncGenerator, Callable

from callgate.model.envelope import Era
from callgate.model.error_codes import UPSTREAM_UNAVAILABLE, ErrorCode
from callgate.model.errors import UpstreamError
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.heard import News
from callgate.model.reply import Item
from callgate.model.session import Session
from callgate.model.view import COMMON, View
from callgate.ports.upstream import Asker


class AbsentUpstream:
    def __init__(
        self, name: str, kind: str, reason: str, code: ErrorCode, schemes: frozenset[str] = frozenset()
    ) -> None:
        """`schemes`: they stay its own, so that nobody else answers in its place."""
        self.name = name
        self.schemes = schemes
        self._health = Health(name, kind, State.DOWN, reason, code.code)

    async def ask(self, hop: Hop, asker: Asker) -> AsyncGenerator[Item]:
        raise UpstreamError(UPSTREAM_UNAVAILABLE, f"{self.name} is down: {self._health.detail}")
        yield  # an async generator, like every Upstream.ask

    def bridges(self, era: Era) -> bool:
        return False

    def tell(self, method: str, params: bytes, session: Session) -> None:
        pass

    def hear(self, listener: Callable[[News], None]) -> None:
        pass

    def view_of(self, asker: Asker) -> View:
        return COMMON

    def show_alike(self, is_alike: bool) -> None:
        """It never makes a difference."""

    def forget(self, session: Session) -> None:
        pass

    def health(self) -> Health:
        return self._health

    async def close(self) -> None:
        pass
