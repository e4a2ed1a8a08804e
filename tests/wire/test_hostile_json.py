"""JSON that is made to cost: nested, wide, repeated. Work is bounded by memory, never by time."""

import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate.model.errors import CallerError
from callgate.wire.connection.conversation import Conversation, IncomingRequest, Refuse
from callgate.wire.connection.events import Event, Garbage
from callgate.wire.connection.incoming import Incoming
from callgate.wire.connection.request_table import RequestTable
from callgate.wire.eras.envelopes import legacy_envelope, read_initialize, read_modern
from callgate.wire.json_rpc import MAX_BATCH, MAX_ID_BYTES, Request, Unreadable, decode, decode_batch
from callgate.wire.params import call_params, members_decoder, peek, put_our_token, renaming, with_member

WIDE = b",".join(b'"%x":0' % number for number in range(300_000))  # 3.2 MB


def _peak_bytes(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _refused(work: Callable[[], Any]) -> CallerError:
    with pytest.raises(CallerError) as caught:
        work()
    return caught.value


# ---- batches


@pytest.mark.parametrize("element", [b"0", b"{}", b"[]", b'""'])
def test_a_batch_of_too_many_is_refused_before_its_elements_are_read(element: bytes) -> None:
    bomb = b"[" + (element + b",") * 1_000_000 + element + b"]"
    caught: list[CallerError] = []
    peak = _peak_bytes(lambda: caught.append(_refused(lambda: decode_batch(bomb))))
    assert caught[0].code.code == "caller.too_large"
    assert peak < 200_000


def test_a_batch_of_as_many_as_may_be_is_read() -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"x"}'
    for count in (1, MAX_BATCH):
        messages = decode_batch(b"[" + b",".join([call] * count) + b"]")
        assert messages == [Request(b"1", "x", b"")] * count
    assert decode_batch(b"[]") == []
    assert decode_batch(b"[" * 100_000) == []
    assert decode_batch(b"[1,") == []


def test_a_batch_of_a_server_has_the_same_limit() -> None:
    incoming = Incoming(RequestTable())
    bomb = b"[" + b"0," * 1_000_000 + b"0]"
    said: list[Event] = []
    assert _peak_bytes(lambda: said.extend(incoming.read(bomb, decode(bomb), None, 0.0))) < 200_000
    [event] = said
    assert isinstance(event, Garbage)


# ---- nesting


@pytest.mark.parametrize("depth", [*range(850, 1000), 100_000])
@pytest.mark.parametrize("form", [b'{"_meta":%b}', b'{"a":%b}', b'{"_meta":{"progressToken":1,"x":%b}}'])
def test_nesting_of_any_depth_is_read_or_refused_and_never_a_bug(form: bytes, depth: int) -> None:
    params = form % (b"[" * depth + b"]" * depth)
    frame = b'{"jsonrpc":"2.0","id":1,"method":"x","params":%b}\n' % params
    conversation = Conversation()
    assert len(conversation.receive(frame)) == 1
    assert len(Incoming(RequestTable()).read(frame, decode(frame), None, 0.0)) == 1
    message = decode(frame)
    if isinstance(message, Unreadable):
        assert message.error.code.code == "caller.bad_json"
    for work in (
        lambda: put_our_token(params, 1),
        lambda: with_member(params, "b", b"1"),
        lambda: peek(params),
    ):
        with suppress(CallerError):
            _deeper(40, work)


def _deeper(frames: int, work: Callable[[], Any]) -> None:
    """Later readers stand deeper in the stack than the first."""
    if frames:
        _deeper(frames - 1, work)
    else:
        work()


# ---- width


def test_one_member_of_a_wide_object_is_not_replaced_at_the_cost_of_all() -> None:
    params = b'{"name":"a",%b}' % WIDE
    caught: list[CallerError] = []
    peak = _peak_bytes(lambda: caught.append(_refused(lambda: with_member(params, "name", b'"b"'))))
    assert caught[0].code.code == "caller.too_large"
    assert peak < 200_000


def test_one_large_member_is_no_wide_object() -> None:
    params = b'{"name":"a","arguments":{%b}}' % WIDE
    assert with_member(params, "name", b'"b"') == params.replace(b'"name":"a"', b'"name":"b"')


def test_a_wide_meta_is_refused_in_both_eras() -> None:
    params = b'{"_meta":{"progressToken":1,%b}}' % WIDE
    envelope = read_initialize(b'{"protocolVersion":"2025-11-25"}')
    for read in (lambda: read_modern(peek(params)), lambda: legacy_envelope(envelope, peek(params))):
        assert _refused(read).code.code == "caller.too_large"


def test_a_wide_handshake_costs_nothing_but_reading_it() -> None:
    params = b'{"protocolVersion":"2025-11-25","clientInfo":{"name":"n",%b},%b}' % (WIDE, WIDE)
    assert _peak_bytes(lambda: read_initialize(params)) < len(params)  # as objects it takes ten times that
    assert read_initialize(params).client_name == "n"


