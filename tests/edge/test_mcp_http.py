"""Streamable HTTP of both eras, on a real socket."""

import json

import pytest
from edge.conftest import Door
from edge.http_probe import INITIALIZE, JSON_HEADERS


async def test_a_modern_request_is_answered_as_json_without_a_session(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.modern(
            "tools/call", {"name": "t", "arguments": {"n": 1}}, mcp_session_id="ignored"
        )
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert "mcp-session-id" not in answer.headers
        assert answer.json()["result"]["echo"]["arguments"] == {"n": 1}
    (arrival,) = door.answerer.arrivals
    assert (arrival.client, arrival.transport, arrival.session) == ("probe/1", "http", None)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"mcp_protocol_version": "2025-11-25"}, -32020),
        ({"mcp_method": "tools/list"}, -32020),
        ({"mcp_name": "other"}, -32020),
        ({"mcp_name": "=?base64?b3RoZXI=?="}, -32020),
    ],
)
async def test_headers_that_disagree_with_the_body_are_400(
    door: Door, headers: dict[str, str], code: int
) -> None:
    async with door.probe() as http:
        answer = await http.modern("tools/call", {"name": "t"}, **headers)
        assert (answer.status, answer.json()["error"]["code"], answer.json()["id"]) == (400, code, 1)
    assert not door.answerer.arrivals


async def test_a_modern_request_without_its_envelope_is_400(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.modern("tools/list", {"_meta": {}})
        assert (answer.status, answer.json()["error"]["code"]) == (400, -32602)


async def test_an_unsupported_modern_version_is_400_with_the_list(door: Door) -> None:
    async with door.probe() as http:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2099-01-01",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        answer = await http.modern("tools/list", {"_meta": meta}, mcp_protocol_version="2099-01-01")
        error = answer.json()["error"]
        assert (answer.status, error["code"]) == (400, -32022)
        assert "2026-07-28" in error["data"]["supported"]


async def test_an_unknown_method_is_404_for_modern_and_200_for_legacy(door: Door) -> None:
    async with door.probe() as http:
        modern = await http.modern("test/unknown")
        legacy = await http.legacy("test/unknown", session=await http.initialize())
        assert [modern.status, legacy.status] == [404, 200]
        assert modern.json()["error"]["code"] == legacy.json()["error"]["code"] == -32601


async def test_a_modern_notification_is_202_and_a_response_or_batch_400(door: Door) -> None:
    headers = JSON_HEADERS | {"mcp-protocol-version": "2026-07-28"}
    async with door.probe() as http:
        for body, status in (
            ({"jsonrpc": "2.0", "method": "notifications/x"}, 202),
            ({"jsonrpc": "2.0", "id": 1, "result": {}}, 400),
            ([{"jsonrpc": "2.0", "id": 1, "method": "x"}], 400),
        ):
            answer = await http.request("POST", "/mcp", headers, json.dumps(body).encode())
            assert answer.status == status


async def test_get_and_delete_are_405_for_a_modern_client(door: Door) -> None:
    async with door.probe() as http:
        for method in ("GET", "DELETE", "PUT"):
            answer = await http.request(method, "/mcp", {"mcp-protocol-version": "2026-07-28"})
            assert (answer.status, answer.headers["allow"]) == (405, "POST")


async def test_notices_turn_the_answer_into_a_stream(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.modern("test/notices")
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-accel-buffering"] == "no"
        first, second, last = answer.events()
        assert [first["params"]["progress"], second["params"]["progress"]] == [1, 2]
        assert last["result"] == {"done": True}
        assert (await http.modern("x")).status == 200, "the connection goes on"


async def test_a_modern_disconnect_cancels_the_request(door: Door) -> None:
    async with door.probe() as http:
        await http.send_modern("test/wait")
        await door.answerer.waiting.wait()
    await door.answerer.settled.wait()
    assert door.answerer.cancelled == ["test/wait"]


async def test_a_legacy_disconnect_is_not_a_cancellation(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        await http.send_legacy("test/wait", session=session)
        await door.answerer.waiting.wait()
    async with door.probe() as other:
        await other.legacy("x", session=session)
    assert door.answerer.cancelled == []
    door.answerer.release.set()


async def test_a_legacy_cancellation_ends_the_stream_without_a_response(door: Door) -> None:
    async with door.probe() as http, door.probe() as other:
        session = await http.initialize()
        await http.send_legacy("test/wait", rpc_id=7, session=session)
        await door.answerer.waiting.wait()
        await other.legacy("notifications/cancelled", {"requestId": 7}, rpc_id=None, session=session)
        answer = await http.answer()
        assert (answer.headers["content-type"], answer.body) == ("text/event-stream", b"")
        assert door.answerer.cancelled == ["test/wait"]
        assert (await http.legacy("x", session=session)).status == 200, "the connection goes on"


async def test_a_session_is_minted_used_and_ended(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        answer = await http.legacy("x", {"a": 1.0}, session=session, mcp_protocol_version="2025-11-25")
        assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {"echo": {"a": 1.0}}}
        assert (await http.request("DELETE", "/mcp", {"mcp-session-id": session})).status == 200
        assert (await http.legacy("x", session=session)).status == 404
    assert door.answerer.ended == ["session-0"]


async def test_a_legacy_request_without_or_with_an_unknown_session_says_what_to_do(door: Door) -> None:
    async with door.probe() as http:
        missing, unknown = await http.legacy("x"), await http.legacy("x", session="made-up")
        assert [missing.status, unknown.status] == [400, 404]
        assert "initialize" in missing.json()["error"]["data"]["hint"]


async def test_a_legacy_notification_is_202_and_reaches_the_relay(door: Door) -> None:
    async with door.probe() as http:
        session = await http.initialize()
        answer = await http.legacy("notifications/initialized", rpc_id=None, session=session)
        assert (answer.status, answer.body) == (202, b"")
    assert [arrival.method for arrival in door.answerer.notices] == ["notifications/initialized"]


async def test_a_wrong_legacy_version_header_is_400_and_an_absent_one_is_fine(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.legacy("initialize", INITIALIZE, mcp_protocol_version="1999-01-01")
        assert answer.status == 400
        assert (await http.legacy("initialize", INITIALIZE)).status == 200


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"accept": "application/json"}, 406), ({"content-type": "text/plain"}, 415)],
)
async def test_accept_and_content_type_are_checked(door: Door, changed: dict[str, str], status: int) -> None:
    async with door.probe() as http:
        answer = await http.request("POST", "/mcp", JSON_HEADERS | changed, b"{}")
        assert answer.status == status


