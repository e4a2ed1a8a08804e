"""What every kind of answer to one POST means."""

import asyncio
import json

import pytest
from upstreams.http_servers.scripted_http import (
    Seen,
    Wire,
)
from upstreams.http_servers.streamable_stage import answers, notice, result, rpc_error, stage

from callgate.model.envelope import Era
from callgate.upstreams.http.http_transport import HttpSettings
from callgate.upstreams.http.streamable_http import StreamableHttpTransport

# ---- good answers


async def test_the_answers_bytes_pass_as_they_came() -> None:
    body = b'{"jsonrpc":"2.0",  "id":1,"result":{"n":1.50,"z":99999999999999999999},"new":1}'

    async def odd(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, body, content_type="application/json; charset=utf-8")

    async with stage(odd) as on:
        on.ask(1)
        await on.receiver.next()
        assert on.receiver.frames == [body]


async def test_a_stream_of_notices_and_the_response_arrives_in_order_however_it_is_cut() -> None:
    async def streams(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        messages = [notice("one"), notice("two"), result(seen, ok=True)]
        text = ": hi\r\n\r\n" + "".join(f"event: message\r\ndata: {json.dumps(m)}\r\n\r\n" for m in messages)
        for start in range(0, len(text), 7):
            await wire.chunk(text[start : start + 7].encode())
        await wire.end_sse()

    for era in Era:
        async with stage(streams, era) as on:
            for rpc_id in (1, 2):
                on.ask(rpc_id)
                told = [await on.receiver.next() for _ in range(3)]
                assert [what[1].get("params", {}).get("data") for what in told] == ["one", "two", None]
                assert {what[2] for what in told} == {rpc_id}
                await asyncio.sleep(0)
            assert on.server.connections <= 2


async def test_a_stream_that_was_read_to_its_end_leaves_its_connection_for_the_next() -> None:
    async def streams(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        data = json.dumps(result(seen)).encode()
        await wire.raw(b"%x\r\ndata: %b\n\n\r\n0\r\n\r\n" % (len(data) + 8, data))

    async with stage(streams) as on:
        for rpc_id in range(5):
            on.ask(rpc_id)
            await on.receiver.next()
        assert on.server.connections == 1


async def test_a_thousand_requests_at_once_get_their_own_answers() -> None:
    async with stage(answers) as on:
        await on.shake_hands()
        for rpc_id in range(1, 1001):
            assert on.ask(rpc_id)
        told = [await on.receiver.next() for _ in range(1000)]
        assert sorted(what[2] for what in told) == list(range(1, 1001))
        assert all(what[1]["id"] == what[2] for what in told)


async def test_a_notification_may_be_answered_with_anything_and_nobody_is_told() -> None:
    async def odd(seen: Seen, wire: Wire) -> None:
        if "id" in seen.json():
            await wire.json(result(seen))
        else:
            await wire.json({"error": {"message": "no"}}, status=500)

    async with stage(odd) as on:
        on.tell()
        await on.server.until(lambda: len(on.posts()) == 1)
        on.ask(1)
        assert (await on.receiver.next())[2] == 1


async def test_our_answer_to_the_server_is_posted() -> None:
    async def accepts(seen: Seen, wire: Wire) -> None:
        await wire.answer(202)

    async with stage(accepts) as on:
        assert on.transport.send(b'{"jsonrpc":"2.0","id":"s1","result":{}}', None, None)
        await on.server.until(lambda: len(on.posts()) == 1)
        assert on.posts()[0].json() == {"jsonrpc": "2.0", "id": "s1", "result": {}}


# ---- bad answers


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_a_json_rpc_error_of_our_id_reaches_the_client_with_any_status(status: int) -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        await wire.json(rpc_error(7), status=status)

    async with stage(refuses, Era.MODERN) as on:
        on.ask(7)
        assert await on.receiver.next() == ("received", rpc_error(7), 7)


@pytest.mark.parametrize("rpc_id", [None, 8])
async def test_a_json_rpc_error_without_our_id_fails_the_request_with_its_message(rpc_id: int | None) -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        await wire.json(rpc_error(rpc_id), status=400)

    async with stage(refuses) as on:
        on.ask(7)
        error = await on.receiver.failure(7)
        assert error.code.code == "upstream.failed"
        assert "answered 400 Bad Request: Method not found" in error.message


@pytest.mark.parametrize(
    ("status", "headers", "code", "words"),
    [
        (401, {"WWW_Authenticate": 'Bearer realm="hidden-key"'}, "upstream.unauthorized", "401 Unauthorized"),
        (403, {}, "upstream.unauthorized", "403 Forbidden"),
        (404, {}, "upstream.failed", "404 Not Found"),
        (429, {}, "upstream.unavailable", "429"),
        (500, {}, "upstream.failed", "500 Internal Server Error"),
        (503, {}, "upstream.unavailable", "503 Service Unavailable"),
        (799, {}, "upstream.failed", "799"),
        (202, {}, "upstream.failed", "202 Accepted without a response"),
        (307, {"Location": "https://u:hidden-key@evil.example:8/x?hidden-key"}, "upstream.failed",
         "redirects to evil.example:8 (307)"),
        (308, {"Location": "/other?hidden-key"}, "upstream.failed", "another path of the same host"),
    ],
)  # fmt: skip
async def test_an_http_error_fails_the_request_in_words_without_secrets(
    status: int, headers: dict[str, str], code: str, words: str
) -> None:
    async def refuses(seen: Seen, wire: Wire) -> None:
        await wire.answer(status, b"<html>hidden-key</html>", content_type="text/html", **headers)

    async with stage(refuses) as on:
        on.ask(1)
        error = await on.receiver.failure(1)
        assert error.code.code == code
        assert words in error.message
        assert error.message.startswith(f"wiki (http://127.0.0.1:{on.server.port}/mcp)")
        assert "hidden" not in error.message + error.hint
        assert len(on.server.requests) == 1


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html>", "text/html"),
        (b"not json", "application/json"),
        (b'{"jsonrpc":"2.0","id":2,"result":{}}', "application/json"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "application/json"),
        (b"[]", "application/json"),
    ],
)
async def test_an_answer_that_is_not_the_response_fails_the_request(body: bytes, content_type: str) -> None:
    async def odd(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, body, content_type=content_type)

    async with stage(odd) as on:
        on.ask(1)
        error = await on.receiver.failure(1)
        assert error.code.code == "upstream.failed"
        assert "without a response" in error.message


