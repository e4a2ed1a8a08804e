"""A schema in a line for each parameter, whatever a server wrote where a schema belongs."""

import json
from typing import Any

import pytest

from callgate.model.offers import Offer, OfferKind, Route
from callgate.relay.search.short_tools import short_parameters, short_tools


def offer(**definition: Any) -> Offer:
    return Offer(OfferKind.TOOL, "s__t", Route("s", "t"), json.dumps({"name": "s__t", **definition}).encode())


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"const": "only"}, '"only"'),
        ({"type": "array", "items": {"type": "integer"}}, "integer[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, "string | null, default null"),
        (
            {
                "type": "object",
                "properties": {"x": {"type": "number"}, "y": {"type": "boolean"}},
                "required": ["x"],
            },
            "{x: number, y?: boolean}",
        ),
        ({"$ref": "#/$defs/Colour"}, '"red" | "blue"'),
        ({"$ref": "#/$defs/Loop"}, "…[][]"),
        ({"$ref": "elsewhere"}, "any"),
        ({"type": "string", "description": "Where\n  to look"}, "string. Where to look"),
        ({"type": "weird\u0000"}, "any"),
        ({"enum": list(range(20))}, "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | …"),
        ({"enum": "no list", "anyOf": 3, "properties": [], "type": {"a": 1}}, "any"),
        (None, "any"),
        (True, "any"),
    ],
)
def test_a_parameter_is_one_line(schema: Any, told: str) -> None:
    definitions = {
        "Colour": {"enum": ["red", "blue"]},
        "Loop": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/Loop"}}},
    }
    assert short_parameters({"properties": {"p": schema}, "$defs": definitions}) == {"p": told}


def test_what_is_required_is_marked() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", 7]}
    assert short_parameters(schema) == {"a": "string, required", "b": "any"}


def test_many_parameters_are_named_and_not_told() -> None:
    told = short_parameters({"properties": {f"p{number}": {"type": "string"} for number in range(500)}})
    assert len(told) == 31
    assert told["…"].startswith("470 more: p30, p31")
    assert len(told["…"]) < 250


def test_an_answer_has_a_bound_whatever_the_schemas_are() -> None:
    wide = {f"p{number}": {"type": "string", "description": "x" * 5_000} for number in range(300)}
    found = [offer(description="d" * 10_000, inputSchema={"properties": wide})] * 50
    told = short_tools(found, 50)
    assert len(told) < 50_000
    tools = json.loads(told)["tools"]
    assert "parameters" in tools[0]
    assert "parameters" not in tools[-1]


@pytest.mark.parametrize("definition", [b"[]", b"{", b'{"inputSchema":7}', b'{"name":"\\ud800"}', b"null"])
def test_a_definition_that_is_none_has_its_name_told(definition: bytes) -> None:
    told = short_tools([Offer(OfferKind.TOOL, "s__t", Route("s", "t"), definition)], 1)
    assert json.loads(told)["tools"] == [{"name": "s__t", "parameters": {}}]


def test_nothing_found_is_said_in_words() -> None:
    assert b"None of the 7 tools" in short_tools([], 7)
