"""What one client, or many together, can make us hold: bytes are counted, not seconds."""

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from edge.conftest import TOKEN, Door
from edge.http_probe import HttpProbe

CHUNKED = b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def _no_collector() -> Iterator[None]:
    """What stays while it is off is held by a cycle, or by us."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def _until(is_so: Any) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0)


async def _other_is_served(door: Door) -> None:
    """What was sent before has been read then."""
    async with door.probe() as other:
        assert (await other.request("GET", "/healthz")).status == 200


async def _send_until_refused(http: HttpProbe, piece: bytes, pieces: int) -> int:
    """How many pieces were sent before the gateway hung up."""
    for number in range(pieces):
        try:
            await http.send(piece)
            await asyncio.sleep(0)  # the gateway, in the same loop, reads it
        except ConnectionError:
            return number
    return pieces


# ---- around a body


async def test_a_trailer_field_without_an_end_is_refused_like_a_head(door: Door) -> None:
    async with door.probe() as http:
        await http.send(CHUNKED + b"2\r\nhi\r\n0\r\nX: ")
        sending = asyncio.create_task(_send_until_refused(http, b"y" * 16_384, 2000))
        answer = await http.answer()
        assert (answer.status, answer.json()["code"]) == (413, "caller.too_large")
        http.abort()
        await sending


async def test_many_trailers_are_refused_like_a_head(door: Door) -> None:
    async with door.probe() as http:
        await http.send(CHUNKED + b"2\r\nhi\r\n0\r\n" + b"X: y\r\n" * 6000)
        assert (await http.answer()).status == 413


async def test_a_chunk_extension_without_an_end_is_refused(door: Door) -> None:
    async with door.probe() as http:
        await http.send(CHUNKED + b"2\r\nhi\r\n1;x=")
        sending = asyncio.create_task(_send_until_refused(http, b"y" * 16_384, 2000))
        assert (await http.answer()).status == 413
        http.abort()
        await sending


async def test_long_extensions_of_many_chunks_are_refused(door: Door) -> None:
    async with door.probe() as http:
        await http.send(CHUNKED)
        piece = b"1;x=" + b"y" * 16_000 + b"\r\nz\r\n"
        sending = asyncio.create_task(_send_until_refused(http, piece, 2000))
        assert (await http.answer()).status == 413
        http.abort()
        await sending


async def test_a_body_in_tiny_chunks_takes_little_more_memory_than_it_is_long(door: Door) -> None:
    async with door.probe() as http:
        await http.send(CHUNKED)
        await _other_is_served(door)
        tracemalloc.start()
        try:
            for _ in range(40):
                await http.send(b"2\r\nab\r\n" * 1000)
            await _other_is_served(door)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held < 400_000  # the body has 80,000 bytes; as a list of chunks it would take over 1,600,000
        await http.send(b"0\r\n\r\n")
        assert (await http.answer()).body == b"POST /x local " + b"ab" * 40_000


# ---- bodies of those who are not let in


@pytest.mark.parametrize(
    "head",
    [
        b"Host: localhost\r\nAuthorization: Bearer wrong-wrong-wrong-wrong\r\n",
        b"Host: localhost\r\n",
        b"Host: evil.example\r\nAuthorization: Bearer %b\r\n" % TOKEN.encode(),
        b"Host: localhost\r\nOrigin: https://evil.example\r\nAuthorization: Bearer %b\r\n" % TOKEN.encode(),
    ],
)
async def test_who_is_not_let_in_is_answered_before_the_body_is_sent(guarded_door: Door, head: bytes) -> None:
    async with guarded_door.probe() as http:
        await http.send(b"POST /mcp HTTP/1.1\r\n" + head + b"Content-Length: 90000\r\n\r\n")
        assert (await http.answer()).status in (401, 403, 421)
        assert await http.rest() == b""


async def test_who_is_not_let_in_is_not_asked_for_the_body(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        await http.send(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
        )
        assert (await http.answer()).status == 401
        assert await http.rest() == b""


async def test_a_short_body_of_who_is_not_let_in_is_passed_over_and_the_connection_goes_on(
    guarded_door: Door,
) -> None:
    async with guarded_door.probe() as http:
        assert (await http.request("POST", "/mcp", body=b"x" * 60_000)).status == 401
        answer = await http.request("POST", "/x", {"authorization": f"Bearer {TOKEN}"}, b"hi")
        assert answer.body == b"POST /x alice hi"


async def test_of_a_body_sent_to_where_everybody_may_ask_nothing_is_kept(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        assert (await http.request("POST", "/healthz", body=b"z" * 60_000)).body == b"POST /healthz nobody "
        await http.send(b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n")
        assert (await http.answer()).body == b"POST /healthz nobody "
        assert await http.rest() == b""


@pytest.mark.parametrize("token", ["wrong-wrong-wrong-wrong", TOKEN])
async def test_nothing_of_an_aborted_upload_stays(guarded_door: Door, token: str) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n" % token.encode()
    with _no_collector():
        tracemalloc.start()
        try:
            for _ in range(50):
                async with guarded_door.probe() as http:
                    await http.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
                    await http.send(b"ea60\r\n" + b"z" * 59_000)
                    await _other_is_served(guarded_door)
                    http.abort()
            await _until(lambda: not guarded_door.listener.connections)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert held < 1_000_000  # 50 bodies have 2,950,000 bytes
    assert guarded_door.listener.service.bodies.used_bytes == 0


async def test_a_client_that_is_refused_while_it_sends_gets_its_answer(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        await http.send(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000\r\n\r\n" + b"z" * 99_000
        )
        await http.send(b"z" * 300_000)
        assert (await http.answer()).status == 401


# ---- bodies of all connections


async def _start_upload(door: Door, size_bytes: int) -> HttpProbe:
    http = await door.probe().__aenter__()
    await http.send(
        b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (size_bytes + 1)
        + b"z" * size_bytes
    )
    return http


async def test_large_bodies_share_a_budget_and_small_calls_still_pass(door: Door) -> None:
    bodies = door.listener.service.bodies
    uploads = [await _start_upload(door, 99_000) for _ in range(9)]
    await _until(lambda: bodies.used_bytes > 700_000)
    async with door.probe() as late:
        await late.send(b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000\r\n\r\n")
        answer = await late.answer()
        assert (answer.status, answer.json()["code"]) == (503, "refused.overloaded")
        assert int(answer.headers["retry-after"]) > 0
    async with door.probe() as small:
        assert (await small.request("POST", "/x", body=b"a" * 16_000)).status == 200
    for upload in uploads:
        upload.abort()
    await _until(lambda: bodies.used_bytes == 0)
    async with door.probe() as again:
        assert (await again.request("POST", "/x", body=b"a" * 99_000)).status == 200
    await _until(lambda: bodies.used_bytes == 0)


async def test_a_body_without_a_length_meets_the_budget_too(door: Door) -> None:
    bodies = door.listener.service.bodies
    assert bodies.take(bodies.left_bytes - 1000)
    async with door.probe() as http:
        await http.send(CHUNKED + b"ea60\r\n" + b"z" * 60_000 + b"\r\n")
        assert (await http.answer()).status == 503
        assert await http.rest() == b""
    assert bodies.left_bytes == 1000


async def test_behind_a_request_under_way_no_body_is_read_ahead(door: Door) -> None:
    async with door.probe() as http:
        await http.send_modern("test/wait")
        await door.answerer.waiting.wait()
        await http.send(CHUNKED)
        await _other_is_served(door)
        sent = asyncio.create_task(_send_until_refused(http, b"1000\r\n" + b"z" * 4096 + b"\r\n", 24))
        await _other_is_served(door)
        await _other_is_served(door)
        assert door.listener.service.bodies.used_bytes == 0
        door.answerer.release.set()
        assert (await http.answer()).status == 200
        await sent
        await http.send(b"0\r\n\r\n")
        assert (await http.answer()).status == 200


# ---- answers that nobody reads


async def test_of_those_who_do_not_read_the_longest_stuck_is_cut_off_first(door: Door) -> None:
    unread = door.listener.service.unread
    unread.limit_bytes = 31_000_000
    door.answerer.result = b'"%b"' % (b"z" * 30_000_000)  # far more than a socket takes
    async with door.probe() as first, door.probe() as second:
        await first.send_modern("test/large")
        await _until(lambda: unread.used_bytes > 0)
        await second.send_modern("test/large")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await first.answer()
        assert (await second.answer()).status == 200
    await _until(lambda: unread.used_bytes == 0)
