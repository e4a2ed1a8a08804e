"""Who a server is, in the words of the other era."""

import json

from callgate.wire.eras.capabilities import discover_of, initialize_of

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "tasks": {"list": {}}},
    "serverInfo": {"name": "old", "version": "1"},
    "instructions": "Be kind.",
    "_meta": {"x-own": 1},
}


def test_a_handshake_becomes_a_discovery_without_what_the_modern_era_lacks() -> None:
    said = json.loads(discover_of(json.dumps(INITIALIZE).encode()))
    assert said["resultType"] == "complete"
    assert said["supportedVersions"] == ["2026-07-28"]
    assert said["capabilities"] == {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
    assert said["instructions"] == "Be kind."
    assert said["_meta"] == {
        "x-own": 1,
        "io.modelcontextprotocol/serverInfo": {"name": "old", "version": "1"},
    }
    assert (said["ttlMs"], said["cacheScope"]) == (0, "private")


def test_there_and_back_a_server_is_the_same() -> None:
    back = json.loads(initialize_of(discover_of(json.dumps(INITIALIZE).encode())))
    for member in ("serverInfo", "instructions", "_meta"):
        assert back[member] == INITIALIZE[member]
    assert back["protocolVersion"] == "2025-11-25"


def test_a_server_that_says_nothing_of_itself_still_has_a_name_for_legacy_clients() -> None:
    said = json.loads(initialize_of(b'{"supportedVersions":["2026-07-28"],"capabilities":{}}'))
    assert said["serverInfo"]["name"]
    assert said["capabilities"] == {}


def test_odd_members_are_read_as_missing() -> None:
    said = json.loads(discover_of(b'{"protocolVersion":"2025-06-18","capabilities":7,"_meta":"x"}'))
    assert said["capabilities"] == {}
    assert said["_meta"] == {}
