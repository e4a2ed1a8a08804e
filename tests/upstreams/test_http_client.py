"""The HTTP client against real sockets: good servers, slow servers, broken servers."""

import asyncio
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from upstreams.http_servers.certificates import make_certificates
from upstreams.http_servers.collecting_exchange import CollectingExchange, request
from upstreams.http_servers.scripted_http import (
    Script,
    ScriptedHttp,
    Seen,
    Wire,
    raw_server,
    scripted_http,
    wait_for_hang_up,
)

from callgate.model.errors import SetupError, UpstreamError
from callgate.upstreams.http_address import operator_headers, parse_address
from callgate.upstreams.http_client import HttpClient
from callgate.upstreams.http_connection import MAX_HEAD_BYTES
from callgate.upstreams.http_pool import HttpPool, PoolLimits

TIMEOUT_S = 20.0


async def echo(seen: Seen, wire: Wire) -> None:
    await wire.answer(200, seen.body)


@asynccontextmanager
async def pool_to(
    script: Script, limits: PoolLimits | None = None
) -> AsyncIterator[tuple[ScriptedHttp, HttpPool]]:
    async with scripted_http(script) as server:
        client = HttpClient(limits=limits or PoolLimits())
        try:
            yield server, client.pool_for(parse_address(server.url).origin)
        finally:
            await client.close()


async def failure_of(exchange: CollectingExchange) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await exchange.end()
    return caught.value


async def ask(pool: HttpPool, body: bytes = b"hello", *, repeatable: bool = False) -> CollectingExchange:
    exchange = CollectingExchange(request(body=body), repeatable=repeatable)
    pool.send(exchange)
    return await exchange.end()


# ---- keeping connections


async def test_requests_one_after_another_share_one_connection() -> None:
    async with pool_to(echo) as (server, pool):
        bodies = [(await ask(pool, b"%d" % number)).body for number in range(50)]
        assert bodies == [b"%d" % number for number in range(50)]
        assert server.connections == 1


async def test_a_thousand_requests_at_once_are_all_answered_with_their_own_answer() -> None:
    async with pool_to(echo) as (server, pool):
        exchanges = [CollectingExchange(request(body=b"%d" % number)) for number in range(1000)]
        for exchange in exchanges:
            pool.send(exchange)
        bodies = [(await exchange.end()).body for exchange in exchanges]
        assert bodies == [b"%d" % number for number in range(1000)]
        assert server.connections <= PoolLimits().max_connections


async def test_past_the_limit_of_connections_requests_wait_their_turn() -> None:
    async with pool_to(echo, PoolLimits(max_connections=2)) as (server, pool):
        exchanges = [CollectingExchange(request(body=b"%d" % number)) for number in range(20)]
        for exchange in exchanges:
            pool.send(exchange)
        assert pool.waiting == 20
        assert [(await exchange.end()).body for exchange in exchanges] == [b"%d" % n for n in range(20)]
        assert server.connections == 2


async def test_an_urgent_request_passes_the_limit_and_the_line() -> None:
    async def silent_unless_urgent(seen: Seen, wire: Wire) -> None:
        if seen.body != b"urgent":
            await wait_for_hang_up(wire)
        await echo(seen, wire)

    async with pool_to(silent_unless_urgent, PoolLimits(max_connections=1)) as (_, pool):
        stuck, waiting = CollectingExchange(request()), CollectingExchange(request())
        pool.send(stuck)
        pool.send(waiting)
        urgent = CollectingExchange(request(body=b"urgent"), is_urgent=True)
        pool.send(urgent)
        assert (await urgent.end()).body == b"urgent"


async def test_no_more_than_the_limit_of_idle_connections_is_kept() -> None:
    everyone_is_here = asyncio.Event()
    limits = PoolLimits(max_idle=3)

    async def together(seen: Seen, wire: Wire) -> None:
        await everyone_is_here.wait()
        await echo(seen, wire)

    async with pool_to(together, limits) as (server, pool):
        exchanges = [CollectingExchange(request(body=b"x")) for _ in range(10)]
        for exchange in exchanges:
            pool.send(exchange)
        await server.until(lambda: len(server.requests) == 10)
        everyone_is_here.set()
        for exchange in exchanges:
            await exchange.end()
        await server.until(lambda: server.open_now == 3)


