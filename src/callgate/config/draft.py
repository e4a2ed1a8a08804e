"""All that was said, merged but not yet judged: flags over environment over file, secrets filled in.

Owns precedence and where each value came from, so that a problem names the key, the variable or the flag
that must change. Must not know which values are right: `parse` and `cross_check` say so.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from callgate.config.paths import default_state_folder
from callgate.config.problem import ConfigProblem, ConfigProblems, Loc, key_path
from callgate.config.raw_values import list_of, table_of
from callgate.config.secret import FilledIn
from callgate.config.secret_source import SecretSource, StatePlace
from callgate.config.sources.environment import overrides_of
from callgate.config.sources.file import ConfigFile
from callgate.config.sources.flags import Flags
from callgate.config.sources.interpolate import Interpolation
from callgate.config.specs.field_types import WORKSPACE
from callgate.config.specs.listen_address import (
    ListenAddress,
    ListenError,
    parse_host,
    parse_listen,
    parse_port,
)

_LISTEN: Loc = ("server", "listen")
_OF_STATE = ("state_dir", "state_key")


@dataclass(frozen=True, slots=True)
class Draft:
    tree: dict[str, Any]
    folder: Path  # what the file's relative paths are relative to
    broken: frozenset[Loc]  # already reported: what follows from them is not worth a second word
    filled_in: Mapping[Loc, tuple[FilledIn, ...]]  # what came from variables, files and their kin
    substituted: Mapping[Loc, str]  # filled in from a variable or file, never repeated; what to show instead
    named_by: Mapping[Loc, str]  # set by this variable or flag instead of the file
    written: Mapping[Loc, Loc]  # where in the file a place stands, if its words are another client's
    problems: tuple[ConfigProblem, ...]

    def table(self, name: str) -> dict[str, Any]:
        """A top-level table, empty when it is missing or not a table."""
        return table_of(self.tree.get(name))

    def tables(self, name: str) -> list[tuple[int, dict[str, Any]]]:
        """The tables of a top-level list, with their positions."""
        items = list_of(self.tree.get(name))
        return [(at, cast("dict[str, Any]", item)) for at, item in enumerate(items) if isinstance(item, dict)]

    def is_broken(self, loc: Loc) -> bool:
        return any(loc[:length] in self.broken for length in range(1, len(loc) + 1))

    def written_in(self, table: Loc) -> dict[Loc, str]:
        """What was filled in within this table, by the place inside it, as it was written."""
        return {
            loc[len(table) :]: text for loc, text in self.substituted.items() if loc[: len(table)] == table
        }

    def filled_in_within(self, table: Loc) -> list[FilledIn]:
        """What was filled in anywhere in this table."""
        return [one for loc, found in self.filled_in.items() if loc[: len(table)] == table for one in found]

    def path_of(self, loc: Loc) -> str:
        return self.named_by.get(loc) or key_path(place_in_file(loc, self.written))


def place_in_file(loc: Loc, written: Mapping[Loc, Loc]) -> Loc:
    for length in range(len(loc), 0, -1):
        if (place := written.get(loc[:length])) is not None:
            return (*place, *loc[length:])
    return loc


def make_draft(
    file: ConfigFile, environ: Mapping[str, str], flags: Flags, secrets: SecretSource | None = None
) -> Draft:
    adopted = file.adopted
    tree, named_by = _with_overrides(file, environ, flags)
    walk = Interpolation(
        environ,
        file.folder,
        untouched=frozenset(named_by),
        path_of=lambda loc: key_path(place_in_file(loc, adopted.written)),
        inputs=adopted.inputs,
        reads_files=not adopted.is_foreign,
        own_variables=_own_variables(tree),
        secrets=secrets,
        state_place=lambda: state_place(file, environ, flags, secrets),
    )
    draft = Draft(
        tree=_with_absolute_paths(walk.resolve(tree), file.folder, named_by, walk.broken),
        folder=file.folder,
        broken=frozenset(walk.broken),
        filled_in=walk.filled_in,
        substituted=walk.substituted,
        named_by=named_by,
        written=adopted.written,
        problems=(*file.problems, *adopted.problems, *walk.problems),
    )
    return _with_listen_flags(draft, flags)


def state_place(
    file: ConfigFile, environ: Mapping[str, str], flags: Flags, secrets: SecretSource | None
) -> StatePlace:
    """Where secrets are kept, which must be known before any of them is read. Raises ConfigProblems."""
    placed = _settled(file, environ, flags, secrets, "server", _OF_STATE)
    folder, key = placed.get("state_dir"), placed.get("state_key")
    return StatePlace(
        Path(folder) if isinstance(folder, str) and folder else default_state_folder(),
        key if isinstance(key, str) else None,
    )


def record_path(file: ConfigFile, environ: Mapping[str, str]) -> Path | None:
    """`[record] path`, whatever else is wrong with the file. Raises ConfigProblems."""
    path = _settled(file, environ, Flags(), None, "record", ("path",)).get("path")
    return Path(path) if isinstance(path, str) and path else None


def _settled(
    file: ConfigFile,
    environ: Mapping[str, str],
    flags: Flags,
    secrets: SecretSource | None,
    table: str,
    names: Sequence[str],
) -> dict[str, Any]:
    """Those values of a table, without a look at any other."""
    tree, named_by = _with_overrides(file, environ, flags)
    given = table_of(tree.get(table))
    walk = Interpolation(environ, file.folder, untouched=frozenset(named_by), secrets=secrets)
    wanted = {name: walk.resolve(given[name], (table, name)) for name in names if name in given}
    if walk.problems or file.problems:
        raise ConfigProblems([*file.problems, *walk.problems], file.origin)
    return table_of(_with_absolute_paths({table: wanted}, file.folder, named_by, set())[table])


def _with_overrides(
    file: ConfigFile, environ: Mapping[str, str], flags: Flags
) -> tuple[dict[str, Any], dict[Loc, str]]:
    tree = deepcopy(file.adopted.tables)
    named_by: dict[Loc, str] = {}
    overrides = overrides_of(environ)
    if flags.state_dir is not None:
        overrides["server", "state_dir"] = ("--state-dir", str(flags.state_dir))
    if flags.workers is not None:
        overrides["server", "workers"] = ("--workers", flags.workers)
    for loc, (name, text) in overrides.items():
        section = tree.setdefault(str(loc[0]), {})
        # Not a table: `parse` says so, and the value has no place to go.
        if isinstance(section, dict):
            section[loc[1]] = text
            named_by[loc] = name
    return tree, named_by


def _own_variables(tree: dict[str, Any]) -> frozenset[tuple[str, str]]:
    """Of each server the variables that its own `env` sets: its program may fill them in by itself."""
    return frozenset(
        (name, variable)
        for name, raw in table_of(tree.get("mcpServers")).items()
        for variable in table_of(table_of(raw).get("env"))
    )


def _with_absolute_paths(
    tree: dict[str, Any], folder: Path, named_by: Mapping[Loc, str], broken: set[Loc]
) -> dict[str, Any]:
    """The file's paths are relative to the file, a variable's or flag's to the working directory."""
    places: list[Loc] = [("server", "state_dir"), ("record", "path")]
    places += [("mcpServers", name, "cwd") for name in table_of(tree.get("mcpServers"))]
    for loc in places:
        table: Any = tree
        for part in loc[:-1]:
            table = cast("dict[Any, Any]", table).get(part) if isinstance(table, dict) else None
        text = cast("dict[Any, Any]", table).get(loc[-1]) if isinstance(table, dict) else None
        if text == WORKSPACE and loc[-1] == "cwd":
            continue
        if isinstance(text, str) and text and "://" not in text and loc not in broken:
            table[loc[-1]] = str((Path.cwd() if loc in named_by else folder) / _expanded(text))
    for raw in table_of(tree.get("mcpServers")).values():
        server = table_of(raw)
        start, sandbox = server.get("cwd"), table_of(server.get("sandbox"))
        for key in ("reads", "writes"):
            if isinstance(sandbox.get(key), list):
                sandbox[key] = [_beside(path, start, folder) for path in list_of(sandbox[key])]
    return tree


