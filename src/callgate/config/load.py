"""From files, environment and flags to one frozen `Config`, or to every problem at once.

The order is the story: find the file, merge (`draft`), parse each table, check across tables, add the
environment's sources. Nothing is raised before all of it has spoken.

Whoever names databases on the command line wants these: no file is looked for then, and the environment's
sources are left out.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from callgate.config.draft import Draft, make_draft
from callgate.config.parse import parse_draft
from callgate.config.paths import state_folder
from callgate.config.problem import ConfigProblem, ConfigProblems, key_path
from callgate.config.problems.cross_check import OFFERED_RECORD, check_mcp_servers, cross_check
from callgate.config.secret_source import SecretSource
from callgate.config.sources.addresses import sources_named
from callgate.config.sources.client_defaults import complete
from callgate.config.sources.entry_ids import entry_ids, title_of
from callgate.config.sources.environment import unknown_variables
from callgate.config.sources.environment_sources import URL_VARIABLES, EnvironmentSources, sources_of
from callgate.config.sources.file import ConfigFile, find_config_file, search_paths
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config, McpServerSpec, SourceSpec
from callgate.config.specs.dsn import DsnError
from callgate.config.specs.server_params import read_server_params

__all__ = ["ConfigProblem", "ConfigProblems", "Flags", "Loaded", "load_config"]


@dataclass(frozen=True, slots=True)
class Loaded:
    config: Config
    origin: Path | None = None  # the file, when there was one
    warnings: tuple[ConfigProblem, ...] = ()
    notes: tuple[ConfigProblem, ...] = ()  # what was ignored, and what was made of names
    flags: Flags = field(default_factory=Flags, repr=False)  # by which it can be loaded again
    is_foreign: bool = False  # the file is another program's

    @property
    def files(self) -> tuple[Path, ...]:
        """That it is read from: the file, else those that would be found at a start."""
        if self.origin is not None:
            return (self.origin,)
        return () if self.flags.addresses else search_paths()

    @property
    def lock_path(self) -> Path:
        """`callgate.lock` beside the file, where that is ours; else in the state folder."""
        if self.origin is None or self.is_foreign or self.origin.suffix != ".toml":
            return state_folder(self.config) / "callgate.lock"
        return self.origin.resolve().with_suffix(".lock")


def load_config(
    flags: Flags | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    secrets: SecretSource | None = None,
    file: ConfigFile | None = None,
) -> Loaded:
    """Raises `ConfigProblems`. `environ` is the process's own unless given. `file`: one that was read
    already, or is not written yet."""
    flags = flags or Flags()
    environ = os.environ if environ is None else environ
    if file is None:
        file = find_config_file(flags.config, environ, searches=not flags.addresses)
    draft = make_draft(file, environ, flags, secrets)
    from_environment = EnvironmentSources() if flags.addresses else sources_of(environ)
    parsed = parse_draft(draft, needs_version=file.is_readable and not file.adopted.is_foreign)
    problems = [*draft.problems, *parsed.problems, *check_mcp_servers(draft)]
    foreign = _foreign_urls(draft, from_environment)
    problems += [problem for problem in from_environment.problems if problem not in foreign]
    # Without the file's tables, what they would have named cannot be missed; env and flags can still err.
    problems += cross_check(draft, from_environment.named_by)
    sources, replaced = _with_environment(parsed.sources, from_environment)
    named = sources_named(flags.addresses, [*(source.id for source in sources), *parsed.mcp_servers])
    sources += named.specs
    problems += named.problems
    completion = _complete(sources, from_environment, environ)
    problems += completion.problems
    if problems:
        raise ConfigProblems(problems, file.origin, (*file.adopted.notes, *completion.notes))
    sources = completion.sources
    servers, renamed = _with_ids(parsed.mcp_servers, [source.id for source in sources], draft)
    config = Config(
        server=parsed.server,
        sources=tuple(sources),
        tools=tuple(parsed.tools),
        mcpServers=servers,
        principals=parsed.principals,
        record=parsed.record,
        policy=parsed.policy,
        otel=parsed.otel,
        replicas=parsed.replicas,
    )
    ignored = [
        ConfigProblem(problem.key_path, f"this address is ignored: {problem.message}", problem.hint)
        for problem in foreign
    ]
    warnings = (*unknown_variables(environ), *from_environment.warnings, *named.warnings, *ignored, *replaced)
    warnings += (*_without_peers(config), *_expired(config))
    return Loaded(
        config,
        file.origin,
        warnings,
        (*file.adopted.notes, *completion.notes, *renamed),
        flags,
        file.adopted.is_foreign,
    )


def _foreign_urls(draft: Draft, found: EnvironmentSources) -> list[ConfigProblem]:
    """Where the file has sources of its own, DATABASE_URL often belongs to another program."""
    if not draft.tables("sources"):
        return []
    return [problem for problem in found.problems if problem.key_path in URL_VARIABLES]


@dataclass(slots=True)
class _Completion:
    sources: list[SourceSpec] = field(default_factory=list[SourceSpec])
    notes: list[ConfigProblem] = field(default_factory=list[ConfigProblem])
    problems: list[ConfigProblem] = field(default_factory=list[ConfigProblem])


def _complete(
    sources: list[SourceSpec], found: EnvironmentSources, environ: Mapping[str, str]
) -> _Completion:
    """What addresses leave out is filled in; what of them is ignored or was filled in is told."""
    done = _Completion()
    for source in sources:
        place = found.named_by.get(source.id, "") if source.from_environment else f"sources.{source.id}.dsn"
        try:
            completed = complete(source.dsn, environ)
            dsn = completed.dsn
            ignored = read_server_params(dsn).ignored if dsn.path is None else ()
        except DsnError as error:
            done.problems.append(error.at(place))
            continue
        done.notes += [
            ConfigProblem(place, f"what the address leaves out: {note}") for note in completed.notes
        ]
        done.notes += [
            ConfigProblem(place, f"the parameter {name} is ignored: {why}") for name, why in ignored
        ]
        done.sources.append(source.with_values(dsn=dsn))
    return done


def _without_peers(config: Config) -> list[ConfigProblem]:
    if not config.replicas.is_on or config.replicas.peers == "on":
        return []
    text = "handshake clients get no session, and a parked call is resumed only where it waits"
    return [ConfigProblem("replicas.peers", text, 'Write peers = "on" if replicas can reach one another.')]


def _expired(config: Config) -> list[ConfigProblem]:
    """No problem: a gateway that does not start because one token is too old serves nobody."""
    now = datetime.now(UTC)
    return [
        ConfigProblem(
            key_path(("principals", name, "expires")),
            "this token has expired, and nobody is let in with it",
            f"Make another with: callgate token add {name} --replace",
        )
        for name, spec in config.principals.items()
        if spec.expires is not None and spec.expires <= now
    ]


def _with_ids(
    written: dict[str, McpServerSpec], source_ids: list[str], draft: Draft
) -> tuple[dict[str, McpServerSpec], list[ConfigProblem]]:
    """The servers by their ids, each with its name as its title where that is another."""
    servers: dict[str, McpServerSpec] = {}
    notes: list[ConfigProblem] = []
    for name, made in entry_ids(written, (*source_ids, OFFERED_RECORD)).items():
        spec = written[name]
        if made != name:
            spec = spec.with_values(title=spec.title or title_of(name) or None)
            if not spec.disabled:  # else there is nothing of that name
                place = draft.path_of(("mcpServers", name))
                told = f'it is called "{made}" here: {made}__<tool>, /servers/{made}/mcp'
                notes.append(ConfigProblem(place, told))
        servers[made] = spec
    return servers, notes


def _with_environment(
    from_file: list[SourceSpec], found: EnvironmentSources
) -> tuple[list[SourceSpec], list[ConfigProblem]]:
    """The environment's source takes the place of the file's of the same id, as env > file says."""
    warnings = [
        ConfigProblem(
            f"sources[{at}]",
            f'{found.named_by[source.id]} is set and replaces the source "{source.id}"',
            "Unset the variable, or give the file's source another id.",
        )
        for at, source in enumerate(from_file)
        if source.id in found.specs
    ]
    kept = [source for source in from_file if source.id not in found.specs]
    return [*kept, *found.specs.values()], warnings