async def test_a_compressed_answer_is_refused_because_none_was_asked_for() -> None:
    async def zipped(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, b"\x1f\x8b", Content_Encoding="gzip")

    async with stage(zipped) as on:
        on.ask(1)
        assert "compressed" in (await on.receiver.failure(1)).message


async def test_a_refused_connection_fails_the_request_and_the_transport_lives() -> None:
    async with stage(answers) as on:
        working = on.transport
        dead = StreamableHttpTransport(
            HttpSettings("dead", "http://127.0.0.1:1/mcp"), Era.LEGACY, on.client, on.receiver
        )
        assert dead.send(b"{}", 3, "tools/call")
        error = await on.receiver.failure(3)
        assert (error.code.code, "refused" in error.message) == ("upstream.unavailable", True)
        assert working.send(b'{"id":4,"method":"x"}', 4, "x")
        assert (await on.receiver.next())[2] == 4
        await dead.close()


@pytest.mark.parametrize("kind", ["json", "sse"])
async def test_a_message_past_the_limit_fails_its_request_alone(kind: str) -> None:
    async def huge(seen: Seen, wire: Wire) -> None:
        if kind == "sse":
            await wire.start_sse()
            await wire.chunk(b"data: ")
        else:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            await wire.raw(head)
        while True:
            await wire.chunk(b"x" * 1_000_000)

    async with stage(huge) as on:
        on.ask(1)
        assert (await on.receiver.failure(1)).code.code == "upstream.too_large"
        await on.server.until(lambda: on.server.open_now == 0)


async def test_a_stream_without_the_response_fails_the_request() -> None:
    async def ends_early(seen: Seen, wire: Wire) -> None:
        await wire.start_sse()
        await wire.event(notice("only this"))
        if seen.json()["id"] == 1:
            await wire.end_sse()
        else:
            wire.reset()

    async with stage(ends_early) as on:
        on.ask(1)
        assert (await on.receiver.next())[0] == "received"
        assert "without the response" in (await on.receiver.failure(1)).message
        on.ask(2)
        assert (await on.receiver.next())[0] == "received"
        assert "in the middle" in (await on.receiver.failure(2)).message
