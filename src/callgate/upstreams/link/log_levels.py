"""How much of a server's log each client wants to see.

A legacy connection has one level for all who share it, a modern request has its own: what a client did not
ask for is left out on the way (`floor_of`), so one client's level never decides what another sees.
"""

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.ports.upstream import Asker
from callgate.wire.json_rpc import read_if_readable

MESSAGE = "notifications/message"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
EVERYTHING = 0
# Above every level: a modern request without a level gets no log (2026-07-28, server/utilities/logging).
NOTHING = len(LEVELS)


class _Message(msgspec.Struct):
    level: str = ""


_message_decoder = msgspec.json.Decoder(_Message)


def level_in(params: bytes) -> str:
    """Of `logging/setLevel` or a log message; the empty string when it says none."""
    message = read_if_readable(_message_decoder, params)
    return "" if message is None else message.level


def rank_of(level: str) -> int:
    """A level that nobody knows is shown to those who want everything."""
    return LEVELS.index(level) if level in LEVELS else EVERYTHING


class LogLevels:
    """What legacy sessions asked for; modern requests say it each time."""

    def __init__(self) -> None:
        self.by_session: dict[str, str] = {}

    def wanting(self, params: bytes) -> list[str]:
        """The sessions that set a level at which this message is shown."""
        rank = rank_of(level_in(params))
        return [session_id for session_id, level in self.by_session.items() if rank_of(level) <= rank]

    def floor_of(self, asker: Asker) -> int:
        """The lowest rank of a message that this asker is shown."""
        if asker.envelope.era is Era.MODERN:
            level = asker.envelope.log_level
            return NOTHING if level is None else rank_of(level)
        level = self.by_session.get(asker.session.session_id) if self.by_session else None
        return EVERYTHING if level is None else rank_of(level)


def check_level(level: str) -> None:
    if level not in LEVELS:
        raise CallerError(CALLER_BAD_PARAMS, f"The log level must be one of {', '.join(LEVELS)}")
