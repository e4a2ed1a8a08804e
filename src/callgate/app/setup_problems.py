"""What is wrong with a configuration that only the parts themselves can tell. No database is asked."""

from collections.abc import Iterator

from callgate.app.sources import tool_problems
from callgate.app.telemetry import otel_problems
from callgate.config.load import Loaded, load_config
from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config


def load_and_check(flags: Flags) -> Loaded:
    """Raises ConfigProblems, also for what loading alone does not find."""
    loaded = load_config(flags)
    if problems := list(setup_problems(loaded.config)):
        raise ConfigProblems(problems, loaded.origin, loaded.notes)
    return loaded


def setup_problems(config: Config) -> Iterator[ConfigProblem]:
    yield from tool_problems(config)
    yield from otel_problems(config)
    yield from _child_problems(config)


def _child_problems(config: Config) -> Iterator[ConfigProblem]:
    """Each program has a process from the start; none of them could be left out for another."""
    programs = sum(
        1 for spec in config.mcp_servers.values() if spec.command is not None and not spec.disabled
    )
    limit = config.server.max_children
    if programs > limit:
        text = f"{programs} servers are programs, and only {limit} processes may run"
        yield ConfigProblem("server.max_children", text, f"Write max_children = {2 * programs} or more.")
