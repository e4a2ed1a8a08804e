"""Takes a changed configuration over while we serve.

Rules
1. The new configuration is read and checked whole. With any problem, also a file that is gone, the old one is
   served on, and `/healthz`, the API, the event stream and the log say so.
2. What differs is taken over (`take_over`). What cannot be is named, and waits for a new start.
3. The file is looked at when a second of the wall clock begins, so that all workers of one machine look
   together. It is read when it rests: a program may be writing it. SIGHUP and the API read it at once.
4. One is taken over at a time. Whoever asks meanwhile waits for the next one, which all of them share:
   however often a file changes, the work is bounded, and the last state wins.
"""

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from callgate.app.setup.setup_problems import load_and_check
from callgate.app.take_over import needs_restart, servable
from callgate.config.load import Loaded
from callgate.config.problem import key_path
from callgate.config.specs.config import Config
from callgate.config.specs.spec import Spec
from callgate.model.error_codes import SETUP_CONFIG
from callgate.model.errors import SetupError
from callgate.ports.settings import SettingsNews

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
# An editor or a script has written all of it by then, and if it never rests, it is read all the same.
_REST_S = 0.2
_MOST_RESTS = 10
_MAX_PROBLEM_CHARS = 2_000


def reload_signals() -> tuple[int, ...]:
    """Those that ask us to read the configuration again. A terminal that is closed sends SIGHUP too, and
    means that we end."""
    is_at_terminal = bool(sys.stdin) and not sys.stdin.closed and sys.stdin.isatty()
    return () if is_at_terminal else (signal.SIGHUP,)


def until_next_look_s(now_s: float) -> float:
    """`now_s`: of the wall clock, which all processes of a machine share. They look in the same moment."""
    return _LOOK_EVERY_S - now_s % _LOOK_EVERY_S


class Reloader:
    """Implements `ports.Settings`."""

    def __init__(
        self,
        loaded: Loaded,
        take: Callable[[Config], Awaitable[None]],
        found: Callable[[Loaded], Awaitable[None]],
    ) -> None:
        """`take`: serves a configuration from now on. `found`: hears of the file of a gateway that began
        without one, before what it says is taken."""
        self._loaded = loaded
        self._started = self._read = loaded.config
        self._origin = loaded.origin
        self._take_over = take
        self._found = found
        self._one_at_a_time = asyncio.Lock()
        self._next: asyncio.Task[SettingsNews] | None = None
        self._seen = _state_of(self.files)
        self.news = SettingsNews()

    @property
    def files(self) -> tuple[Path, ...]:
        """That are looked at."""
        return (self._origin,) if self._origin is not None else self._loaded.files

    async def reload(self) -> SettingsNews:
        if self._next is None:
            self._next = asyncio.create_task(self._reload())
        return await asyncio.shield(self._next)

    async def watch(self, asked: asyncio.Event) -> None:
        """Until it is cancelled. `asked`: to look at once."""
        while True:
            try:
                await asyncio.wait_for(asked.wait(), until_next_look_s(time.time()))
            except TimeoutError:
                if _state_of(self.files) == self._seen:
                    continue
                await self._until_it_rests()
            asked.clear()
            try:
                await self.reload()
            except Exception:  # noqa: BLE001 - a bug here must not end the looking
                _log.exception("the configuration could not be read again")

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)

    async def _until_it_rests(self) -> None:
        for _ in range(_MOST_RESTS):
            before = _state_of(self.files)
            await asyncio.sleep(_REST_S)
            if _state_of(self.files) == before:
                return

    async def _reload(self) -> SettingsNews:
        async with self._one_at_a_time:
            self._next = None  # who asks from now on may mean another file
            self._seen = _state_of(self.files)
            try:
                loaded = await asyncio.to_thread(load_and_check, self._loaded.flags)
                self._check_origin(loaded.origin)
            except SetupError as error:
                self._refuse(error)
            else:
                if self._origin is None and loaded.origin is not None:
                    self._origin = loaded.origin
                    await self._found(loaded)
                await self._take(loaded.config)
            return self.news

    def _check_origin(self, origin: Path | None) -> None:
        """Raises SetupError: without its file a gateway would serve the demo, or somebody else's servers."""
        if self._origin is not None and origin != self._origin:
            raise SetupError(
                SETUP_CONFIG,
                f"{self._origin} is gone",
                hint="Put it back, or start the gateway again without it",
            )

    def _refuse(self, error: SetupError) -> None:
        problem = f"The configuration is not taken over, and the one before is served on: {error.message}"
        if self.news.problem != problem:
            _log.error("%s", problem)
        self.news = SettingsNews(
            self.news.version, self.news.changed, self.news.needs_restart, problem[:_MAX_PROBLEM_CHARS]
        )

    async def _take(self, read: Config) -> None:
        changed = tuple(differences(self._read, read))
        waits = tuple(path for path in differences(self._started, read) if needs_restart(path))
        if not changed:
            self.news = SettingsNews(self.news.version, self.news.changed, waits)
            return
        await self._take_over(servable(read, self._started))
        self._read = read
        self.news = SettingsNews(self.news.version + 1, changed, waits)
        _log.info("The configuration was taken over; changed: %s", ", ".join(changed))
        if waits:
            _log.warning("These changes need a new start: %s", ", ".join(waits))


def differences(one: Config, other: Config) -> Iterator[str]:
    """The keys whose values differ: of a table with names its entries, else the single keys."""
    for name, info in Config.spec_keys.items():
        here, there = getattr(one, name), getattr(other, name)
        if here == there:
            continue
        key = info.key
        if isinstance(here, tuple):
            entries = list(_entries(key, _by_name(here), _by_name(there)))
            yield from entries or [key]  # their order alone
        elif isinstance(here, Mapping):
            yield from _entries(key, cast("Mapping[str, Any]", here), cast("Mapping[str, Any]", there))
        elif isinstance(here, Spec):
            yield from _keys(key, here, there)
        else:
            yield key


def _entries(key: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*here, *there}):
        if here.get(name) != there.get(name):
            yield key_path((key, name))


def _by_name(entries: Any) -> dict[str, Any]:
    """Of sources, which have ids, and tools, which have names."""
    return {getattr(entry, "id", None) or entry.name: entry for entry in entries}


def _keys(key: str, here: Spec, there: Spec) -> Iterator[str]:
    for name, info in here.spec_keys.items():
        if getattr(here, name) != getattr(there, name):
            yield key_path((key, info.key))


def _state_of(paths: Sequence[Path]) -> tuple[object, ...]:
    """Changes when one of the files does."""
    return tuple(_state_of_one(path) for path in paths)


def _state_of_one(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
