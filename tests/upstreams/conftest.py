"""Processes and pipes behave differently under asyncio and uvloop: what touches them is tested under both."""

from collections.abc import Iterator

import pytest
from event_loops import LoopFactories, loop_factories
from upstreams.heard import Heard

from callgate.upstreams.child.warden import Warden

_UNDER_BOTH_LOOPS = (
    "test_child.py",
    "test_pipe_floods.py",
    "test_spare_child.py",
    "test_warden.py",
    "test_streamable_http.py",
    "test_message_post.py",
    "test_get_stream.py",
    "test_legacy_sse.py",
    "test_traffic.py",
)


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> LoopFactories:
    return loop_factories(item, _UNDER_BOTH_LOOPS)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def warden() -> Iterator[Warden]:
    warden = Warden()
    yield warden
    warden.close()
