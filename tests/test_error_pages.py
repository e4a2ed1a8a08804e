"""The list of error codes and their pages say the same."""

import re
from pathlib import Path

import pytest

from callgate.model import errors
from callgate.model.error_codes import ALL, ErrorCode
from callgate.model.errors import CallerError, CallgateError

PAGES = Path(__file__).parent.parent / "docs" / "errors"
FAMILIES = {cls.family: cls for cls in CallgateError.__subclasses__()}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == set(ALL)


@pytest.mark.parametrize("code", ALL.values(), ids=lambda code: code.code)
def test_a_page_states_the_code_its_summary_and_its_three_numbers(code: ErrorCode) -> None:
    text = (PAGES / f"{code.code}.md").read_text()
    assert text.startswith(f"# `{code.code}`\n\n{code.summary}.\n")
    assert f"| {code.rpc_code} | {code.http_status} | {code.exit_code} |" in text
    for heading in ("## What it means", "## What to do"):
        assert re.search(rf"{heading}\n\S.{{20,}}", text), f"{heading} is empty"
    assert f"[`{code.code}`]({code.code}.md) | {code.summary} |" in (PAGES / "README.md").read_text()


def test_the_five_families_are_those_of_the_codes() -> None:
    assert {code.family for code in ALL.values()} - {"bug"} == set(FAMILIES)
    assert len(FAMILIES) == 5


def test_an_error_cannot_carry_a_code_of_another_family() -> None:
    with pytest.raises(AssertionError):
        CallerError(ALL["refused.read_only"], "no")


def test_no_code_of_ours_sits_where_the_specification_reserves() -> None:
    standard = {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}
    for code in ALL.values():
        assert code.rpc_code in standard or not -32768 <= code.rpc_code <= -32000


def test_the_tree_in_the_docstring_names_every_family() -> None:
    for cls in FAMILIES.values():
        assert cls.__name__ in (errors.__doc__ or "")
