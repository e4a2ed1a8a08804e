"""HTTP/1.1 on a real socket: hostile and ordinary clients."""

import asyncio
import json
import socket
from contextlib import ExitStack

import pytest
from edge.conftest import Door
from edge.http_probe import INITIALIZE, JSON_HEADERS, MODERN_META, HttpProbe, is_refused
from waiting import until

from callgate.edge.http.byte_budget import ByteBudget, UnreadAnswers
from callgate.edge.http.http1 import ClientConnection
from callgate.edge.http.message import HttpRequest, Responder
from callgate.edge.http.service import Service
from callgate.model.errors import CallgateError

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


async def test_between_pipelined_requests_others_have_their_turn() -> None:
    loop = asyncio.get_running_loop()
    order: list[str] = []

    async def answer_at_once(request: HttpRequest, responder: Responder) -> None:
        order.append(request.path)
        loop.call_soon(order.append, "other")
        responder.send(200, ())

    def never(error: CallgateError, request: HttpRequest, responder: Responder) -> None:
        raise error

    def let_in(request: HttpRequest) -> None:
        pass

    service = Service(answer_at_once, never, let_in, 1000, ByteBudget(1000), UnreadAnswers(1000))
    server = await loop.create_server(lambda: ClientConnection(service, loop.time), "127.0.0.1", 0)
    async with server, HttpProbe(server.sockets[0].getsockname()[1]) as http:
        await http.send(b"".join(GET.replace(b"/x", b"/%d" % number) for number in range(3)))
        for _ in range(3):
            await http.answer()
    assert order == ["/0", "other", "/1", "other", "/2", "other"]


async def test_no_task_outlives_its_connection(door: Door) -> None:
    before = asyncio.all_tasks()
    async with door.probe() as idle, door.probe() as busy:
        await idle.request("GET", "/x")
        opened = await busy.legacy("initialize", INITIALIZE)
        await busy.send_legacy("test/wait", session=opened.headers["mcp-session-id"])
        await door.answerer.waiting.wait()
        left = asyncio.all_tasks() - before
    door.answerer.release.set()
    _, pending = await asyncio.wait(left, timeout=10)
    assert not pending


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
        (b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /x HTTP/1.1\r\nX: " + b"y" * 400_000, 413),
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


async def test_closing_lets_a_request_under_way_arrive_and_answers_it(door: Door) -> None:
    async with door.probe() as http:
        await http.send(b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbo")
        await until(lambda: len(door.listener.connections))
        closing = asyncio.create_task(door.listener.close())
        await until(lambda: is_refused(door.port))
        await http.send(b"dy")
        answer = await http.answer()
        assert (answer.body, answer.headers["connection"]) == (b"POST /x local body", "close")
        assert await http.rest() == b""
        await closing


async def test_closing_answers_what_came_on_connections_that_were_not_accepted_yet(door: Door) -> None:
    """As a balancer sends it that has not heard of the stop."""
    with ExitStack() as clients:
        connected = [
            clients.enter_context(socket.create_connection(("127.0.0.1", door.port))) for _ in range(20)
        ]
        for client in connected:
            client.sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await door.listener.close()
        for client in connected:
            answer = client.makefile("rb").read()
            assert answer.startswith(b"HTTP/1.1 200 "), answer
            assert b"\r\nconnection: close\r\n" in answer


async def test_closing_waits_a_moment_for_the_first_request_of_a_connection(door: Door) -> None:
    async with door.probe() as asking, door.probe() as silent:
        await until(lambda: len(door.listener.connections) == 2)
        closing = asyncio.create_task(door.listener.close())
        await until(lambda: is_refused(door.port))
        answer = await asking.request("GET", "/x")
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await silent.rest() == b""
        await closing


async def test_a_listener_that_leaves_ends_each_connection_with_its_next_answer(door: Door) -> None:
    async with door.probe() as before, door.probe() as after:
        assert "connection" not in (await before.request("GET", "/x")).headers
        door.listener.leave()
        for http in (before, after):
            assert (await http.request("GET", "/x")).headers["connection"] == "close"
            assert await http.rest() == b""


async def test_an_offer_to_upgrade_is_ignored_body_and_all(door: Door) -> None:
    async with door.probe() as http:
        for _ in range(2):
            await http.send(
                b"POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
                b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nContent-Length: 4\r\n\r\nbody"
            )
            assert (await http.answer()).body == b"POST /x local body"


async def test_fields_after_the_body_decide_nothing(door: Door) -> None:
    async with door.probe() as http:
        head = b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        await http.send(head + b"2\r\nhi\r\n0\r\nHost: localhost\r\n\r\n")
        assert (await http.answer()).status == 421


async def test_an_absolute_target_leads_to_the_same_path(door: Door) -> None:
    async with door.probe() as http:
        await http.send(b"GET http://localhost/healthz?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await http.answer()).body == b"GET /healthz local "


async def test_garbage_behind_a_request_is_refused_after_that_request_was_answered(door: Door) -> None:
    async with door.probe() as http:
        await http.send_modern("test/wait")
        await door.answerer.waiting.wait()
        await http.send(b"GARBAGE\r\n\r\n")
        door.answerer.release.set()
        assert (await http.answer()).json()["result"] == {"waited": True}
        assert (await http.answer()).status == 400
        assert await http.rest() == b""


async def test_a_client_that_does_not_read_is_not_served_the_next_request(door: Door) -> None:
    """Otherwise a pipeline of requests would pile up answers in our memory."""
    async with door.probe() as http:
        body = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"_meta": MODERN_META, "big": "z" * 90_000}}
        )
        headers = JSON_HEADERS | {"mcp-protocol-version": "2026-07-28", "mcp-method": "x"}
        sending = asyncio.create_task(_send_forever(http, headers, body.encode()))
        settled = -1
        while settled != len(door.answerer.arrivals):
            settled = len(door.answerer.arrivals)
            for _ in range(200):
                await asyncio.sleep(0)
            await asyncio.sleep(0.05)
        sending.cancel()
        http.abort()
        assert settled < 200


async def _send_forever(http: HttpProbe, headers: dict[str, str], body: bytes) -> None:
    while True:
        await http.send_request("POST", "/mcp", headers, body)


async def test_an_http_10_client_gets_no_chunks(door: Door) -> None:
    async with door.probe() as http:
        await http.send(b"GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n")
        answer = await http.rest()
        assert b"chunked" not in answer
        assert answer.endswith(b"one two three")
