"""Score a set of answers to the questions in shop.xml.

    evals/run.py --questions     print the questions, as JSON, to be put to an agent with the demo's tools
    evals/run.py answers.json    {"<id>": "<answer>", …}: say which are right; exit 1 when one is not

A right answer says the same: case, spaces, a final full stop, thousands separators, % and currency signs do
not count, and a number is compared as a number. A missing answer is a wrong one.
"""

import argparse
import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

QUESTIONS = Path(__file__).with_name("shop.xml")


@dataclass(frozen=True)
class Question:
    question_id: str
    question: str
    answer: str
    sql: str


def read_questions(path: Path = QUESTIONS) -> list[Question]:
    return [
        Question(pair.attrib["id"], _text(pair, "question"), _text(pair, "answer"), _text(pair, "sql"))
        for pair in ElementTree.parse(path).getroot().iter("qa_pair")
    ]


def _text(pair: ElementTree.Element, name: str) -> str:
    return (pair.findtext(name) or "").strip()


def is_right(given: object, expected: str) -> bool:
    one, other = _plain(str(given)), _plain(expected)
    try:
        return Decimal(_digits(one)) == Decimal(_digits(other))
    except InvalidOperation:
        return one == other


def _plain(text: str) -> str:
    return " ".join(text.split()).removesuffix(".").casefold()


def _digits(text: str) -> str:
    return "".join(char for char in text if char not in ",%€$ ")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Score answers to the questions on the demo shop.")
    parser.add_argument("answers", nargs="?", type=Path, help='JSON file: {"<id>": "<answer>", …}')
    parser.add_argument("--questions", action="store_true", help="print the questions and stop")
    options = parser.parse_args(arguments)
    questions = read_questions()
    if options.questions:
        print(json.dumps({one.question_id: one.question for one in questions}, indent=2, ensure_ascii=False))
        return 0
    if options.answers is None:
        parser.error("a file with answers is needed, or --questions")
    given = json.loads(options.answers.read_text())
    if not isinstance(given, dict):
        parser.error("the file must hold one JSON object")
    right = 0
    for one in questions:
        answer = given.get(one.question_id)
        ok = answer is not None and is_right(answer, one.answer)
        right += ok
        print(f"{'right' if ok else 'WRONG'}  {one.question_id}" + ("" if ok else f": {answer!r}"))
    for unknown in sorted(set(given) - {one.question_id for one in questions}):
        print(f"       {unknown}: there is no such question")
    print(f"{right} of {len(questions)} right")
    return 0 if right == len(questions) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
