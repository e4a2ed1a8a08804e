"""Hops whose head came before are taken without a parser: nothing is taken so that the gate would refuse."""

import time
from typing import Any

import pytest

from callgate.edge.hop_listener import KnownHops
from callgate.edge.http.message import HttpRequest
from callgate.model.identity import Principal
from callgate.ports.peers import PassedRequest
from callgate.replicas.hop_gate import SignedHopGate
from callgate.replicas.hop_seal import HopClaims, HopSeal, digest_of

KEY = b"0123456789abcdef0123456789abcdef"
ANN = Principal("ann")
HEADERS = [("content-type", "application/json"), ("mcp-session-id", "one")]
PASSED = PassedRequest("POST", "/mcp", HEADERS, b'{"id":1}', ANN, "192.0.2.7")


class Door:
    """A home that has served one request of Ann's."""

    def __init__(self) -> None:
        self.hops = KnownHops(SignedHopGate(HopSeal(KEY), "HOMEhome"))
        request = HttpRequest("POST", "/mcp", "/mcp", HEADERS, dict(HEADERS), "192.0.2.7", principal=ANN)
        self.hops.learn(PASSED.head.signed, request)
        self.count = 0

    def sent(self, passed: PassedRequest = PASSED, key: bytes = KEY, **changes: Any) -> bytes:
        """As another replica sends it."""
        self.count += 1
        claims = {
            "sender": "OTHERone",
            "to": "HOMEhome",
            "principal": passed.principal.name,
            "peer": passed.peer,
            "issued_at": time.time(),
            "nonce": f"nonce-{self.count}",
            "digest": digest_of(passed),
        }
        seal = HopSeal(key).seal(HopClaims(**(claims | changes)))
        own = f"callgate-hop: {seal}\r\ncontent-length: {len(passed.body)}\r\nhost: h:1\r\n"
        return b"POST /mcp HTTP/1.1\r\n" + own.encode() + passed.head.lines + passed.body


@pytest.fixture
def door() -> Door:
    return Door()


def test_a_head_that_came_before_is_known_whatever_its_body_is(door: Door) -> None:
    for body in (b'{"id":1}', b'{"id":22}'):
        found = door.hops.request(door.sent(PassedRequest("POST", "/mcp", HEADERS, body, ANN, "192.0.2.7")))
        assert found is not None
        assert (found.body, found.principal, found.peer, found.hop is not None) == (
            body,
            ANN,
            "192.0.2.7",
            True,
        )


def test_it_is_taken_once(door: Door) -> None:
    data = door.sent()
    assert door.hops.request(data) is not None
    assert door.hops.request(data) is None
    assert door.hops.request(door.sent(nonce="nonce-1")) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"key": KEY[::-1]},
        {"to": "BBBBBBBB"},
        {"issued_at": 1.0},
        {"issued_at": 9e9},
        {"digest": "0" * 64},
        {"digest": digest_of(PassedRequest("POST", "/mcp", HEADERS, b'{"id":2}', ANN, "192.0.2.7"))},
        {"principal": "mallory"},
        {"peer": "192.0.2.8"},
        {"peer": None},
    ],
)
def test_what_was_not_signed_for_us_now_and_for_this_client_is_left_to_the_gate(
    door: Door, changes: dict[str, Any]
) -> None:
    assert door.hops.request(door.sent(**changes)) is None
    assert door.hops.request(door.sent(nonce=f"nonce-{door.count}")) is not None, "nothing was noted of it"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'{"id":1}', b'{"id":2}'),
        (b'{"id":1}', b'{"id":1}POST /mcp HTTP/1.1\r\n'),
        (b'{"id":1}', b'{"id":1'),
        (b"session-id: one", b"session-id: two"),
        (b"mcp-session-id: one", b"mcp-session-id: one\r\nx-more: 1"),
        (b"mcp-session-id: one", b"mcp-session-id: one\r\ntransfer-encoding: chunked"),
        (b"content-length: 8\r\n", b"content-length: 8\r\ncontent-length: 8\r\n"),
        (b"content-length: 8\r\n", b"content-length: +8\r\n"),
        (b"POST /mcp ", b"POST /servers/a/mcp "),
        (b"POST /mcp ", b"GET /mcp "),
        (b"HTTP/1.1", b"HTTP/1.0"),
        (b"host: h:1\r\n", b""),
        (b"host: h:1\r\n", b"host: h:1\r\nconnection: close\r\n"),
    ],
)
def test_a_request_that_is_not_byte_for_byte_like_the_one_before_is_left_to_the_parser(
    door: Door, old: bytes, new: bytes
) -> None:
    data = door.sent()
    assert data.count(old) == 1
    assert door.hops.request(data.replace(old, new)) is None
    assert door.hops.request(data) is not None


def test_a_long_head_is_not_remembered_and_the_oldest_of_many_is_forgotten(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.edge.hop_listener._MAX_KNOWN", 2)
    for name in ("two", "three", "x" * 5000):
        headers = [("mcp-session-id", name)]
        passed = PassedRequest("POST", "/mcp", headers, b"{}", ANN, None)
        door.hops.learn(passed.head.signed, HttpRequest("POST", "/mcp", "/mcp", [], {}, None, principal=ANN))
        assert (door.hops.request(door.sent(passed)) is not None) is (len(name) < 10)
    assert door.hops.request(door.sent()) is None