async def test_an_idle_connection_grows_old_and_is_closed() -> None:
    async with pool_to(echo, PoolLimits(max_idle_s=0.05)) as (server, pool):
        await ask(pool)
        await server.until(lambda: server.open_now == 0)
        await ask(pool)
        assert server.connections == 2


async def test_a_connection_is_not_used_again_when_the_server_says_close() -> None:
    async def closing(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, seen.body, Connection="close")

    async with pool_to(closing) as (server, pool):
        await ask(pool)
        await ask(pool)
        assert server.connections == 2


async def test_bytes_after_the_end_of_an_answer_never_become_the_next_answer() -> None:
    async def two_for_one(seen: Seen, wire: Wire) -> None:
        forged = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
        await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue" + forged)

    async with pool_to(two_for_one) as (server, pool):
        assert (await ask(pool)).body == b"true"
        assert (await ask(pool)).body == b"true"
        assert server.connections == 2


async def test_the_servers_own_keep_alive_time_is_respected() -> None:
    async def short_lived(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, seen.body, Keep_Alive="timeout=1, max=100")

    async with pool_to(short_lived) as (server, pool):
        await ask(pool)  # one second, of which one is left for the way: not worth a reuse
        await ask(pool, repeatable=True)
        assert server.connections == 2


# ---- never twice


async def dies_on_the_second(seen: Seen, wire: Wire) -> None:
    """Answers the first request of the first connection, takes the second and closes without a byte."""
    if seen.connection == 1 and seen.body == b"second":
        wire.hang_up()
        raise ConnectionError
    await echo(seen, wire)


async def test_a_repeatable_request_is_sent_again_when_a_kept_connection_was_dead() -> None:
    async with pool_to(dies_on_the_second) as (server, pool):
        await ask(pool, b"first")
        assert (await ask(pool, b"second", repeatable=True)).body == b"second"
        assert [seen.connection for seen in server.requests] == [1, 1, 2]


async def test_an_unrepeatable_request_is_never_sent_again() -> None:
    async with pool_to(dies_on_the_second) as (server, pool):
        await ask(pool, b"first")
        exchange = CollectingExchange(request(body=b"second"))
        pool.send(exchange)
        error = await failure_of(exchange)
        assert error.code.code == "upstream.unavailable"
        assert "without an answer" in error.message
        assert "not sent again" in error.hint
        assert [seen.body for seen in server.requests] == [b"first", b"second"]


async def test_a_repeatable_request_is_sent_again_only_once() -> None:
    async def dies_always(seen: Seen, wire: Wire) -> None:
        if seen.body == b"second":
            wire.reset()
            raise ConnectionError
        await echo(seen, wire)

    async with pool_to(dies_always) as (server, pool):
        await ask(pool, b"first")
        exchange = CollectingExchange(request(body=b"second"), repeatable=True)
        pool.send(exchange)
        await failure_of(exchange)
        assert [seen.body for seen in server.requests] == [b"first", b"second", b"second"]


async def test_a_new_connection_that_dies_is_no_reason_to_send_again() -> None:
    async def dies(seen: Seen, wire: Wire) -> None:
        wire.hang_up()
        raise ConnectionError

    async with pool_to(dies) as (server, pool):
        exchange = CollectingExchange(request(), repeatable=True)
        pool.send(exchange)
        await failure_of(exchange)
        assert len(server.requests) == 1


async def test_a_connection_the_server_closed_while_idle_is_not_used() -> None:
    async def one_each(seen: Seen, wire: Wire) -> None:
        await echo(seen, wire)
        wire.hang_up()
        raise ConnectionError

    async with pool_to(one_each) as (server, pool):
        await ask(pool, b"first")
        await server.until(lambda: server.open_now == 0)
        while pool.open_connections:  # until the loop has seen the end that the server sent
            await asyncio.sleep(0)
        assert (await ask(pool, b"second")).body == b"second"
        assert [seen.body for seen in server.requests] == [b"first", b"second"]


