"""Results in the shape of the client's era."""

import json

import pytest

from callgate.wire.params import with_member
from callgate.wire.result_shape import to_modern


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
