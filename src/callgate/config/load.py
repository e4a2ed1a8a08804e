"""From files, environment and flags to one frozen `Config`, or to every problem at once.

The order is the story: find the file, merge (`draft`), parse each table, check across tables, add the
environment's sources. Nothing is raised before all of it has spoken.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from callgate.config.check_mcp_server import check_mcp_servers
from callgate.config.config_file import find_config_file
from callgate.config.cross_check import cross_check
from callgate.config.draft import make_draft
from callgate.config.environment import unknown_variables
from callgate.config.environment_sources import EnvironmentSources, sources_of
from callgate.config.flags import Flags
from callgate.config.parse import parse_draft
from callgate.config.problem import ConfigProblems, Problem
from callgate.config.specs import Config, SourceSpec

__all__ = ["ConfigProblems", "Flags", "Loaded", "Problem", "load_config"]


@dataclass(frozen=True, slots=True)
class Loaded:
    config: Config
    origin: Path | None = None  # the file, when there was one
    warnings: tuple[Problem, ...] = ()


def load_config(flags: Flags | None = None, environ: Mapping[str, str] | None = None) -> Loaded:
    """Raises `ConfigProblems`. `environ` is the process's own unless given."""
    flags = flags or Flags()
    environ = os.environ if environ is None else environ
    file = find_config_file(flags.config, environ)
    draft = make_draft(file, environ, flags)
    from_environment = sources_of(environ)
    parsed = parse_draft(draft, has_file=file.is_readable)
    problems = [*draft.problems, *parsed.problems, *check_mcp_servers(draft), *from_environment.problems]
    # Without the file's tables, what they would have named cannot be missed; env and flags can still err.
    problems += cross_check(draft, from_environment.named_by)
    if problems:
        raise ConfigProblems(problems, file.origin)
    sources, replaced = _with_environment(parsed.sources, from_environment)
    config = Config(
        server=parsed.server,
        sources=tuple(sources),
        tools=tuple(parsed.tools),
        mcpServers=parsed.mcp_servers,
        record=parsed.record,
        policy=parsed.policy,
        otel=parsed.otel,
    )
    return Loaded(config, file.origin, (*unknown_variables(environ), *from_environment.warnings, *replaced))


def _with_environment(
    from_file: list[SourceSpec], found: EnvironmentSources
) -> tuple[list[SourceSpec], list[Problem]]:
    """The environment's source takes the place of the file's of the same id, as env > file says."""
    warnings = [
        Problem(
            f"sources[{at}]",
            f'{found.named_by[source.id]} is set and replaces the source "{source.id}"',
            "Unset the variable, or give the file's source another id.",
        )
        for at, source in enumerate(from_file)
        if source.id in found.specs
    ]
    kept = [source for source in from_file if source.id not in found.specs]
    return [*kept, *found.specs.values()], warnings