def test_a_handshake_with_a_key_that_is_no_text_is_refused() -> None:
    error = _refused(lambda: read_initialize(b'{"\\ud800":1,"protocolVersion":"2025-11-25"}'))
    assert error.code.code == "caller.bad_params"


# ---- ids


@pytest.mark.parametrize("rpc_id", [b'"%b"' % (b"i" * MAX_ID_BYTES), b"1" * (MAX_ID_BYTES + 1)])
def test_an_id_has_a_length(rpc_id: bytes) -> None:
    message = decode(b'{"jsonrpc":"2.0","id":%b,"method":"x"}' % rpc_id)
    assert isinstance(message, Unreadable)
    assert message.rpc_id is None
    assert str(MAX_ID_BYTES) in message.error.message


def test_of_a_member_that_comes_twice_the_last_is_judged_and_it_alone_is_passed_on() -> None:
    params = b'{"name":"harmless","name":"other"}'
    assert bytes(peek(params).name) == b'"other"'
    assert with_member(params, "name", b'"native"') == b'{"name":"native"}'
    assert renaming("other", "native").of(params) == b'{"name":"native"}'


@pytest.mark.parametrize(
    ("params", "name"),
    [
        (b'{"name":"a"}', "a"),
        (b'{"name":"a","arguments":{"name":"b","text":"\\n"}}', "a"),
        (b'{"name":"a","arguments":{"text":"\\n"}}', "a"),
        (b'{"name":"a","na\\u006de":"b"}', "b"),
        (b'{"name":"a\\"b","arguments":{}}', 'a"b'),
        (b'{"name":"a\\\\","arguments":{}}', "a\\"),
        (b'{"name":"a\\u0022","arguments":{}}', 'a"'),
        (b'{"arguments":{},"name":"a"}', "a"),
        (b'{"name":"","_meta":{"x":1}}', ""),
    ],
)
def test_a_name_is_replaced_as_any_member_whatever_stands_around_it(params: bytes, name: str) -> None:
    read = call_params(params)
    assert read is not None
    assert read.name == name
    renamed = renaming(name, "native").of(params)
    assert renamed == with_member(params, "name", b'"native"')
    read = call_params(renamed)
    assert read is not None
    assert read.name == "native"


_KEYS = ['"name"', '"na\\u006de"', '"x"', '"_meta"', '"arguments"', '"a\\"name"']
_VALUES = [
    '"a"', '"\\u0061"', '"name"', '"name\\""', '"\\"name"', '"b"', "7", '{"name":"a"}', '["name","a"]',
    '"\\\\"', '{"x":{"name" : "a"}}',
]  # fmt: skip
_MEMBERS = st.builds(
    "".join,
    st.tuples(st.sampled_from(_KEYS), st.sampled_from([":", " :", ": "]), st.sampled_from(_VALUES)),
)


@given(st.lists(_MEMBERS, max_size=3), st.lists(_MEMBERS, max_size=3))
@settings(max_examples=examples(500))
def test_of_whatever_stands_in_params_only_the_name_is_replaced(before: list[str], behind: list[str]) -> None:
    params = "{" + ",".join([*before, '"name":"a"', *behind]) + "}"
    read = call_params(params.encode())
    if read is None:
        return  # another "name" behind it is no text
    renamed = renaming(read.name, "native").of(params.encode())
    whole = with_member(params.encode(), "name", b'"native"')
    assert members_decoder.decode(renamed) == members_decoder.decode(whole)
    assert [key for key, _ in json.loads(renamed, object_pairs_hook=list)].count("name") == 1


@pytest.mark.parametrize("params", [b'{"name":1}', b""])
def test_a_name_is_put_where_there_was_none(params: bytes) -> None:
    assert renaming("a", "native").of(params) == b'{"name":"native"}'


def test_what_is_held_while_the_handshake_is_answered_has_a_limit() -> None:
    conversation = Conversation()
    (asked,) = conversation.receive(
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
    )
    flood = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"x"}\n' % number for number in range(1, 1501))
    refused = conversation.receive(flood)
    assert len(refused) == 500
    assert all(isinstance(event, Refuse) for event in refused)
    assert isinstance(asked, IncomingRequest)
    assert len(conversation.handshake_done(asked.envelope)) == 1000


def test_what_is_held_is_bounded_in_bytes_too() -> None:
    conversation = Conversation()
    conversation.receive(
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
    )
    large = b'{"jsonrpc":"2.0","id":%d,"method":"x","params":{"a":"' + b"z" * 4_000_000 + b'"}}\n'
    assert [len(conversation.receive(large % number)) for number in range(1, 7)] == [0, 0, 0, 0, 1, 1]
