"""Api has a changed configuration taken over, and tells what came of it."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class SettingsNews(msgspec.Struct, frozen=True):
    """What is known of the configuration that is served. Names of keys, never values."""

    version: int = 0  # how often it was taken over
    changed: Sequence[str] = ()  # by the last time
    needs_restart: Sequence[str] = ()  # what the file says, and only a new start takes over
    problem: str | None = None  # why the file as it is now is not taken over


class Settings(Protocol):
    @property
    def news(self) -> SettingsNews: ...

    async def reload(self) -> SettingsNews:
        """Reads the file again. With a problem, what was served is served on."""
        ...
