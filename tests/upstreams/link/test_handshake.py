"""What is said to get to know an upstream, and how its answer is read."""

import json

import pytest

from callgate.model.envelope import Envelope, Era
from callgate.model.errors import UpstreamError
from callgate.upstreams.link.handshake import (
    discover_params,
    initialize_params,
    is_modern_evidence,
    read_discover,
    read_initialize,
)
from callgate.wire.eras.params import meta_of
from callgate.wire.fault_of import read_fault

VERSION = "io.modelcontextprotocol/protocolVersion"
INFO = "io.modelcontextprotocol/clientInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def client(era: Era = Era.LEGACY, revision: str = "2025-06-18") -> Envelope:
    return Envelope(
        era,
        revision,
        "fancy",
        "1",
        client_info=b'{"version":"1","name":"fancy","x-own":1.0}',
        capabilities=b'{"sampling":{},"x-own":9007199254740993}',
    )


def test_a_shared_connection_declares_nothing_and_says_who_we_are() -> None:
    said = json.loads(initialize_params(None))
    assert said["capabilities"] == {}
    assert said["clientInfo"]["name"] == "callgate"
    assert said["protocolVersion"] == "2025-11-25"


def test_a_connection_of_one_client_says_exactly_what_the_client_said() -> None:
    said = initialize_params(client())
    assert b'"capabilities":{"sampling":{},"x-own":9007199254740993}' in said
    assert b'"clientInfo":{"version":"1","name":"fancy","x-own":1.0}' in said
    assert json.loads(said)["protocolVersion"] == "2025-06-18"


def test_a_client_that_gave_no_name_is_introduced_as_us() -> None:
    said = json.loads(initialize_params(Envelope(Era.LEGACY, "2025-11-25")))
    assert said["clientInfo"]["name"] == "callgate"


def test_the_probe_carries_a_whole_envelope() -> None:
    meta = json.loads(discover_params())["_meta"]
    assert meta[VERSION] == "2026-07-28"
    assert meta[CAPABILITIES] == {}
    assert meta[INFO]["name"] == "callgate"


def test_an_envelope_for_a_client_repeats_its_own_bytes() -> None:
    meta = meta_of(client(Era.MODERN, "2026-07-28"))
    assert b'{"sampling":{},"x-own":9007199254740993}' in meta
    assert b'{"version":"1","name":"fancy","x-own":1.0}' in meta


@pytest.mark.parametrize(
    ("error", "is_modern"),
    [
        (b'{"code":-32020,"message":""}', True),
        (b'{"code":-32021,"message":""}', True),
        (b'{"code":-32022,"message":"","data":{"supported":["2027-01-01"]}}', True),
        (b'{"code":-32601,"message":"Method not found"}', False),
        (b'{"code":-32602,"message":""}', False),
        (b'{"code":-32000,"message":"Server not initialized"}', False),
        (b'{"code":"-32022"}', False),
        (b"5", False),
        (b"{}", False),
    ],
)
def test_only_the_errors_of_the_modern_era_are_evidence_of_it(error: bytes, is_modern: bool) -> None:
    assert is_modern_evidence(read_fault(error)) is is_modern


def test_a_discover_answer_introduces_a_modern_server() -> None:
    result = json.dumps(
        {
            "supportedVersions": ["2025-11-25", "2026-07-28"],
            "capabilities": {"tools": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "v"}},
        }
    ).encode()
    introduction = read_discover(result)
    assert introduction is not None
    assert (introduction.era, introduction.revision) == (Era.MODERN, "2026-07-28")
    assert (introduction.server_name, introduction.server_version) == ("n", "v")
    assert introduction.result == result


@pytest.mark.parametrize(
    "result",
    [
        b"{}",
        b"[]",
        b"null",
        b'"x"',
        b'{"supportedVersions":["2099-01-01"]}',
        b'{"supportedVersions":"2026-07-28"}',
        b'{"supportedVersions":[]}',
    ],
)
def test_anything_else_is_no_answer_of_a_modern_server_we_could_speak_with(result: bytes) -> None:
    assert read_discover(result) is None


def test_a_server_whose_names_are_odd_is_still_introduced() -> None:
    """A name is for people; that it is missing or no text is no reason not to serve."""
    for info in (b"{}", b'{"name":null}', b'{"name":5}', b"[]", b'"x"'):
        legacy = b'{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":%b}' % info
        assert read_initialize("odd", legacy).server_name is None
        modern = b'{"supportedVersions":["2026-07-28"],"_meta":{"io.modelcontextprotocol/serverInfo":%b}}'
        assert read_discover(modern % info) is not None


@pytest.mark.parametrize(
    "result", [b"{}", b"[]", b"null", b'{"protocolVersion":5}', b'{"protocolVersion":"1999-01-01"}']
)
def test_an_initialize_answer_that_is_none_is_the_upstreams_failure(result: bytes) -> None:
    with pytest.raises(UpstreamError) as caught:
        read_initialize("odd", result)
    assert caught.value.code.code == "upstream.failed"
    assert "odd" in caught.value.message
