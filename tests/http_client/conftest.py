"""Sockets behave differently under asyncio and uvloop: what touches them is tested under both."""

import pytest
from event_loops import LoopFactories, loop_factories

_UNDER_BOTH_LOOPS = (
    "test_http_client.py",
    "test_http_connection.py",
    "test_http_pool.py",
    "test_http_floods.py",
)


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> LoopFactories:
    return loop_factories(item, _UNDER_BOTH_LOOPS)
