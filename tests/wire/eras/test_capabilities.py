"""Which questions a client may be asked: never one that it did not declare."""

import json

import pytest

from callgate.wire.eras.capabilities import answers_questions, lacks, missing_capability, missing_for_tool

FORM = b'{"message":"m","requestedSchema":{}}'
URL = b'{"mode":"url","url":"u","message":"m"}'


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "missing"),
    [
        (b"{}", "roots/list", b"{}", {"roots": {}}),
        (b'{"roots":{}}', "roots/list", b"{}", None),
        (b'{"roots":{}}', "sampling/createMessage", b"{}", {"sampling": {}}),
        (b'{"elicitation":{}}', "elicitation/create", FORM, None),
        (b'{"elicitation":{}}', "elicitation/create", URL, {"elicitation": {"url": {}}}),
        (b'{"elicitation":{"url":{}}}', "elicitation/create", URL, None),
        (b'{"elicitation":{"url":{}}}', "elicitation/create", FORM, {"elicitation": {"form": {}}}),
        (b'{"elicitation":{"form":{},"url":{}}}', "elicitation/create", FORM, None),
        (b"not json", "elicitation/create", FORM, {"elicitation": {}}),
        (b"{}", "vendor/question", b"{}", None),
    ],
)
def test_a_question_may_be_put_only_as_declared(
    capabilities: bytes, method: str, params: bytes, missing: object
) -> None:
    lacking = lacks(capabilities, method, params)
    assert (json.loads(lacking) if lacking is not None else None) == missing


def test_only_sampling_elicitation_and_roots_make_a_client_that_answers() -> None:
    assert not answers_questions(b'{"experimental":{},"x":1}')
    assert all(answers_questions(b'{"%b":{}}' % name) for name in (b"sampling", b"elicitation", b"roots"))


def test_the_error_names_the_capability_as_the_specification_wants_it() -> None:
    error = missing_capability(b'{"elicitation":{"url":{}}}')
    assert error.code.rpc_code == -32021
    assert error.data == {"requiredCapabilities": {"elicitation": {"url": {}}}}
    assert error.hint


@pytest.mark.parametrize(
    ("lacking", "declare"),
    [
        (["elicitation"], "declare elicitation: this one does not"),
        (["elicitation", "roots"], "declare more than this one, such as elicitation and roots"),
    ],
)
def test_of_several_capabilities_none_is_said_to_be_the_one_that_a_tool_needs(
    lacking: list[str], declare: str
) -> None:
    assert missing_for_tool("ask", lacking).message == f"ask is offered to clients that {declare}"
