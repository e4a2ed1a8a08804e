"""Each request of the corpus gets exactly the answers it must get, and no request of it becomes another."""

import asyncio

import pytest
from edge.conftest import Door
from edge.hostile_requests import HostileRequest, hostile_requests

_LAST = b"GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
# A refusal before the framing was understood, or of the framing itself, ends the connection.
_FINAL = (400, 413, 501, 505)


@pytest.mark.parametrize("hostile", hostile_requests(), ids=lambda one: one.why[:60])
async def test_a_hostile_request_gets_its_answers_and_no_more(door: Door, hostile: HostileRequest) -> None:
    async with asyncio.timeout(30), door.probe() as http:
        for packet in hostile.packets:
            await http.send(packet)
            async with door.probe() as other:  # it is served after the packet was read
                await other.request("GET", "/other")
        statuses: list[int] = []
        for _ in hostile.answers:
            answer = await http.answer()
            statuses.append(answer.status)
            assert not answer.body.startswith(b"GET /evil")
        assert statuses == hostile.answers
        if statuses[-1] not in _FINAL:
            await http.send(_LAST)
            assert (await http.answer()).body == b"GET /last local "
        assert await http.rest() == b""
