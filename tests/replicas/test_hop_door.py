"""The listener for replicas takes nothing that was not signed for it, now, and once."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from databases.database import Database
from edge.http_probe import JSON_HEADERS
from replicas.fleet import STATE_KEY, Fleet, running_fleet

from callgate.model.identity import LOCAL
from callgate.ports.peers import PassedRequest
from callgate.replicas.hop_seal import HopClaims, HopSeal, digest_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
PING = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(postgres: Database) -> AsyncIterator[Fleet]:
    async with running_fleet(postgres, count=2) as fleet:
        yield fleet


def hop_port(fleet: Fleet, at: int = 0) -> int:
    name = fleet.replicas[at].gateway
    ((address,),) = fleet.ask(f"SELECT address FROM callgate_replicas.replicas WHERE gateway = '{name}'")
    return int(address.rpartition(":")[2])


def signed(fleet: Fleet, session: str, *, body: bytes = PING, **changes: Any) -> tuple[str, PassedRequest]:
    headers = [*JSON_HEADERS.items(), ("mcp-session-id", session)]
    request = PassedRequest("POST", "/mcp", headers, body, LOCAL, "192.0.2.7")
    claims = {
        "sender": "AAAAAAAA",
        "to": fleet.replicas[0].gateway,
        "principal": "local",
        "peer": "192.0.2.7",
        "issued_at": time.time(),
        "nonce": secrets.token_urlsafe(12),
        "digest": digest_of(request),
    }
    key = changes.pop("key", STATE_KEY)
    return HopSeal(key.encode()).seal(HopClaims(**(claims | changes))), request


async def send(port: int, seal: str | None, request: PassedRequest) -> tuple[int, dict[str, Any]]:
    lines = [f"{name}: {value}" for name, value in request.headers]
    if seal is not None:
        lines.append(f"callgate-hop: {seal}")
    head = [f"{request.method} {request.path} HTTP/1.1", "host: x", "connection: close", *lines]
    head.append(f"content-length: {len(request.body)}\r\n\r\n")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join(head).encode() + request.body)
    answer = await reader.read()
    writer.close()
    body = answer.partition(b"\r\n\r\n")[2]
    return int(answer.split()[1]), json.loads(body) if body[:1] == b"{" else {}


async def test_a_signed_request_is_served_and_a_replay_is_not(fleet: Fleet) -> None:
    async with fleet.replicas[0].client() as client:
        seal, request = signed(fleet, client.session)
        status, body = await send(hop_port(fleet), seal, request)
        assert (status, "result" in body) == (200, True)
        status, body = await send(hop_port(fleet), seal, request)
        assert (status, body["code"]) == (403, "refused.hop")
        assert "came before" in body["detail"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": STATE_KEY[::-1]}, "not signed with the key"),
        ({"to": "BBBBBBBB"}, "for another replica"),
        ({"issued_at": time.time() - 3600}, "more than 60 s ago"),
        ({"issued_at": time.time() + 3600}, "more than 60 s ago"),
        ({"digest": "0" * 64}, "changed on its way"),
    ],
)
async def test_what_is_forged_old_or_for_another_is_refused(
    fleet: Fleet, changes: dict[str, Any], said: str
) -> None:
    async with fleet.replicas[0].client() as client:
        seal, request = signed(fleet, client.session, **changes)
        status, body = await send(hop_port(fleet), seal, request)
        assert (status, body["code"]) == (403, "refused.hop")
        assert said in body["detail"]


async def test_on_a_connection_that_was_used_before_the_same_is_refused(fleet: Fleet) -> None:
    """A head that came before is not read again; its signature is."""
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"counter__count"}}'
    async with fleet.replicas[0].client() as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", hop_port(fleet))

        async def answer(seal: str, request: PassedRequest) -> tuple[int, Any]:
            own = f"callgate-hop: {seal}\r\ncontent-length: {len(request.body)}\r\nhost: x\r\n"
            writer.write(f"POST /mcp HTTP/1.1\r\n{own}".encode() + request.head.lines + request.body)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            return int(head.split()[1]), json.loads(await reader.readexactly(length))

        seal, request = "", None
        for index in range(1, 4):
            seal, request = signed(fleet, client.session, body=call % index)
            status, body = await answer(seal, request)
            assert (status, body["id"]) == (200, index)
            assert body["result"]["content"][0]["text"].startswith(f"{index} ")
        assert request is not None
        bad: list[tuple[str, PassedRequest]] = [
            (seal, request),
            signed(fleet, client.session, body=call % 4, key=STATE_KEY[::-1]),
            signed(fleet, client.session, body=call % 4, to="BBBBBBBB"),
            signed(fleet, client.session, body=call % 4, issued_at=time.time() - 61),
            (signed(fleet, client.session, body=call % 4)[0], request),
        ]
        for seal, request in bad:
            status, body = await answer(seal, request)
            assert (status, body["code"]) == (403, "refused.hop")
        status, body = await answer(*signed(fleet, client.session, body=call % 5, principal="mallory"))
        assert (status, body["error"]["data"]["code"]) == (404, "caller.unknown_session")
        status, body = await answer(*signed(fleet, client.session, body=call % 6))
        assert body["result"]["content"][0]["text"].startswith("4 ")
        writer.close()


async def test_a_changed_request_is_refused(fleet: Fleet) -> None:
    async with fleet.replicas[0].client() as client:
        for change in ("body", "header", "path"):
            seal, request = signed(fleet, client.session)
            headers = [*request.headers, ("x-callgate-workspace", "elsewhere")]
            changed = {
                "body": PassedRequest("POST", "/mcp", request.headers, PING + b" ", LOCAL, None),
                "header": PassedRequest("POST", "/mcp", headers, PING, LOCAL, None),
                "path": PassedRequest("POST", "/servers/counter/mcp", request.headers, PING, LOCAL, None),
            }[change]
            status, body = await send(hop_port(fleet), seal, changed)
            assert (status, body["code"]) == (403, "refused.hop"), change


async def test_without_a_signature_nothing_is_served_not_even_the_page(fleet: Fleet) -> None:
    for path in ("/mcp", "/", "/healthz", "/api/v1/about", "/metrics"):
        request = PassedRequest("GET", path, [], b"", LOCAL, None)
        status, body = await send(hop_port(fleet), None, request)
        assert (status, body["code"]) == (403, "refused.hop"), path
    for junk in ("x", "." * 5000, "a.b.c", "é"):
        request = PassedRequest("POST", "/mcp", list(JSON_HEADERS.items()), PING, LOCAL, None)
        status, _ = await send(hop_port(fleet), junk, request)
        assert status == 403


async def test_a_signed_request_reaches_no_page_of_the_gateway(fleet: Fleet) -> None:
    request = PassedRequest("GET", "/api/v1/about", [], b"", LOCAL, None)
    seal, _ = signed(fleet, "", digest=digest_of(request))
    status, body = await send(hop_port(fleet), seal, request)
    assert (status, body["code"]) == (403, "refused.hop")


async def test_a_second_hop_is_refused(fleet: Fleet) -> None:
    async with fleet.replicas[1].client() as client:
        seal, request = signed(fleet, client.session)
        status, body = await send(hop_port(fleet), seal, request)
        assert status == 403
        assert body["error"]["data"]["code"] == "refused.hop"


async def test_a_session_of_somebody_else_is_unknown_to_a_signed_request_too(fleet: Fleet) -> None:
    async with fleet.replicas[0].client() as client:
        seal, request = signed(fleet, client.session, principal="mallory")
        status, body = await send(hop_port(fleet), seal, request)
        assert status == 404
        assert body["error"]["data"]["code"] == "caller.unknown_session"
