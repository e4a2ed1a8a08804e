"""What is refused at the door is told to the record: who, what and why, and never at length."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from edge.conftest import TOKEN, Door
from edge.http_probe import INITIALIZE, JSON_HEADERS, HttpProbe

from callgate.model.events import Aside
from callgate.model.exchange import Outcome

PING = {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"a": 1}}


async def post(http: HttpProbe, message: Any, path: str = "/mcp", **headers: str) -> int:
    sent = JSON_HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return (await http.request("POST", path, sent, body)).status


def told(door: Door) -> Aside:
    (aside,) = door.asides
    assert aside.settlement.outcome is Outcome.REFUSED
    return aside


@pytest.mark.parametrize(
    ("send", "status", "code", "method"),
    [
        (lambda http: post(http, b'{"jsonrpc":'), 400, "caller.bad_json", "POST /mcp"),
        (lambda http: post(http, b"7"), 400, "caller.malformed", "POST /mcp"),
        (lambda http: post(http, PING), 400, "caller.not_initialized", "ping"),
        (lambda http: post(http, PING, mcp_session_id="x"), 404, "caller.unknown_session", "ping"),
        (
            lambda http: post(http, PING, mcp_protocol_version="2099-01-01"),
            400,
            "caller.bad_params",
            "ping",
        ),
        (lambda http: post(http, PING, accept="text/html"), 406, "caller.not_acceptable", "ping"),
        (lambda http: post(http, PING, content_type="a/b"), 415, "caller.wrong_content_type", "ping"),
        (lambda http: post(http, b"x=1", content_type="a/b"), 415, "caller.wrong_content_type", "POST /mcp"),
        (lambda http: post(http, PING, host="evil.example"), 421, "refused.host", "POST /mcp"),
        (lambda http: post(http, PING, origin="https://evil.example"), 403, "refused.origin", "POST /mcp"),
        (
            lambda http: post(http, PING, "/servers/x/mcp"),
            404,
            "caller.unknown_server",
            "ping",
        ),
        (lambda http: post(http, b"x" * 100_001), 413, "caller.too_large", "POST /mcp"),
    ],
)
async def test_each_refusal_is_told_once_with_its_code(
    door: Door, send: Callable[[HttpProbe], Awaitable[int]], status: int, code: str, method: str
) -> None:
    async with door.probe() as http:
        assert await send(http) == status
    assert (told(door).settlement.error_code, told(door).method) == (code, method)
    assert not door.answerer.arrivals


async def test_of_who_has_no_token_nothing_is_kept_but_where_it_came_from(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        assert await post(http, PING, authorization="Bearer wrong-one", user_agent="fake") == 401
    aside = told(guarded_door)
    assert (aside.settlement.error_code, aside.client) == ("refused.unauthenticated", "127.0.0.1")
    assert (aside.principal, aside.params, aside.rpc_id) == (None, b"", None)
    assert aside.size_bytes == len(json.dumps(PING))
    assert "wrong-one" not in repr(aside)


async def test_of_who_has_one_the_message_is_kept_unless_it_is_long(guarded_door: Door) -> None:
    authorization = f"Bearer {TOKEN}"
    async with guarded_door.probe() as http:
        await post(http, PING, authorization=authorization)
        await post(http, PING | {"params": {"a": "x" * 20_000}}, authorization=authorization)
        await post(http, PING | {"id": "i" * 1_000}, authorization=authorization)
    short, long, odd = guarded_door.asides
    assert (short.principal, short.rpc_id, short.params) == ("alice", b"7", b'{"a": 1}')
    assert (long.params, long.size_bytes > 20_000) == (b"", True)
    assert odd.rpc_id is None


CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "shop__query", "arguments": {}}}


@pytest.mark.parametrize("headers", [{}, {"mcp_session_id": "x"}, {"accept": "text/html"}])
async def test_of_a_call_the_tool_and_its_server_are_kept(door: Door, headers: dict[str, str]) -> None:
    async with door.probe() as http:
        await post(http, CALL, **headers)
    aside = told(door)
    assert (aside.method, aside.tool_name, aside.server_name) == ("tools/call", "shop__query", "shop")
    assert json.loads(aside.params) == CALL["params"]


async def test_the_name_of_a_tool_is_kept_when_its_arguments_are_too_long_but_not_at_any_length(
    door: Door,
) -> None:
    async with door.probe() as http:
        await post(http, CALL | {"params": {"name": "shop__query", "arguments": {"a": "x" * 20_000}}})
        await post(http, CALL | {"params": {"name": "shop__" + "q" * 20_000}})
        await post(http, CALL | {"params": {"name": 7}})
    long, odd, none = door.asides
    assert (long.tool_name, long.server_name, long.params) == ("shop__query", "shop", b"")
    assert odd.tool_name is not None
    assert len(odd.tool_name) <= 200
    assert (none.tool_name, none.server_name) == (None, None)


async def test_at_one_servers_own_address_it_is_that_servers(door: Door) -> None:
    async with door.probe() as http:
        await post(http, CALL | {"params": {"name": "query"}}, "/servers/shop/mcp")
    assert (told(door).tool_name, told(door).server_name) == ("query", "shop")


async def test_of_who_has_no_token_no_name_of_a_tool_is_kept(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        assert await post(http, CALL, authorization="Bearer wrong-one") == 401
    assert (told(guarded_door).tool_name, told(guarded_door).server_name) == (None, None)


async def test_what_is_refused_elsewhere_is_not_in_the_record_of_the_protocol(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        assert (await http.request("GET", "/api/v1/sessions")).status == 401
    assert not guarded_door.asides


async def test_a_modern_notification_is_taken_and_told(door: Door) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/x"}
    async with door.probe() as http:
        assert await post(http, message, mcp_protocol_version="2026-07-28") == 202
    (aside,) = door.asides
    assert (aside.method, aside.is_notification) == ("notifications/x", True)
    assert aside.settlement.outcome is Outcome.ANSWERED


async def test_the_parts_of_a_batch_that_cannot_be_read_are_told(door: Door) -> None:
    async with door.probe() as http:
        opened = await http.request(
            "POST", "/mcp", JSON_HEADERS,
            json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
                | {"params": INITIALIZE | {"protocolVersion": "2025-03-26"}}
            ).encode(),
        )  # fmt: skip
        session = opened.headers["mcp-session-id"]
        batch = [PING, {"jsonrpc": "1.0", "id": 2, "method": "x"}]
        assert await post(http, batch, mcp_session_id=session) == 200
    assert (told(door).settlement.error_code, told(door).rpc_id) == ("caller.malformed", b"2")


async def test_a_server_s_name_in_another_spelling_is_answered_with_the_right_one(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.request("POST", "/servers/Shop/mcp", JSON_HEADERS, json.dumps(PING).encode())
    assert answer.status == 404
    assert b"There is no server 'Shop' here" in answer.body
    assert b'Did you mean \\"shop\\"?' in answer.body
