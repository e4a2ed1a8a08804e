"""`Mcp-Param-*`: what a schema declares, what a call carries, and when header and body disagree."""

import json
from typing import Any

import pytest

from callgate.model.errors import CallerError
from callgate.wire.param_headers import check_headers, declared_headers, make_headers


def definition(properties: dict[str, Any]) -> bytes:
    return json.dumps({"name": "t", "inputSchema": {"type": "object", "properties": properties}}).encode()


REGION = {"type": "string", "x-mcp-header": "Region"}
NESTED = {"type": "object", "properties": {"id": {"type": "integer", "x-mcp-header": "Deep-Id"}}}
DECLARED = declared_headers(definition({"region": REGION, "deep": NESTED, "plain": {"type": "string"}}))


def test_a_schema_declares_headers_at_any_depth() -> None:
    assert [(entry.path, entry.header) for entry in DECLARED] == [
        (("region",), "Mcp-Param-Region"),
        (("deep", "id"), "Mcp-Param-Deep-Id"),
    ]


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "string"}},
        {"a": REGION, "b": {"type": "string", "x-mcp-header": "region"}},  # the same, but for its case
        {"a": {"type": "object", "x-mcp-header": "A"}},
        {"a": {"type": "string", "x-mcp-header": "A B"}},
        {"a": {"type": "string", "x-mcp-header": "A\r\nEvil: 1"}},
        {"a": {"type": "string", "x-mcp-header": ""}},
    ],
)
def test_a_schema_with_none_or_with_invalid_ones_declares_nothing(properties: dict[str, Any]) -> None:
    assert declared_headers(definition(properties)) == ()


@pytest.mark.parametrize(
    "raw",
    [
        b'{"x-mcp-header":1}',
        b'{"inputSchema":"x-mcp-header"}',
        b'{"inputSchema":{"properties":["x-mcp-header"]}}',
    ],
)
def test_an_ill_formed_definition_declares_nothing(raw: bytes) -> None:
    assert declared_headers(raw) == ()


def test_a_call_carries_what_its_arguments_say() -> None:
    made = make_headers(DECLARED, {"region": "eu", "deep": {"id": 7}, "plain": "x"})
    assert made == (("Mcp-Param-Region", "eu"), ("Mcp-Param-Deep-Id", "7"))
    assert make_headers(DECLARED, {"region": None}) == ()
    assert make_headers(DECLARED, None) == ()


@pytest.mark.parametrize("value", ["é", " padded ", "a\r\nEvil: 1", "=?base64?eA==?=", ""])
def test_a_value_that_no_header_can_carry_is_wrapped(value: str) -> None:
    ((name, sent),) = make_headers(DECLARED[:1], {"region": value})
    assert sent.isascii()
    assert not {"\r", "\n"} & set(sent)
    check_headers(DECLARED[:1], {"region": value}, {name.lower(): sent})


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu"}, {"mcp-param-region": "us"}),
        ({"region": "eu"}, {}),
        ({}, {"mcp-param-region": "eu"}),
        ({"region": None}, {"mcp-param-region": "null"}),
        ({"deep": {"id": 7}}, {"mcp-param-deep-id": "7.5"}),
        ({"region": "x"}, {"mcp-param-region": "=?base64?!!?="}),
    ],
)
def test_a_header_that_disagrees_with_its_argument_is_refused(
    arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    with pytest.raises(CallerError) as caught:
        check_headers(DECLARED, arguments, headers)
    assert caught.value.code.code == "caller.header_mismatch"


@pytest.mark.parametrize("sent", ["7", "7.0", "=?base64?Nw==?="])
def test_two_spellings_of_one_integer_agree(sent: str) -> None:
    check_headers(DECLARED, {"deep": {"id": 7}}, {"mcp-param-deep-id": sent})
