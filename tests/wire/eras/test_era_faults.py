"""Errors, questions and results that mean the same in both eras."""

import json

import pytest

from callgate.model.envelope import Era
from callgate.model.reply import RpcFault
from callgate.wire.eras.faults import answer_in, fault_in, question_in, url_elicitations
from callgate.wire.fault_of import read_fault


def test_a_missing_resource_has_each_eras_own_code() -> None:
    legacy = read_fault(b'{"code":-32002,"message":"no","data":{"uri":"a://b","x":1.0}}')
    modern = fault_in(legacy, Era.MODERN, "resources/read")
    assert modern.code == -32602
    assert modern.raw is not None
    assert b'"x":1.0' in modern.raw
    assert fault_in(modern, Era.LEGACY, "resources/read").code == -32002


@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
def test_other_methods_keep_their_codes(method: str) -> None:
    fault = RpcFault(-32602, "no", {"uri": "a://b"})
    assert fault_in(fault, Era.LEGACY, method) is fault


def test_invalid_params_that_name_no_resource_stay_what_they_are() -> None:
    fault = RpcFault(-32602, "the param uri is missing")
    assert fault_in(fault, Era.LEGACY, "resources/read") is fault


def test_a_page_to_visit_has_an_id_in_the_legacy_era_only() -> None:
    asked = b'{"mode":"url","url":"https://a","message":"m"}'
    legacy = json.loads(question_in(Era.LEGACY, "elicitation/create", asked))
    assert legacy["elicitationId"]
    assert json.loads(
        question_in(Era.MODERN, "elicitation/create", json.dumps(legacy).encode())
    ) == json.loads(asked)
    form = b'{"message":"the word \\"url\\"","requestedSchema":{}}'
    assert question_in(Era.LEGACY, "elicitation/create", form) == form


def test_pages_that_a_server_wants_visited_first_are_read_from_its_error() -> None:
    said = b'{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","url":"u"},7]}}'
    assert url_elicitations(read_fault(said)) == [b'{"mode":"url","url":"u"}']
    for other in (
        b'{"code":-32042,"message":"m"}',
        b'{"code":-32042,"message":"m","data":{"elicitations":7}}',
    ):
        assert url_elicitations(read_fault(other)) == []


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
def test_what_only_the_handshake_era_knows_of_a_question_does_not_cross(method: str) -> None:
    asked = {"message": "?", "task": {"ttl": 1}, "_meta": {"progressToken": 7, "x/y": 1}, "own": 1.5}
    assert json.loads(question_in(Era.MODERN, method, json.dumps(asked).encode())) == {
        "message": "?",
        "own": 1.5,
    }
    plain = b'{"message": "?", "own":1.50}'
    assert question_in(Era.MODERN, method, plain) == plain
    assert question_in(Era.MODERN, method, b"") == b""


@pytest.mark.parametrize(
    ("method", "stays"),
    [("elicitation/create", False), ("roots/list", False), ("sampling/createMessage", True)],
)
def test_what_only_the_handshake_era_knows_of_an_answer_does_not_cross(method: str, stays: bool) -> None:
    answer = {"action": "accept", "_meta": {"x/y": 1}}
    kept = json.loads(answer_in(Era.MODERN, method, json.dumps(answer).encode()))
    assert kept == (answer if stays else {"action": "accept"})
    assert answer_in(Era.MODERN, method, b'{"roots": []}') == b'{"roots": []}'
