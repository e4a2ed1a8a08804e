"""The result that asks for input, and the retry that brings it."""

import json

import pytest

from callgate.wire.eras.input_required import (
    first_params,
    read_input_required,
    read_retry,
    request_digest,
    retry_params,
)

RESULT = (
    b'{"resultType":"input_required","requestState":"s\\u0020t","inputRequests":'
    b'{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{"n":1.0}}}}'
)


def test_questions_keep_their_bytes() -> None:
    required = read_input_required(RESULT)
    assert required is not None
    assert list(required.inputRequests) == ["a", "b"]
    assert bytes(required.inputRequests["b"].params) == b'{"n":1.0}'


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[{"type":"text","text":"input_required"}]}',
        b'{"resultType":"complete","x":"input_required"}',
        b'{"resultType":"input_required","inputRequests":7}',
        b'{"resultType":["input_required"]}',
    ],
)
def test_what_only_looks_like_it_is_an_ordinary_result(result: bytes) -> None:
    assert read_input_required(result) is None


def test_the_retry_carries_the_exact_state_and_the_answers_as_they_came() -> None:
    required = read_input_required(RESULT)
    assert required is not None
    params = retry_params(b'{"name":"x","requestState":"old"}', {"a": b'{"roots":[1.0]}'}, required)
    assert b'"requestState":"s\\u0020t"' in params
    assert b'{"roots":[1.0]}' in params
    assert json.loads(first_params(params)) == {"name": "x"}


def test_a_state_that_was_not_given_is_not_sent() -> None:
    required = read_input_required(b'{"resultType":"input_required","inputRequests":{}}')
    assert required is not None
    assert "requestState" not in json.loads(retry_params(b"{}", {}, required))


@pytest.mark.parametrize(
    "params",
    [b"", b"{}", b'{"arguments":{"requestState":"x"}}', b'{"requestState":7}', b'{"requestState":null}'],
)
def test_what_is_no_retry_is_none(params: bytes) -> None:
    assert read_retry(params) is None


def test_a_retry_without_readable_answers_has_none() -> None:
    retry = read_retry(b'{"requestState":"s","inputResponses":[1]}')
    assert retry is not None
    assert dict(retry.responses) == {}


def test_the_digest_is_of_the_request_and_not_of_its_envelope_or_answers() -> None:
    first = request_digest(None, "tools/call", b'{"name":"x","arguments":{"a":1,"b":2},"_meta":{"t":1}}')
    again = request_digest(
        None, "tools/call", b'{"requestState":"s","arguments":{"b":2,"a":1},"inputResponses":{},"name":"x"}'
    )
    assert first == again
    for other in (
        request_digest("server", "tools/call", b'{"name":"x","arguments":{"a":1,"b":2}}'),
        request_digest(None, "prompts/get", b'{"name":"x","arguments":{"a":1,"b":2}}'),
        request_digest(None, "tools/call", b'{"name":"x","arguments":{"a":1,"b":3}}'),
    ):
        assert other != first
