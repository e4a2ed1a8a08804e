"""One line in the log for each change of state of a server or a database: of `serve`, and of `stdio` alone.

The record has its own log.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from callgate.model.health import Health, State
from callgate.model.stderr_text import quoted
from callgate.model.terminal_text import one_safe_line

_log = logging.getLogger(__name__)
# A person who watches the log sees a change at once, and a look costs microseconds a server.
_EVERY_S = 1.0
_MAX_CHARS = 500


async def log_states(health: Callable[[], Sequence[Health]], redact: Callable[[str], str]) -> None:
    """Until it is cancelled. The first look is a moment late: the databases are being tried."""
    states: dict[str, State] = {}
    while True:
        await asyncio.sleep(_EVERY_S)
        try:
            for entry in health():
                # A server that is down is started again and again: only whether it is up is a change.
                if entry.state is not State.STARTING and entry.state is not states.get(entry.name):
                    states[entry.name] = entry.state
                    _tell(entry, redact)
        except Exception:  # noqa: BLE001 - the next look may go well
            _log.exception("The state of the servers could not be logged")


def _tell(entry: Health, redact: Callable[[str], str]) -> None:
    # Of one that is down, the detail ends with what it said.
    said = quoted(entry.stderr_tail) if entry.state is State.UP else ""
    detail = one_safe_line(redact(entry.detail + said))
    told = detail if len(detail) <= _MAX_CHARS else f"{detail[:_MAX_CHARS]}…"
    if entry.state is State.UP:
        _log.info("✓ %s is up: %s", entry.name, told)
    else:
        _log.warning("✗ %s is down: %s", entry.name, told)
