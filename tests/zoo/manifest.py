"""What the zoo holds, as `servers.toml` and `clients.toml` say it; not how it is installed or run."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Json = dict[str, Any]


class ManifestError(Exception):
    """An entry cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Packages:
    """Exactly one of these says what is installed; the first of a list is the one that the table names."""

    npm: tuple[str, ...] = ()
    pypi: tuple[str, ...] = ()
    go: str = ""
    rust: str = ""
    from_source: tuple[str, ...] = ()
    """Packages of PyPI that have no wheel; all others must have one."""
    python: str = ""
    needs: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """As the table shows it: `name version`."""
        if self.go or self.rust:
            return self.go or self.rust
        named = (self.npm or self.pypi)[0]
        name, _, version = named.replace("==", "@").rpartition("@")
        return f"{name} {version}"


@dataclass(frozen=True, kw_only=True)
class Server(Packages):
    name: str
    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    files: dict[str, str] = field(default_factory=dict)
    prepare: tuple[tuple[str, ...], ...] = ()
    calls: tuple[Json, ...] = ()
    progress: Json | None = None
    cancel: Json | None = None
    scrub: tuple[str, ...] = ()
    """Regular expressions: what they match differs from run to run, and is not compared."""


@dataclass(frozen=True, kw_only=True)
class Client(Packages):
    name: str
    driver: str
    """A program in `clients/`, run with the interpreter that its ending asks for; none for go and rust."""
    options: Json = field(default_factory=dict)
    """Handed to the driver as it is."""
    silent: bool = False
    skip: tuple[str, ...] = ()
    """Ways that this client cannot go: `stdio` for those that speak HTTP only."""


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def _entries(kind: type[Any], file: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entry in tomllib.loads(file.read_text()).items():
        try:
            found[name] = kind(name=name, **{key: _frozen(value) for key, value in entry.items()})
        except TypeError as problem:
            raise ManifestError(f"{file.name}: {name}: {problem}") from None
    return found


def servers() -> dict[str, Server]:
    return _entries(Server, HERE / "servers.toml")


def clients() -> dict[str, Client]:
    return _entries(Client, HERE / "clients.toml")


def explanations() -> list[Json]:
    return tomllib.loads((HERE / "differences.toml").read_text()).get("difference", [])
