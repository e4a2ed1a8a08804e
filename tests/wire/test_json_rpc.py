"""The envelope codec: what goes in raw comes out raw."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.model.reply import Reply, RpcFault
from callgate.wire.json_rpc import (
    Notification,
    Request,
    Response,
    Unreadable,
    decode,
    decode_call,
    encode_fault,
    encode_notification,
    encode_reply,
    encode_request,
    result_in,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_a_request_keeps_the_exact_bytes_of_its_id_and_params() -> None:
    frame = (
        b'{"jsonrpc":"2.0","id":12345678901234567890123,"method":"x/y","params":{ "b": 1.00, "a":"\\u00e9"}}'
    )
    assert decode(frame) == Request(
        rpc_id=b"12345678901234567890123", method="x/y", params=b'{ "b": 1.00, "a":"\\u00e9"}'
    )


_odd = st.sampled_from(
    [
        b"0", b"-0", b"-7", b"7.0", b"7e0", b"12345678901234567890123", b'"7"', b'"a"', b"null", b"true",
        b"[]", b"{}", b'{"a":1}', b' { "b" : 1.0 } ', b'"2.0"', b'"2\\u002e0"', b'"1.0"', b'"tools/call"',
        b'"tools\\/call"', b'"x"', b'{"\xc3\xa9":1}', b'{"\xff":1}', b"{", b"007",
    ]
)  # fmt: skip
_members = st.lists(
    st.tuples(st.sampled_from([b"jsonrpc", b"id", b"method", b"params", b"result", b"error", b"x"]), _odd),
    max_size=3,
)
_usual = st.sampled_from(
    [
        [(b"jsonrpc", b'"2.0"'), (b"id", b"7"), (b"method", b'"tools/call"'), (b"params", b'{"name":"a"}')],
        [(b"jsonrpc", b'"2.0"'), (b"id", b"7"), (b"result", b'{"content":[]}')],
        [],
    ]
)


@given(_usual, _members, st.booleans())
def test_what_is_read_in_the_short_way_is_what_the_long_way_reads(
    usual: list[tuple[bytes, bytes]], further: list[tuple[bytes, bytes]], is_first: bool
) -> None:
    members = further + usual if is_first else usual + further
    frame = b"{" + b",".join(b'"%b":%b' % member for member in members) + b"}"
    message = decode(frame)
    again = decode_call(frame)
    assert again == message or (isinstance(again, Unreadable) and isinstance(message, Unreadable))
    if (read := result_in(frame)) is not None:
        assert isinstance(message, Response)
        assert (str(read.id).encode(), bytes(read.result)) == (
            message.rpc_id.replace(b"-0", b"0"),
            message.result,
        )
    if not further and usual:
        assert (result_in(frame) is None) is (usual[-1][0] == b"params")


def test_a_message_without_an_id_is_a_notification() -> None:
    assert decode(b'{"jsonrpc":"2.0","method":"n"}') == Notification("n", b"")


def test_a_result_and_an_error_are_responses() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":"a","result":{}}') == Response(b'"a"', b"{}", None)
    assert decode(b'{"jsonrpc":"2.0","id":-7,"error":{"code":1}}') == Response(b"-7", None, b'{"code":1}')


@pytest.mark.parametrize(
    ("frame", "rpc_id", "code"),
    [
        (b"", None, "caller.bad_json"),
        (b"{", None, "caller.bad_json"),
        (b"\xff\xfe", None, "caller.bad_json"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xff"}}', None, "caller.bad_json"),
        (b"[]", None, "caller.malformed"),
        (b"42", None, "caller.malformed"),
        (b'{"id":1,"method":"m"}', b"1", "caller.malformed"),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', b"1", "caller.malformed"),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', None, "caller.malformed"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', None, "caller.malformed"),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', None, "caller.malformed"),
        (b'{"jsonrpc":"2.0","id":1,"method":2}', b"1", "caller.malformed"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}', b"1", "caller.malformed"),
        (b'{"jsonrpc":"2.0","id":1}', b"1", "caller.malformed"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', b"1", "caller.malformed"),
        (b'{"jsonrpc":"2.0","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}", None, "caller.bad_json"),
    ],
)
def test_what_cannot_be_acted_on_says_why_and_keeps_a_readable_id(
    frame: bytes, rpc_id: bytes | None, code: str
) -> None:
    unreadable = decode(frame)
    assert isinstance(unreadable, Unreadable)
    assert (unreadable.rpc_id, unreadable.error.code.code) == (rpc_id, code)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_decoder_raise(frame: bytes) -> None:
    decode(frame)


# Escaped, a character takes at most 12 bytes; an id may have 1,024.
@given(
    rpc_id=st.integers() | st.text(max_size=80),
    method=st.text(),
    params=st.dictionaries(st.text(), json_values),
)
def test_a_request_survives_encoding_and_decoding(rpc_id: int | str, method: str, params: object) -> None:
    raw_id, raw_params = json.dumps(rpc_id).encode(), json.dumps(params).encode()
    assert decode(encode_request(raw_id, method, raw_params)) == Request(raw_id, method, raw_params)
    assert decode(encode_notification(method, raw_params)) == Notification(method, raw_params)


@given(json_values)
def test_a_result_is_passed_byte_for_byte(value: object) -> None:
    raw = json.dumps(value, indent=1).encode()
    assert decode(encode_reply(b"1", Reply(result=raw))) == Response(b"1", raw, None)


@given(code=st.integers(-40_000, 0), message=st.text(alphabet=string.printable))
def test_a_fault_reads_back_as_json(code: int, message: str) -> None:
    frame = json.loads(encode_fault(None, RpcFault(code, message, {"x": 1})))
    assert frame == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": code, "message": message, "data": {"x": 1}},
    }
