"""HTTP/1.1 on a real socket: hostile and ordinary clients."""

import asyncio

import pytest
from edge.conftest import Door

GET = b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def test_one_connection_serves_many_requests(door: Door) -> None:
    async with door.probe() as http:
        for number in range(3):
            answer = await http.request("PUT", f"/{number}", body=b"body")
            assert (answer.status, answer.body) == (200, b"PUT /%d local body" % number)


async def test_pipelined_requests_are_answered_in_order(door: Door) -> None:
    async with door.probe() as http:
        await http.send(b"".join(GET.replace(b"/x", b"/%d" % number) for number in range(20)))
        bodies = [(await http.answer()).body for _ in range(20)]
        assert bodies == [b"GET /%d local " % number for number in range(20)]


async def test_a_request_may_arrive_byte_by_byte(door: Door) -> None:
    async with door.probe() as http:
        for byte in GET:
            await http.send(bytes([byte]))
        assert (await http.answer()).status == 200


async def test_a_chunked_body_is_put_together(door: Door) -> None:
    async with door.probe() as http:
        head = b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        await http.send(head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        assert (await http.answer()).body == b"POST /x local abcde"


async def test_an_answer_in_parts_is_streamed(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.request("GET", "/stream")
        assert answer.headers["transfer-encoding"] == "chunked"
        assert answer.body == b"one two three"


async def test_a_head_request_gets_no_body(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.request("HEAD", "/x")
        assert (answer.status, answer.body) == (200, b"")
        assert (await http.request("GET", "/y")).body == b"GET /y local "


async def test_connection_close_is_honoured(door: Door) -> None:
    async with door.probe() as http:
        await http.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert (await http.rest()).endswith(b"GET /x local ")


async def test_expect_100_continue_is_answered_before_the_body(door: Door) -> None:
    async with door.probe() as http:
        await http.send(
            b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        assert (await http.answer()).status == 100
        await http.send(b"hi")
        assert (await http.answer()).body == b"POST /x local hi"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /x HTTP/1.1\r\nbad header\r\n\r\n", 400),
        (b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 413),
        (b"GET /x HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 40_000 + b"\r\n\r\n", 413),
        (b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100001\r\n\r\n", 413),
        (
            b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n186a1\r\n"
            + b"z" * 100_001,
            413,
        ),
        (b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", 400),
        (
            b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
    ],
)
async def test_what_cannot_be_read_is_answered_and_cut_off(door: Door, data: bytes, status: int) -> None:
    async with door.probe() as http:
        await http.send(data)
        answer = await http.answer()
        assert answer.status == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert await http.rest() == b""


async def test_a_bug_is_answered_without_its_message_and_the_listener_lives(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.request("GET", "/bug")
        assert answer.status == 500
        assert answer.json()["code"] == "bug.internal"
        assert b"secret" not in answer.body
    async with door.probe() as http:
        assert (await http.request("GET", "/x")).status == 200


async def test_closing_lets_an_answer_under_way_finish(door: Door) -> None:
    async with door.probe() as http:
        await http.send_modern("test/wait")
        await door.answerer.waiting.wait()
        closing = asyncio.create_task(door.listener.close())
        await asyncio.sleep(0)
        door.answerer.release.set()
        assert (await http.answer()).json()["result"]["waited"] is True
        await closing
