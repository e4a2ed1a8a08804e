"""A start with many tools says once what they cost."""

import logging

import pytest

from callgate.app.telling.tool_cost import MANY_TOKENS, ToolCost
from callgate.model.health import Health, State


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "tokens" in record.getMessage()]


async def test_servers_that_are_starting_are_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    states = [State.STARTING, State.STARTING, State.UP]
    counted: list[int] = []

    def health() -> list[Health]:
        state = states.pop(0) if len(states) > 1 else states[0]
        return [Health("one", "mcp", state, ""), Health("two", "mcp", State.DOWN, "")]

    async def count() -> tuple[int, int]:
        counted.append(len(states))
        return 295, 110_000

    with caplog.at_level(logging.WARNING):
        await ToolCost(health, count, every_s=0.001).tell()
    (line,) = told(caplog)
    assert line.startswith("295 tools take about 110,000 tokens")
    assert "tool_search = true" in line
    assert counted == [1]


async def test_few_tools_are_not_worth_a_word(caplog: pytest.LogCaptureFixture) -> None:
    async def count() -> tuple[int, int]:
        return 40, MANY_TOKENS

    with caplog.at_level(logging.WARNING):
        await ToolCost(list, count).tell()
    assert told(caplog) == []


async def test_a_count_that_fails_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def count() -> tuple[int, int]:
        raise OSError("no")

    with caplog.at_level(logging.ERROR):
        await ToolCost(list, count).tell()
    assert "could not be counted" in caplog.text
