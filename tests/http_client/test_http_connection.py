"""One HTTP answer on a real socket: good servers, slow servers, broken servers."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from http_client.collecting_exchange import CollectingExchange, request
from http_client.pool_stage import ask, echo, failure_of, pool_to
from upstreams.http_servers.scripted_http import (
    Seen,
    Wire,
    raw_server,
    scripted_http,
    wait_for_hang_up,
)

from callgate.http_client.address import parse_address
from callgate.http_client.client import HttpClient
from callgate.http_client.connection import MAX_HEAD_BYTES
from callgate.http_client.pool import PoolLimits

# ---- reading answers


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
async def test_an_answer_may_arrive_in_pieces_of_any_size(size: int) -> None:
    body = b"x" * 3000
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + body
    )

    async def in_pieces(seen: Seen, wire: Wire) -> None:
        for start in range(0, len(answer), size):
            await wire.raw(answer[start : start + size])

    async with pool_to(in_pieces) as (server, pool):
        assert (await ask(pool)).body == body
        assert (await ask(pool)).body == body
        assert server.connections == 1


async def test_a_chunked_answer_with_trailers_is_put_together() -> None:
    async def chunked(seen: Seen, wire: Wire) -> None:
        await wire.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n")
        await wire.raw(b"2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n")

    async with pool_to(chunked) as (server, pool):
        for _ in range(2):
            answer = await ask(pool)
            assert answer.body == b"abcde"
            assert answer.headers == [(b"transfer-encoding", b"chunked")]
        assert server.connections == 1


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    async def until_closed(seen: Seen, wire: Wire) -> None:
        await wire.raw(b"HTTP/1.1 200 OK\r\n\r\nall of it")
        wire.hang_up()

    async with pool_to(until_closed) as (_, pool):
        assert (await ask(pool)).body == b"all of it"


async def test_an_answer_before_the_whole_request_was_taken_is_heard() -> None:
    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with raw_server(hasty) as port:
        client = HttpClient()
        pool = client.pool_for(parse_address(f"http://127.0.0.1:{port}").origin)
        assert (await ask(pool, b"x" * 10_000_000)).status == 413
        await client.close()


async def _mid_body(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
    wire.hang_up()


async def _mid_chunk(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly")
    wire.reset()


async def _mid_head(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Le")
    wire.hang_up()


async def _garbage(wire: Wire) -> None:
    await wire.raw(b"SSH-2.0-OpenSSH_9.6\r\n")


async def _bad_length(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n")


async def _two_lengths(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")


async def _upgrade(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n")


async def _long_header(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\nX-Long: " + b"y" * (MAX_HEAD_BYTES * 8))


async def _many_headers(wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\n" + b"X-Many: y\r\n" * 9_000 + b"Content-Length: 0\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (_mid_body, "upstream.unavailable", "in the middle"),
        (_mid_chunk, "upstream.unavailable", "in the middle"),
        (_mid_head, "upstream.unavailable", "in the middle"),
        (_garbage, "upstream.failed", "not an HTTP answer"),
        (_bad_length, "upstream.failed", "not an HTTP answer"),
        (_two_lengths, "upstream.failed", "not an HTTP answer"),
        (_upgrade, "upstream.failed", "not an HTTP answer"),
        (_long_header, "upstream.too_large", "head larger than"),
        (_many_headers, "upstream.too_large", "head larger than"),
    ],
)
async def test_a_broken_answer_fails_its_request_in_words_and_costs_the_connection(
    answer: Callable[[Wire], Awaitable[None]], code: str, words: str
) -> None:
    async def breaks_once(seen: Seen, wire: Wire) -> None:
        if seen.body == b"break":
            await answer(wire)
        else:
            await echo(seen, wire)

    async with pool_to(breaks_once) as (server, pool):
        exchange = CollectingExchange(request(body=b"break"))
        pool.send(exchange)
        error = await failure_of(exchange)
        assert error.code.code == code
        assert words in error.message
        assert f"http://127.0.0.1:{server.port}" in error.message
        assert (await ask(pool, b"next")).body == b"next"
        assert server.connections == 2


# ---- cancelling, pausing, closing


async def test_cancelling_closes_the_connection_and_the_rest_is_never_heard() -> None:
    async def endless(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.chunk(b"some")
        await wait_for_hang_up(wire)

    async with pool_to(endless) as (server, pool):
        exchange = CollectingExchange(request())
        pool.send(exchange)
        await exchange.heard.wait()
        exchange.cancel()
        await server.until(lambda: server.open_now == 0)
        assert not exchange.has_ended
        exchange.cancel()


async def test_cancelling_one_who_waits_in_line_sends_nothing() -> None:
    async def silent(seen: Seen, wire: Wire) -> None:
        await wait_for_hang_up(wire)

    async with pool_to(silent, PoolLimits(max_connections=1)) as (server, pool):
        first, second = CollectingExchange(request(body=b"1")), CollectingExchange(request(body=b"2"))
        pool.send(first)
        pool.send(second)
        await server.until(lambda: len(server.requests) == 1)
        second.cancel()
        assert not pool.line
        first.cancel()
        await server.until(lambda: server.open_now == 0)
        assert [seen.body for seen in server.requests] == [b"1"]


async def test_a_slow_reader_makes_the_server_wait() -> None:
    sent = 0

    async def flood(seen: Seen, wire: Wire) -> None:
        nonlocal sent
        await wire.start_sse()
        for _ in range(400):
            await wire.chunk(b"x" * 100_000)
            sent += 1
        await wire.end_sse()

    class Pausing(CollectingExchange):
        def on_data(self, data: bytes) -> None:
            if not self.pieces:
                self.pause()
            super().on_data(data)

    async with pool_to(flood) as (server, pool):
        exchange = Pausing(request())
        pool.send(exchange)
        await exchange.heard.wait()
        other = CollectingExchange(request(body=b"x"))  # the loop turns meanwhile
        pool.send(other)
        await other.end()
        assert sent < 800
        assert len(exchange.body) < 10_000_000
        exchange.resume()
        await exchange.end()
        assert len(exchange.body) == 40_000_000
        await ask(pool)
        assert server.connections == 2


async def test_closing_the_client_fails_what_is_under_way_and_leaves_nothing() -> None:
    async def silent(seen: Seen, wire: Wire) -> None:
        await wait_for_hang_up(wire)

    async with scripted_http(silent) as server:
        client = HttpClient(limits=PoolLimits(max_connections=1))
        pool = client.pool_for(parse_address(server.url).origin)
        exchanges = [CollectingExchange(request(), repeatable=True) for _ in range(3)]
        for exchange in exchanges:
            pool.send(exchange)
        await server.until(lambda: len(server.requests) == 1)
        await client.close()
        await client.close()
        for exchange in exchanges:
            assert (await failure_of(exchange)).code.code == "upstream.unavailable"
        late = CollectingExchange(request())
        pool.send(late)
        assert "closed" in (await failure_of(late)).message
        assert len(asyncio.all_tasks()) <= 2  # this test and the server's one connection


# ---- too much around a body


async def _chunked_then(wire: Wire, beginning: bytes, piece: bytes) -> None:
    """An answer that never ends, until we hang up."""
    await wire.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n" + beginning)
    try:
        for _ in range(4000):
            await wire.raw(piece)
    except ConnectionError:
        return
    await wait_for_hang_up(wire)


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (b"0\r\nX: ", b"y" * 16_384),
        (b"0\r\n", b"X: y\r\n" * 1000),
        (b"1;x=", b"y" * 16_384),
    ],
    ids=["a trailer without an end", "trailers without an end", "an extension without an end"],
)
async def test_what_is_around_a_body_is_bounded_like_a_head(beginning: bytes, piece: bytes) -> None:
    async def endless(seen: Seen, wire: Wire) -> None:
        await _chunked_then(wire, beginning, piece)

    async with asyncio.timeout(30), pool_to(endless) as (server, pool):
        exchange = CollectingExchange(request())
        pool.send(exchange)
        error = await failure_of(exchange)
        assert error.code.code == "upstream.too_large"
        await server.until(lambda: server.open_now == 0)


async def test_a_flood_of_interim_answers_is_bounded_like_a_head() -> None:
    async def hints(seen: Seen, wire: Wire) -> None:
        try:
            while True:
                await wire.raw(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 100)
        except ConnectionError:
            return

    async with asyncio.timeout(30), pool_to(hints) as (_, pool):
        exchange = CollectingExchange(request())
        pool.send(exchange)
        assert (await failure_of(exchange)).code.code == "upstream.too_large"


async def test_a_long_stream_in_small_chunks_is_no_flood() -> None:
    async def small(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        for _ in range(40):
            await wire.raw(b"3\r\n:\n\n\r\n" * 1000)
        await wire.end_sse()

    async with pool_to(small) as (_, pool):
        assert (await ask(pool)).body == b":\n\n" * 40_000
