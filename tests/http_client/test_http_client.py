"""Opening connections, asking a simple question, and what of an address is shown."""

import asyncio
import shutil
import socket
import ssl
from pathlib import Path

import pytest
from http_client.collecting_exchange import CollectingExchange, request
from http_client.pool_stage import echo, failure_of
from upstreams.http_servers.certificates import make_certificates
from upstreams.http_servers.scripted_http import (
    Seen,
    Wire,
    raw_server,
    scripted_http,
    wait_for_hang_up,
)

from callgate.http_client.address import operator_headers, parse_address
from callgate.http_client.client import HttpClient
from callgate.http_client.pool import PoolLimits
from callgate.model.errors import SetupError, UpstreamError

TIMEOUT_S = 20.0


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
        assert (answer.status, answer.headers["content-type"], answer.body) == (
            404,
            "application/json",
            b'{"error": 1}',
        )
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
        assert (answer.headers["content-type"], answer.body) == ("text/event-stream", b'{"first": true}')
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
