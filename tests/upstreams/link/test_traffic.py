"""Calls over a link, and the one timer that ends those whose time is up."""

import asyncio

from callgate.model.error_codes import UPSTREAM_TIMEOUT
from callgate.model.errors import UpstreamError
from callgate.model.reply import tell_nobody
from callgate.upstreams.link.call import Call
from callgate.upstreams.link.traffic import Traffic


async def test_calls_whose_time_is_up_at_once_end_each_with_its_time_out() -> None:
    """uvloop makes no timer of a deadline that is now: nothing may rely on there being one."""
    traffic = Traffic("one", None, 30.0, lambda: 600.0, lambda item: None)

    async def outcome() -> UpstreamError | None:
        try:
            await traffic.ask(Call(), "tools/call", b"{}", tell_nobody, 1e-6)
        except UpstreamError as error:
            return error
        return None

    ended = await asyncio.wait_for(asyncio.gather(*(outcome() for _ in range(3))), 10)
    assert [error.code if error else None for error in ended] == [UPSTREAM_TIMEOUT] * 3
    traffic.close()
