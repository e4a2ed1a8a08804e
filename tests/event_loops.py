"""What touches sockets, pipes and processes is tested under asyncio and uvloop: they behave differently."""

import asyncio
from collections.abc import Callable, Collection

import pytest
import uvloop

LoopFactories = dict[str, Callable[[], asyncio.AbstractEventLoop]]


def loop_factories(item: pytest.Item, under_both: Collection[str]) -> LoopFactories:
    """`under_both`: the names of files."""
    one: LoopFactories = {"asyncio": asyncio.new_event_loop}
    return one | {"uvloop": uvloop.new_event_loop} if item.path.name in under_both else one
