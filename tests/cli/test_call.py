"""What a call shows of answers that nobody can rely on."""

import base64
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.commands.call_command import hint_and_code, read_arguments, show_result
from callgate.cli.media import media_in, save_media
from callgate.cli.tool_help import print_tool
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


QUERY = {
    "properties": {"query": {"type": "string"}, "format": {"type": "string"}},
    "required": ["query"],
}


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT a = 1", "", "=", "what is 2 + 2 = 4?"])
def test_the_only_required_text_needs_no_key(text: str) -> None:
    assert read_arguments([text], QUERY) == {"query": text}


def test_what_has_a_key_keeps_it() -> None:
    assert read_arguments(["query=SELECT 1"], QUERY) == {"query": "SELECT 1"}
    assert read_arguments(["format=json"], QUERY) == {"format": "json"}
    assert read_arguments(['query:="x"'], QUERY) == {"query": "x"}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]},
        {"properties": {"n": {"type": "integer"}}, "required": ["n"]},
    ],
)
def test_where_it_is_not_clear_which_one_is_meant_a_key_is_asked_for(schema: dict[str, Any]) -> None:
    with pytest.raises(CallerError, match="is not key=value"):
        read_arguments(["SELECT 1"], schema)


def test_an_image_is_saved_for_its_owner_alone_and_several_go_into_a_folder(tmp_path: Path) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"one").decode()}
    sound = {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"two").decode()}
    file = {"type": "resource", "resource": {"uri": "a:b", "blob": base64.b64encode(b"three").decode()}}
    show_result({"content": [image]}, as_json=False, save_to=tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes() == b"one"
    assert (tmp_path / "x.png").stat().st_mode & 0o777 == 0o600
    show_result({"content": [image, sound, file]}, as_json=False, save_to=tmp_path / "all")
    saved = {path.name: path.read_bytes() for path in (tmp_path / "all").iterdir()}
    assert saved == {"1.png": b"one", "2.wav": b"two", "3.bin": b"three"}


def test_an_image_that_is_not_saved_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    show_result({"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]}, as_json=False)
    assert "image/png, 3 bytes: --save FILE writes it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [None, 5, ["x", None, 3], [{"type": "image"}], [{"type": "image", "data": "%"}], [{"type": []}]],
)
def test_an_answer_without_any_that_can_be_saved_says_so(content: object, tmp_path: Path) -> None:
    assert media_in({"content": content}) == []
    with pytest.raises(CallerError, match="holds no image"):
        save_media([], tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_tool_is_explained_by_its_definition(capsys: pytest.CaptureFixture[str]) -> None:
    schema = {
        "properties": {
            "limit": {"type": "integer", "default": 10},
            "kind": {"type": "string", "enum": ["a", "b"], "description": "Which\n  of them"},
        },
        "required": ["kind"],
    }
    print_tool({"name": "x__find", "description": "Finds.\nThings.", "inputSchema": schema})
    assert capsys.readouterr().out.splitlines() == [
        "x__find",
        "",
        "Finds.",
        "Things.",
        "",
        "Arguments:",
        "  kind  (string, required)",
        '      one of "a", "b"',
        "      Which",
        "      of them",
        "  limit  (integer, optional, default 10)",
        "",
        "callgate call x__find kind=…",
    ]


@pytest.mark.parametrize(
    "schema", [None, 5, [], {"properties": []}, {"properties": {"a": 5}, "required": 7}, {"required": [[]]}]
)
def test_a_definition_can_be_anything(schema: object, capsys: pytest.CaptureFixture[str]) -> None:
    print_tool({"name": 5, "description": ["x"], "inputSchema": schema, "annotations": "y"})
    assert capsys.readouterr().out.startswith("5\n")
