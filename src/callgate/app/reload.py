"""Takes a changed configuration over while we serve, as far as that can be done.

Rules
1. The new configuration is read and checked whole. With any problem the old one is served on, and `/healthz`
   and the log say so.
2. Who may come is live: tokens, principals, and the names and origins that are let in. What else differs is
   named, and waits for a new start.
3. The file is looked at each second. SIGHUP and the API look at once.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from callgate.app.principals import gate_rules
from callgate.app.setup_problems import load_and_check
from callgate.config.load import Loaded
from callgate.config.problem import key_path
from callgate.config.specs.config import Config
from callgate.config.specs.spec import Spec
from callgate.edge.listener import Listener
from callgate.model.errors import SetupError
from callgate.ports.settings import SettingsNews

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
_LIVE_OF_SERVER = ("tokens", "allowed_hosts", "allowed_origins")
_LIVE = ("principals.", *(f"server.{name}" for name in _LIVE_OF_SERVER))
_MAX_PROBLEM_CHARS = 2_000


def reload_signals() -> tuple[int, ...]:
    """Those that ask us to read the configuration again. A terminal that is closed sends SIGHUP too, and
    means that we end."""
    is_at_terminal = bool(sys.stdin) and not sys.stdin.closed and sys.stdin.isatty()
    return () if is_at_terminal else (signal.SIGHUP,)


class Reloader:
    """Implements `ports.Settings`."""

    def __init__(
        self, loaded: Loaded, listener: Listener, on_change: Callable[[Config], None] = lambda config: None
    ) -> None:
        """`on_change`: hears what is served from now on."""
        self._loaded = loaded
        self._started = self._served = self._read = loaded.config
        self._listener = listener
        self._on_change = on_change
        self._one_at_a_time = asyncio.Lock()
        self._seen = _state_of(loaded.origin)
        self.news = SettingsNews()

    async def reload(self) -> SettingsNews:
        async with self._one_at_a_time:
            self._seen = _state_of(self._loaded.origin)
            try:
                read = (await asyncio.to_thread(load_and_check, self._loaded.flags)).config
            except SetupError as error:
                self._refuse(error)
            else:
                self._take(read)
            return self.news

    async def watch(self, asked: asyncio.Event) -> None:
        """Until it is cancelled. `asked`: to look at once."""
        while True:
            try:
                await asyncio.wait_for(asked.wait(), _LOOK_EVERY_S)
            except TimeoutError:
                if _state_of(self._loaded.origin) == self._seen:
                    continue
            asked.clear()
            try:
                await self.reload()
            except Exception:  # noqa: BLE001 - a bug here must not end the looking
                _log.exception("the configuration could not be read again")

    def _refuse(self, error: SetupError) -> None:
        problem = f"The configuration is not taken over, and the one before is served on: {error.message}"
        if self.news.problem != problem:
            _log.error("%s", problem)
        self.news = SettingsNews(
            self.news.version, self.news.changed, self.news.needs_restart, problem[:_MAX_PROBLEM_CHARS]
        )

    def _take(self, read: Config) -> None:
        changed = tuple(differences(self._read, read))
        waits = tuple(path for path in differences(self._started, read) if not path.startswith(_LIVE))
        if not changed:
            self.news = SettingsNews(self.news.version, self.news.changed, waits)
            return
        self._read = read
        live: dict[str, Any] = {name: getattr(read.server, name) for name in _LIVE_OF_SERVER}
        server = self._started.server.model_copy(update=live)
        self._served = self._started.model_copy(update={"server": server, "principals": read.principals})
        self._listener.use_rules(gate_rules(self._served))
        self._on_change(self._served)
        self.news = SettingsNews(self.news.version + 1, changed, waits)
        _log.info("The configuration was taken over; changed: %s", ", ".join(changed))
        if waits:
            _log.warning("These changes need a new start: %s", ", ".join(waits))


def differences(one: Config, other: Config) -> Iterator[str]:
    """The keys whose values differ: of a table with names its entries, else the single keys."""
    for name, info in Config.model_fields.items():
        here, there = getattr(one, name), getattr(other, name)
        if here == there:
            continue
        key = info.alias or name
        if isinstance(here, Mapping):
            yield from _entries(key, cast("Mapping[str, Any]", here), cast("Mapping[str, Any]", there))
        elif isinstance(here, Spec):
            yield from _keys(key, here, there)
        else:
            yield key


def _entries(key: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*here, *there}):
        if here.get(name) != there.get(name):
            yield key_path((key, name))


def _keys(key: str, here: Spec, there: Spec) -> Iterator[str]:
    for name, info in type(here).model_fields.items():
        if getattr(here, name) != getattr(there, name):
            yield key_path((key, info.alias or name))


def _state_of(path: Path | None) -> tuple[int, int, int] | None:
    """Changes when the file does."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return (0, 0, 0)
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)
