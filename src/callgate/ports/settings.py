"""Api shows the configuration, has its file changed and taken over, and tells what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

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


Origin = Literal["file", "environment", "flag", "default"]


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One effective value. No value of a secret."""

    key_path: str  # as a change names it
    value: Any  # secrets masked; None: it is not set
    origin: Origin
    where: str = ""  # "line 12", a variable's or a flag's name
    description: str = ""
    kind: str = ""  # JSON's word for it: "string", "boolean", "array", …
    choices: Sequence[str] = ()
    is_secret: bool = False  # it is not told, but can be set


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A source or server of the configuration, also one that is left out."""

    name: str
    kind: str  # "sql" | "mcp"
    key_path: str
    is_disabled: bool
    is_in_file: bool  # else a variable or the command line names it


@dataclass(frozen=True, slots=True)
class ConfigView:
    file: str | None  # None: there is none
    digest: str  # of the file, for the next change
    is_writable: bool
    values: Sequence[ConfigValue] = ()
    entries: Sequence[ConfigEntry] = ()
    problem: str | None = None  # why the file as it is now is not what is served


@dataclass(frozen=True, slots=True)
class ConfigChange:
    set: Mapping[str, Any] = field(default_factory=dict[str, Any])  # by key path
    unset: Sequence[str] = ()
    add_text: str | None = None  # what somebody pasted: one source or server
    add_name: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedConfig:
    file: str
    digest: str  # of the file as it is now, or would be
    diff: Sequence[str]  # the lines that go and come, secrets masked
    changed: Sequence[str]  # key paths
    name: str | None = None  # of what was added
    needs_restart: Sequence[str] = ()
    problem: str | None = None  # why it is written, but not taken over


class ConfigEdits(Protocol):
    @property
    def news(self) -> SettingsNews: ...

    async def view(self) -> ConfigView: ...

    async def change(
        self, change: ConfigChange, digest: str, *, dry_run: bool, is_local: bool
    ) -> ChangedConfig:
        """Raises CallerError (`caller.stale`, `caller.bad_config`), RefusedError and SetupError."""
        ...
