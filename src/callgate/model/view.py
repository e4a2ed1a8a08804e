"""Which of a server's lists a client is shown: servers may list other tools to clients that declare more."""

from typing import NamedTuple


class View(NamedTuple):
    """Clients with the same view of a server are shown the same lists."""

    # What decides: the capabilities, in one spelling, by which a server may ask its client something
    # (`wire.eras.capabilities.view_declared`). "" when none of them is declared.
    declared: str = ""
    session_id: str = ""  # the one session that a connection of its own serves

    @property
    def shared(self) -> "View":
        """Without the session: what it is shown until its own connection was asked."""
        return View(self.declared) if self.session_id else self


COMMON = View()  # of all clients that declare none of it
