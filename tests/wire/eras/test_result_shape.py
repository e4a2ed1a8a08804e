"""Results in the shape of the client's era."""

import json

import pytest

from callgate.model.envelope import Era
from callgate.model.offers import OfferKind
from callgate.wire.eras.result_shape import CACHEABLE_METHODS, definition_across, to_modern, without_other_era
from callgate.wire.params import with_member


@pytest.mark.parametrize("raw", [b"{}", b" { } ", b'{"tools":[]}', b'{\n"tools": [1.00]}'])
def test_a_legacy_list_gains_what_the_modern_era_requires(raw: bytes) -> None:
    shaped = json.loads(to_modern(raw, "tools/list"))
    assert shaped == json.loads(raw) | {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def test_what_an_upstream_said_is_left_alone() -> None:
    raw = b'{"resultType":"input_required","inputRequests":{}}'
    assert to_modern(raw, "tools/call") == raw


def test_a_call_result_gets_no_cache_hints_and_keeps_its_bytes() -> None:
    assert (
        to_modern(b'{"content":[], "x":1.00}', "tools/call")
        == b'{"resultType":"complete","content":[], "x":1.00}'
    )


def test_replacing_one_member_keeps_the_others_bytes_and_order() -> None:
    raw = b'{"z": 1.000, "name":"a", "big":123456789012345678901234567890}'
    assert with_member(raw, "name", b'"b"') == b'{"z":1.000,"name":"b","big":123456789012345678901234567890}'
    assert with_member(b"", "name", b'"b"') == b'{"name":"b"}'


SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK = "io.modelcontextprotocol/related-task"
METHODS = sorted({*CACHEABLE_METHODS, "tools/call", "prompts/get", "completion/complete", "own/method"})


@pytest.mark.parametrize("method", METHODS)
def test_nothing_of_the_modern_era_is_left_in_a_result_for_the_handshake_era(method: str) -> None:
    said = {
        "own": 1,
        "resultType": "complete",
        "_meta": {SERVER_INFO: {"name": "x"}, SUBSCRIPTION: 7, "a/b": 1},
    }
    hints = {"ttlMs": 5, "cacheScope": "public"}
    result = json.loads(without_other_era(json.dumps(said | hints).encode(), method, Era.LEGACY))
    expected = {"own": 1, "_meta": {"a/b": 1}}
    # Of a method that has no such hints these are the server's own members.
    assert result == (expected if method in CACHEABLE_METHODS else expected | hints)


@pytest.mark.parametrize("key", ['"resultType"', '"\\u0072esultType"'])
def test_however_a_member_is_spelled_it_does_not_cross(key: str) -> None:
    raw = (
        b'{%b:"complete","content":[],"_meta":{"\\u0069o.modelcontextprotocol\\/serverInfo":{}}}'
        % key.encode()
    )
    assert json.loads(without_other_era(raw, "tools/call", Era.LEGACY)) == {"content": []}


def test_nothing_of_the_handshake_era_is_left_in_a_result_for_the_modern_one() -> None:
    raw = json.dumps({"content": [], "_meta": {RELATED_TASK: {"taskId": "1"}}}).encode()
    assert json.loads(without_other_era(raw, "tools/call", Era.MODERN)) == {"content": []}
    same = b'{"content":[],"ttlMs":1, "_meta":{"a":1.0}}'
    assert without_other_era(same, "tools/call", Era.MODERN) is same


def test_a_result_without_anything_of_the_other_era_keeps_its_bytes() -> None:
    same = b'{"content":[ ],"structuredContent":{"resultType":"complete", "a":1.0}}'
    assert without_other_era(same, "tools/call", Era.LEGACY) is same
    odd = b'{"resultType":"complete","\\ud800":1}'
    assert without_other_era(odd, "tools/call", Era.LEGACY) is odd


def test_legacy_clients_get_no_structured_content_that_they_would_refuse() -> None:
    raw = b'{"content":[],"structuredContent":[1]}'
    assert json.loads(without_other_era(raw, "tools/call", Era.LEGACY)) == {"content": []}


@pytest.mark.parametrize(
    ("written_in", "tool", "across"),
    [
        (Era.MODERN, {"name": "a", "outputSchema": {"type": "object"}}, None),
        (Era.MODERN, {"name": "a", "outputSchema": {"type": "array"}}, {"name": "a"}),
        (Era.MODERN, {"name": "a", "outputSchema": True}, {"name": "a"}),
        (Era.MODERN, {"name": "a", "execution": {"own": 1}}, None),
        (Era.LEGACY, {"name": "a", "execution": {"taskSupport": "required"}}, {"name": "a"}),
        (Era.LEGACY, {"name": "a", "outputSchema": {"type": "array"}}, None),
        (None, {"name": "a", "execution": {}, "outputSchema": 1}, None),
    ],
)
def test_a_tool_for_clients_of_the_other_era(written_in: Era | None, tool: object, across: object) -> None:
    told = definition_across(OfferKind.TOOL, json.dumps(tool).encode(), written_in)
    assert (None if told is None else json.loads(told)) == across
