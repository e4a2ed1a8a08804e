"""An error quotes what it is about, and never at length: whoever chose the words must not choose the size."""

import pytest

from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.model.error_codes import CALLER_UNKNOWN_RESOURCE
from callgate.model.errors import CallerError
from callgate.wire.fault_of import fault_of
from callgate.wire.json_rpc import encode_error_object
from callgate.wire.problem_of import problem_of

MEGABYTE = "x" * 1_000_000


@pytest.mark.parametrize(
    "error",
    [
        CallerError(CALLER_UNKNOWN_RESOURCE, f"Resource not found: {MEGABYTE}"),
        CallerError(CALLER_UNKNOWN_RESOURCE, "Resource not found", hint=MEGABYTE),
        CallerError(CALLER_UNKNOWN_RESOURCE, "Resource not found", data={"uri": MEGABYTE}),
    ],
    ids=["message", "hint", "data"],
)
def test_no_part_of_an_error_is_long(error: CallerError) -> None:
    assert len(encode_error_object(fault_of(error))) < 10_000
    assert len(problem_of(error)[1]) < 10_000
    assert len(str(error)) < 10_000


def test_what_was_cut_says_so_and_what_is_short_stays() -> None:
    error = CallerError(CALLER_UNKNOWN_RESOURCE, "Not here", hint=MEGABYTE, data={"uri": "a://b", "n": 1})
    assert (error.message, error.data) == ("Not here", {"uri": "a://b", "n": 1})
    assert error.hint.endswith("x…")


def test_of_ten_thousand_problems_in_a_file_the_first_hundred_are_printed_and_the_rest_counted() -> None:
    problems = [ConfigProblem(f"key{n}", "there is no such key") for n in range(10_000)]
    found = ConfigProblems(problems)
    assert len(found.problems) == 10_000
    assert len(found.message) < 20_000
    assert "key99: there is no such key" in found.message
    assert "key100:" not in found.message
    assert "9,900 more" in found.message
