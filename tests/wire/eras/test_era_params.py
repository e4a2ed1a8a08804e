"""The same params in the words of either era."""

import json

from callgate.model.envelope import Envelope, Era
from callgate.upstreams.link.handshake import initialize_params
from callgate.wire.eras.params import with_envelope, without_envelope, without_task

VERSION = "io.modelcontextprotocol/protocolVersion"
LEVEL = "io.modelcontextprotocol/logLevel"


def client(log_level: str | None = None) -> Envelope:
    return Envelope(
        Era.LEGACY,
        "2025-06-18",
        client_info=b'{"name":"a"}',
        capabilities=b'{"roots":{"listChanged":true}}',
        log_level=log_level,
    )


def test_a_legacy_request_gets_the_envelope_its_client_would_have_written() -> None:
    meta = json.loads(with_envelope(b'{"name":"x"}', client(log_level="warning")))["_meta"]
    assert meta[VERSION] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientInfo"] == {"name": "a"}
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {"listChanged": True}}
    assert meta[LEVEL] == "warning"


def test_what_was_in_meta_stays_beside_the_envelope() -> None:
    params = with_envelope(b'{"big":9007199254740993,"_meta":{"progressToken":"p","x-own":1.0}}', client())
    assert b'"big":9007199254740993' in params
    assert b'"x-own":1.0' in params
    assert json.loads(params)["_meta"]["progressToken"] == "p"


def test_a_modern_request_loses_its_envelope_and_nothing_else() -> None:
    own = b'{"z":1.0,"name":"x","_meta":{"progressToken":7,"traceparent":"00-a"},"a":9007199254740993}'
    modern = with_envelope(own, client(log_level="debug"))
    assert json.loads(without_envelope(modern)) == json.loads(own)
    assert b'"z":1.0' in without_envelope(modern)


def test_a_meta_of_nothing_but_the_envelope_goes_with_it() -> None:
    assert without_envelope(with_envelope(b'{"name":"x"}', None)) == b'{"name":"x"}'
    assert without_envelope(with_envelope(b"", None)) == b""


def test_params_that_only_mention_the_envelope_are_left_alone() -> None:
    said = b'{"arguments":{"text":"io.modelcontextprotocol/protocolVersion"}}'
    assert json.loads(without_envelope(said)) == json.loads(said)


def test_what_only_one_era_can_do_is_not_declared_in_the_other() -> None:
    legacy = Envelope(Era.LEGACY, "2025-11-25", capabilities=b'{"roots":{},"tasks":{"list":{}}}')
    meta = json.loads(with_envelope(b"", legacy))["_meta"]
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}
    modern = Envelope(Era.MODERN, "2026-07-28", capabilities=b'{"extensions":{"a/b":{}},"roots":{}}')
    assert json.loads(initialize_params(modern))["capabilities"] == {"roots": {}}


def test_a_task_of_the_handshake_era_does_not_cross() -> None:
    assert without_task(b'{"name":"a","task":{"ttl":1},"n":1.0}') == b'{"name":"a","n":1.0}'
    same = b'{"name":"a", "arguments":{"task":1.0}}'
    assert without_task(same) is same
