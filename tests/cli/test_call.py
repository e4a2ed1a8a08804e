"""What a call shows of answers that nobody can rely on."""

import pytest

from callgate.cli.call_command import hint_and_code, read_arguments
from callgate.model.errors import CallerError


@pytest.mark.parametrize("data", [None, [], "text", 5, {"hint": 5, "code": {}}, {"hint": [], "code": None}])
def test_a_server_s_error_data_can_be_anything(data: object) -> None:
    assert hint_and_code(data) == (None, None)


def test_ours_has_a_hint_and_a_code() -> None:
    assert hint_and_code({"hint": "do", "code": "refused.read_only"}) == ("do", "refused.read_only")


@pytest.mark.parametrize(
    ("declared", "pair", "message"),
    [
        ("number", "a=x", "Argument 'a' must be a number (the tool's schema says so), not 'x'"),
        ("integer", "a=", "Argument 'a' must be an integer (the tool's schema says so), not ''"),
        ("boolean", "a=yes", "Argument 'a' must be true or false (the tool's schema says so), not 'yes'"),
        ("number", "a:=x", "Argument 'a' is not JSON: Expecting value"),
    ],
)
def test_a_value_of_another_type_is_told_with_the_type_and_the_value(
    declared: str, pair: str, message: str
) -> None:
    with pytest.raises(CallerError) as caught:
        read_arguments([pair], {"properties": {"a": {"type": declared}}})
    assert caught.value.message == message


def test_a_value_of_one_of_several_types_is_text() -> None:
    schema = {"properties": {"a": {"type": ["number", "null"]}}}
    assert read_arguments(["a=1"], schema) == {"a": "1"}
