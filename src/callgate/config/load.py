"""From files, environment and flags to one frozen `Config`, or to every problem at once.

The order is the story: find the file, merge (`draft`), parse each table, check across tables, add the
environment's sources. Nothing is raised before all of it has spoken.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from callgate.config.draft import Draft, make_draft
from callgate.config.parse import parse_draft
from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.config.problems.cross_check import OFFERED_RECORD, check_mcp_servers, cross_check
from callgate.config.sources.entry_ids import entry_ids, title_of
from callgate.config.sources.environment import unknown_variables
from callgate.config.sources.environment_sources import EnvironmentSources, sources_of
from callgate.config.sources.file import find_config_file
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config, McpServerSpec, SourceSpec

__all__ = ["ConfigProblem", "ConfigProblems", "Flags", "Loaded", "load_config"]


@dataclass(frozen=True, slots=True)
class Loaded:
    config: Config
    origin: Path | None = None  # the file, when there was one
    warnings: tuple[ConfigProblem, ...] = ()
    notes: tuple[ConfigProblem, ...] = ()  # what was ignored, and what was made of names


def load_config(flags: Flags | None = None, environ: Mapping[str, str] | None = None) -> Loaded:
    """Raises `ConfigProblems`. `environ` is the process's own unless given."""
    flags = flags or Flags()
    environ = os.environ if environ is None else environ
    file = find_config_file(flags.config, environ)
    draft = make_draft(file, environ, flags)
    from_environment = sources_of(environ)
    parsed = parse_draft(draft, needs_version=file.is_readable and not file.adopted.is_foreign)
    problems = [*draft.problems, *parsed.problems, *check_mcp_servers(draft), *from_environment.problems]
    # Without the file's tables, what they would have named cannot be missed; env and flags can still err.
    problems += cross_check(draft, from_environment.named_by)
    if problems:
        raise ConfigProblems(problems, file.origin, file.adopted.notes)
    sources, replaced = _with_environment(parsed.sources, from_environment)
    servers, renamed = _with_ids(parsed.mcp_servers, [source.id for source in sources], draft)
    config = Config(
        server=parsed.server,
        sources=tuple(sources),
        tools=tuple(parsed.tools),
        mcpServers=servers,
        record=parsed.record,
        policy=parsed.policy,
        otel=parsed.otel,
    )
    warnings = (*unknown_variables(environ), *from_environment.warnings, *replaced)
    return Loaded(config, file.origin, warnings, (*file.adopted.notes, *renamed))


def _with_ids(
    written: dict[str, McpServerSpec], source_ids: list[str], draft: Draft
) -> tuple[dict[str, McpServerSpec], list[ConfigProblem]]:
    """The servers by their ids, each with its name as its title where that is another."""
    servers: dict[str, McpServerSpec] = {}
    notes: list[ConfigProblem] = []
    for name, made in entry_ids(written, (*source_ids, OFFERED_RECORD)).items():
        spec = written[name]
        if made != name:
            spec = spec.model_copy(update={"title": spec.title or title_of(name) or None})
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
