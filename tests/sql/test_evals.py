"""The evaluation questions: their answers are true of the demo, and the runner tells right from wrong."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sql.conftest import OpenShop

EVALS = Path(__file__).parents[2] / "evals"


def _runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evals_run", EVALS / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


RUNNER = _runner()
QUESTIONS = RUNNER.read_questions()


def test_there_are_ten_different_questions() -> None:
    assert len({one.question_id for one in QUESTIONS}) == len({one.question for one in QUESTIONS}) == 10


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.question_id)
async def test_the_answer_is_what_the_query_tool_finds_in_the_demo(opened: OpenShop, question: Any) -> None:
    async with opened(schema="shop") as source:
        found = await source.query(question.sql)
    assert not found.is_error, found.text
    ((value,),) = found.structured["rows"]
    assert RUNNER.is_right(value, question.answer)
    assert not RUNNER.is_right(f"{value}1", question.answer)


@pytest.mark.parametrize(
    ("given", "expected", "right"),
    [
        ("$8,051.470", "8051.47", True),
        (38.5, "38.5", True),
        ("38.5 %", "38.5", True),
        ("  liam   BROOKS. ", "Liam Brooks", True),
        ("38.4", "38.5", False),
        ("Liam", "Liam Brooks", False),
        ("", "61", False),
    ],
)
def test_what_counts_as_right(given: float | str, expected: str, right: bool) -> None:
    assert RUNNER.is_right(given, expected) is right


def test_one_wrong_or_missing_answer_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {one.question_id: one.answer for one in QUESTIONS}
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(answers))
    assert RUNNER.main([str(file)]) == 0
    file.write_text(json.dumps(answers | {"median_order": "12"}))
    assert RUNNER.main([str(file)]) == 1
    del answers["median_order"]
    file.write_text(json.dumps(answers))
    assert RUNNER.main([str(file)]) == 1
    assert "WRONG  median_order: None" in capsys.readouterr().out
