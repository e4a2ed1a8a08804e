"""One line in the log for each change of state of a server or a database; `recorder.trouble` has its own."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from callgate.model.health import Health, State
from callgate.model.terminal_text import one_safe_line

_log = logging.getLogger(__name__)

# A person who watches the log sees a change at once, and a look costs microseconds a server.
_EVERY_S = 1.0
_MAX_CHARS = 500


class StateLog:
    """A server that is down is started again and again: only whether it is up counts as a change."""

    def __init__(self, health: Callable[[], Sequence[Health]], redact: Callable[[str], str]) -> None:
        self._health = health
        self._redact = redact
        self._states: dict[str, State] = {}

    async def run(self) -> None:
        """Until it is cancelled. The first look is a moment late: the databases are being tried."""
        while True:
            await asyncio.sleep(_EVERY_S)
            try:
                self.look()
            except Exception:  # noqa: BLE001 - the next look may go well
                _log.exception("The state of the servers could not be told")

    def look(self) -> None:
        for entry in self._health():
            if entry.state is State.STARTING or entry.state is self._states.get(entry.name):
                continue
            self._states[entry.name] = entry.state
            last_words = f"; its last line on stderr: {entry.stderr_tail[-1]}" if entry.stderr_tail else ""
            detail = one_safe_line(self._redact(entry.detail + last_words))
            told = detail if len(detail) <= _MAX_CHARS else f"{detail[:_MAX_CHARS]}…"
            if entry.state is State.UP:
                _log.info("✓ %s is up: %s", entry.name, told)
            else:
                _log.warning("✗ %s is down: %s", entry.name, told)