async def test_an_unrepeatable_request_takes_no_connection_that_was_idle_for_long() -> None:
    async with pool_to(echo, PoolLimits(max_idle_unrepeatable_s=0.0)) as (server, pool):
        await ask(pool)
        await ask(pool, repeatable=True)
        assert server.connections == 1
        await ask(pool)
        assert server.connections == 2


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
        assert pool.waiting == 0
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


# ---- opening connections


async def ask_url(url: str, limits: PoolLimits | None = None, context: ssl.SSLContext | None = None) -> bytes:
    client = HttpClient(ssl_context=context, limits=limits or PoolLimits())
    try:
        return (await client.post(url, [], b"{}", TIMEOUT_S)).body
    finally:
        await client.close()


async def test_a_refused_connection_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(UpstreamError) as caught:
            await ask_url(f"http://user:secret@{host}:{port}/mcp?key=secret")
        assert caught.value.code.code == "upstream.unavailable"
        assert caught.value.message == f"http://{host}:{port} refused the connection"
        assert "secret" not in str(caught.value)


async def test_an_unknown_host_says_that_the_name_is_wrong() -> None:
    with pytest.raises(UpstreamError) as caught:
        await ask_url("http://no-such-host.invalid/mcp")
    assert "could not be resolved" in caught.value.message


async def test_a_host_that_does_not_accept_is_given_up() -> None:
    # A full backlog: the kernel leaves further connections unanswered.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        with pytest.raises(UpstreamError) as caught:
            await ask_url(f"http://127.0.0.1:{address[1]}/", PoolLimits(connect_timeout_s=0.2))
        for filler in fillers:
            filler.close()
    assert "did not accept a connection within 0.2 s" in caught.value.message


async def test_every_waiting_request_hears_of_a_failed_opening() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = HttpClient(limits=PoolLimits(max_connections=2))
    pool = client.pool_for(parse_address(f"http://127.0.0.1:{port}").origin)
    exchanges = [CollectingExchange(request()) for _ in range(10)]
    for exchange in exchanges:
        pool.send(exchange)
    for exchange in exchanges:
        assert "refused" in (await failure_of(exchange)).message
    await client.close()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
async def test_an_ipv6_address_is_written_in_brackets() -> None:
    try:
        async with scripted_http(echo, host="::1") as server:
            assert await ask_url(f"http://[::1]:{server.port}/mcp") == b"{}"
            assert server.requests[0].headers["host"] == f"[::1]:{server.port}"
    except OSError:
        pytest.skip("no IPv6 address here")


needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")


