"""The part of `ports.upstream.Upstream` that is the same for every database: it keeps nothing of sessions."""

from collections.abc import Callable

from callgate.model.envelope import Era
from callgate.model.session import Session
from callgate.model.upstream_news import News
from callgate.model.view import COMMON, View
from callgate.ports.upstream import Asker


class StatelessUpstream:
    def bridges(self, era: Era) -> bool:
        """Our answers suit either era as they are."""
        return False

    def tell(self, method: str, params: bytes, session: Session) -> None:
        """A database has no use for a client's notifications."""

    def hear(self, listener: Callable[[News], None]) -> None:
        """A database sends nothing that was not asked for."""

    def view_of(self, asker: Asker) -> View:
        return COMMON

    def show_alike(self, is_alike: bool) -> None:
        """Every client sees the same lists."""

    def forget(self, session: Session) -> None:
        """Sessions share the pool, so there is nothing to free."""

    def leave(self) -> None:
        """Nothing lasts longer than a call."""
