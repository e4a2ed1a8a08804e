"""Relay speaks to a client out of turn: what belongs to no call of the client's."""

from typing import Protocol

from callgate.model.reply import Unsolicited


class Outlet(Protocol):
    """One client's open ear: a legacy session's GET stream, or its pipe. Never blocks, never raises."""

    def say(self, item: Unsolicited) -> None: ...
