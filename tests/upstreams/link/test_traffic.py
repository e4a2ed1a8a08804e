"""Calls over a link, and the one timer that ends those whose time is up."""

import asyncio

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import UPSTREAM_TIMEOUT
from callgate.model.errors import UpstreamError
from callgate.model.reply import tell_nobody
from callgate.upstreams.link.call import Call
from callgate.upstreams.link.traffic import Traffic
from callgate.upstreams.transport import OneStream, Opened


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


class BusyAtFirst(OneStream):
    """Takes no frame before the second one, and answers that with an empty result."""

    def __init__(self, traffic: Traffic) -> None:
        super().__init__(lambda: None, lambda: None)
        self._traffic = traffic
        self.frames: list[bytes] = []

    async def start(self) -> None:
        return

    async def close(self) -> None:
        return

    def send(self, frame: bytes, *_: object) -> bool:
        self.frames.append(frame)
        if len(self.frames) == 1:
            return False
        rpc_id = msgspec.json.decode(frame)["id"]
        self._traffic.received(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % rpc_id, None)
        return True


async def test_a_handshake_that_meets_a_busy_transport_is_sent_again() -> None:
    traffic = Traffic("one", None, 30.0, lambda: 600.0, lambda item: None)
    transport = BusyAtFirst(traffic)
    traffic.use(Opened(transport, Era.LEGACY))
    traffic.connection.opened()
    reply = await asyncio.wait_for(traffic.ask_handshake("initialize", b"{}", 30.0), 10)
    assert reply.result == b"{}"
    assert len(set(transport.frames)) == 1
    assert len(transport.frames) == 2
    traffic.close()