async def test_bad_json_is_400_with_a_parse_error(door: Door) -> None:
    async with door.probe() as http:
        answer = await http.request("POST", "/mcp", JSON_HEADERS, b"{nope")
        assert (answer.status, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32700, None)


async def test_one_server_alone_has_its_own_address(door: Door) -> None:
    async with door.probe() as http:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
        assert (await http.request("POST", "/servers/shop/mcp", JSON_HEADERS, body)).status == 200
        assert (await http.request("POST", "/servers/nope/mcp", JSON_HEADERS, body)).status == 404
    assert door.answerer.arrivals[0].target == "shop"


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ({"x-callgate-client-id": "me", "x-dbhub-client-id": "you", "user-agent": "ua"}, "me"),
        ({"x-dbhub-client-id": "you", "user-agent": "ua"}, "you"),
        ({"user-agent": "ua"}, "old/2"),
    ],
)
async def test_the_client_is_named_by_the_first_thing_known(
    door: Door, headers: dict[str, str], client: str
) -> None:
    async with door.probe() as http:
        await http.legacy(
            "initialize",
            INITIALIZE,
            rpc_id=1,
            **{name.replace("-", "_"): value for name, value in headers.items()},
        )
    assert door.answerer.arrivals[0].client == client


async def test_without_client_info_the_user_agent_then_the_address_names_the_client(door: Door) -> None:
    anonymous = {key: value for key, value in INITIALIZE.items() if key != "clientInfo"}
    async with door.probe() as http:
        await http.legacy("initialize", anonymous, user_agent="ua")
        await http.legacy("initialize", anonymous)
    assert [arrival.client for arrival in door.answerer.arrivals] == ["ua", "127.0.0.1"]
