"""What is wrong with a configuration that only the parts themselves can tell. No database is asked."""

from collections.abc import Iterator

from callgate.app.sources import tool_problems
from callgate.app.telemetry import otel_problems
from callgate.config.problem import Problem
from callgate.config.specs import Config


def setup_problems(config: Config) -> Iterator[Problem]:
    yield from tool_problems(config)
    yield from otel_problems(config)
