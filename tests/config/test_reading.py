"""How values are read: numbers and true or false from text too, and every mistake with its place."""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import pytest

from callgate.config.reading.markers import After, Before, Bounds, spec_key
from callgate.config.reading.mistakes import InvalidSpecError, Mistake, refusal
from callgate.config.secret import Secret
from callgate.config.specs.spec import Spec


def _check_even(number: int) -> int:
    if number % 2:
        raise refusal("an even number is expected", "Write 2.")
    return number


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class InnerSpec(Spec):
    name: str = spec_key(min_length=1, description="A name.")


class OuterSpec(Spec):
    count: Annotated[int, Bounds(ge=1), After(_check_even)] | None = spec_key(default=None, description="")
    ratio: float = spec_key(default=0.5, ge=0, le=1, description="")
    is_on: bool = spec_key(default=False, alias="on", description="")
    words: Annotated[tuple[str, ...], Before(_one_or_more)] = spec_key(default=(), description="")
    inner: Mapping[str, InnerSpec] = spec_key(default_factory=dict[str, InnerSpec], description="")
    key: Secret | None = spec_key(default=None, description="")


def mistakes(table: dict[str, Any]) -> tuple[Mistake, ...]:
    with pytest.raises(InvalidSpecError) as caught:
        OuterSpec.read(table)
    return caught.value.mistakes


@pytest.mark.parametrize(
    ("key", "written", "attribute", "read"),
    [
        ("count", "4", "count", 4),
        ("count", " 4.0 ", "count", 4),
        ("count", 4.0, "count", 4),
        ("ratio", "1e-1", "ratio", 0.1),
        ("ratio", True, "ratio", 1.0),
        ("on", "Yes", "is_on", True),
        ("on", "off", "is_on", False),
        ("on", 1, "is_on", True),
        ("words", "one", "words", ("one",)),
        ("words", ["one", "two"], "words", ("one", "two")),
        ("inner", {"a": {"name": "b"}}, "inner", {"a": InnerSpec(name="b")}),
        ("key", "k", "key", Secret("k")),
    ],
)
def test_a_value_is_read_as_what_the_key_holds(
    key: str, written: object, attribute: str, read: object
) -> None:
    assert getattr(OuterSpec.read({key: written}), attribute) == read


@pytest.mark.parametrize(
    ("table", "at", "message"),
    [
        ({"count": 0}, ("count",), "must be at least 1"),
        ({"count": 3}, ("count",), "an even number is expected"),
        ({"count": "0x4"}, ("count",), "a whole number is expected"),
        ({"count": "9" * 5000}, ("count",), "a whole number is expected"),
        ({"count": math.inf}, ("count",), "a whole number is expected"),
        ({"count": "\u0663"}, ("count",), "a whole number is expected"),
        ({"ratio": math.nan}, ("ratio",), "must be at most 1"),
        ({"ratio": 10**400}, ("ratio",), "a number is expected"),
        ({"on": 2}, ("on",), "true or false is expected"),
        ({"on": " on"}, ("on",), "true or false is expected"),
        ({"words": {"a": 1}}, ("words",), "a list is expected"),
        ({"words": ["one", "\ud800"]}, ("words", 1), "a string is expected"),
        ({"inner": []}, ("inner",), "a table is expected"),
        ({"inner": {"a": 1}}, ("inner", "a"), "a table is expected"),
        ({"inner": {"a": {}}}, ("inner", "a", "name"), "this key is missing"),
        ({"inner": {"a": {"name": ""}}}, ("inner", "a", "name"), "this must not be empty"),
        ({"key": 7}, ("key",), "a string is expected"),
        ({"self": 7}, ("self",), "there is no such key"),
        ({"is_on": True}, ("is_on",), "there is no such key"),
        ({"_given": 1}, ("_given",), "there is no such key"),
    ],
    ids=str,
)
def test_a_mistake_names_its_place(table: dict[str, Any], at: tuple[str | int, ...], message: str) -> None:
    assert [(one.at, one.message) for one in mistakes(table)] == [(at, message)]


def test_all_mistakes_are_told_and_no_value_is_repeated() -> None:
    table = {"count": "hunter2", "words": ["hunter2", 1, 2], "key": ["hunter2"], "hunter": "hunter2"}
    found = mistakes(table)
    assert [one.at for one in found] == [("count",), ("words", 1), ("words", 2), ("key",), ("hunter",)]
    with pytest.raises(InvalidSpecError) as caught:
        OuterSpec.read(table)
    assert "hunter2" not in str(caught.value) + repr(caught.value.mistakes)


def test_a_secret_is_the_mask_in_every_text() -> None:
    spec = OuterSpec(key="hunter2")  # pyright: ignore[reportArgumentType]
    assert spec.shown()["key"] == "***"
    assert "hunter2" not in f"{spec} {spec!r} {spec.key} {spec.key!r}"


def test_a_spec_is_a_value() -> None:
    one, other = OuterSpec.read({"count": 2}), OuterSpec.read({"count": "2"})
    assert one == other
    assert one != one.with_values(count=4)
    assert one != InnerSpec(name="x")
    with pytest.raises(AttributeError):
        one.count = 4  # pyright: ignore[reportAttributeAccessIssue]