@needs_openssl
async def test_tls_works_with_a_trusted_certificate_and_is_kept_alive(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    async with scripted_http(echo, ssl_context=certificates.server_context) as server:
        client = HttpClient(ssl_context=certificates.trusting_context)
        for _ in range(5):
            assert (await client.post(server.url, [], b"{}", TIMEOUT_S)).body == b"{}"
        await client.close()
        assert server.connections == 1


@needs_openssl
async def test_an_untrusted_certificate_is_refused_with_a_way_out(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    async with scripted_http(echo, ssl_context=certificates.server_context) as server:
        with pytest.raises(UpstreamError) as caught:
            await ask_url(server.url)
        assert caught.value.code.code == "upstream.unavailable"
        assert "is not trusted: self-signed certificate" in caught.value.message
        assert "SSL_CERT_FILE" in caught.value.hint
        assert server.requests == []


async def test_plain_http_behind_an_https_url_is_recognised() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with raw_server(plain) as port:
        with pytest.raises(UpstreamError) as caught:
            await ask_url(f"https://127.0.0.1:{port}/mcp")
    assert "TLS with" in caught.value.message


# ---- post: the simple question


async def test_a_post_returns_status_headers_and_body_whatever_the_status() -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        await wire.json({"error": 1}, status=404, X_Kind="special")

    async with scripted_http(refuses) as server:
        client = HttpClient()
        answer = await client.post(
            server.url,
            [("Authorization", "Bearer t"), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "x"),
             ("Content-Length", "999")],
            b"[]",
            TIMEOUT_S,
        )  # fmt: skip
        await client.close()
        assert (answer.status, answer.content_type, answer.body) == (404, "application/json", b'{"error": 1}')
        assert answer.headers["x-kind"] == "special"
        sent = server.requests[0].headers
        assert sent["authorization"] == "Bearer t"
        assert sent["mcp-protocol-version"] == "2026-07-28"
        assert sent["mcp-method"] == "x"
        assert sent["content-length"] == "2"
        assert sent["accept-encoding"] == "identity"


async def test_a_post_answered_by_an_event_stream_returns_its_first_message() -> None:
    async def streams(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.event(id="1")
        await wire.event({"first": True})
        await wait_for_hang_up(wire)

    async with scripted_http(streams) as server:
        client = HttpClient()
        answer = await client.post(server.url, [], b"{}", TIMEOUT_S)
        assert (answer.content_type, answer.body) == ("text/event-stream", b'{"first": true}')
        await server.until(lambda: server.open_now == 0)
        await client.close()


async def test_a_post_that_takes_too_long_is_given_up() -> None:
    async def silent(seen: Seen, wire: Wire) -> None:
        await wait_for_hang_up(wire)

    async with scripted_http(silent) as server:
        client = HttpClient()
        with pytest.raises(UpstreamError) as caught:
            await client.post(server.url + "?key=secret", [], b"{}", 0.05)
        assert caught.value.code.code == "upstream.timeout"
        assert "secret" not in str(caught.value)
        await server.until(lambda: server.open_now == 0)
        await client.close()


async def test_a_body_past_the_limit_is_refused() -> None:
    async def huge(seen: Seen, wire: Wire) -> None:
        await wire.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await wire.chunk(b"x" * 1_000_000)

    async with scripted_http(huge) as server:
        with pytest.raises(UpstreamError) as caught:
            await ask_url(server.url)
        assert caught.value.code.code == "upstream.too_large"


async def test_a_redirect_is_an_answer_and_nobody_follows_it() -> None:
    async def moved(seen: Seen, wire: Wire) -> None:
        await wire.answer(307, Location="http://127.0.0.1:1/elsewhere")

    async with scripted_http(moved) as server:
        client = HttpClient()
        assert (await client.post(server.url, [], b"{}", TIMEOUT_S)).status == 307
        await client.close()
        assert len(server.requests) == 1


# ---- addresses


def test_what_is_shown_of_an_address_holds_no_secret() -> None:
    address = parse_address("https://user:pass%40word@Example.com/a/b?token=abc#frag")
    assert address.shown == "https://example.com:443/a/b"
    assert address.target == "/a/b?token=abc"
    assert address.host_header == "example.com"
    assert address.user == "user:pass@word"
    assert not {"pass", "abc"} & set(repr(address).replace(":", " ").split())


def test_a_url_that_cannot_be_used_is_refused_without_repeating_it() -> None:
    for url in ("ftp://secret@host/", "http://", "http://host:port-secret/", "secret"):
        with pytest.raises(SetupError) as caught:
            parse_address(url)
        assert "secret" not in str(caught.value)


def test_the_user_part_of_a_url_becomes_basic_authorization() -> None:
    address = parse_address("http://name:word@host/")
    assert b"authorization: Basic bmFtZTp3b3Jk\r\n" in operator_headers(address, [])
    assert b"Basic" not in operator_headers(address, [("Authorization", "Bearer mine")])


def test_a_header_that_would_break_out_of_its_line_is_refused_without_its_value() -> None:
    for header in (("X-A", "secret\r\nX-B: 1"), ("X A", "secret"), ("X-A", "secret\0")):
        with pytest.raises(SetupError) as caught:
            operator_headers(parse_address("http://host/"), [header])
        assert "secret" not in str(caught.value)