def _beside(path: Any, start: object, folder: Path) -> Any:
    """What a program reaches is relative to where it starts, as its arguments are."""
    if not isinstance(path, str) or not path or "://" in path:
        return path
    if start == WORKSPACE:  # known when a client calls
        return str(_expanded(path))
    return str((Path(start) if isinstance(start, str) else folder) / _expanded(path))


def _expanded(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # "~nobody": no such home, so it is a folder of that name
        return Path(text)


def _with_listen_flags(draft: Draft, flags: Flags) -> Draft:
    """--host and --port each replace their half of `listen`."""
    if flags.host is None and flags.port is None:
        return draft
    problems = list(draft.problems)
    host, port = flags.host, flags.port
    try:
        host = parse_host(host) if host is not None else None
    except ListenError as error:
        problems.append(ConfigProblem("--host", error.message, error.hint))
        host = None
    try:
        port = parse_port(port) if port is not None else None
    except ListenError as error:
        problems.append(ConfigProblem("--port", error.message, error.hint))
        port = None
    section = draft.tree.setdefault("server", {})
    if not isinstance(section, dict):
        return replace(draft, problems=tuple(problems))
    table = cast("dict[str, Any]", section)
    address = _address_in(table)
    if host is not None and port is not None:
        address = ListenAddress(host, port)
    elif address is not None:
        address = ListenAddress(host or address.host, address.port if port is None else port)
    if address is None or (host is None and port is None):
        return replace(draft, problems=tuple(problems))
    table["listen"] = str(address)
    name = "--host" if host is not None else "--port"
    return replace(draft, named_by={**draft.named_by, _LISTEN: name}, problems=tuple(problems))


def _address_in(table: Mapping[str, Any]) -> ListenAddress | None:
    text = table.get("listen", str(ListenAddress()))
    try:
        return parse_listen(text) if isinstance(text, str) else None
    except ListenError:
        return None
