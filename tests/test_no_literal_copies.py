"""No six lines of the program are in it twice. Where the logic is the same, one piece of code serves both."""

import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "callgate"
SHARED_LINES = 6
# A line that says something, and is no comment and no import. White space does not count.
_CODE = re.compile(r"(?!#|import\b|from\b).*\w")

Lines = list[tuple[int, str]]  # with their numbers


def code_lines(text: str) -> Lines:
    folded = ((number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in folded if _CODE.match(line)]


def copies(files: dict[str, str]) -> list[str]:
    places: dict[tuple[str, ...], list[tuple[str, int, int]]] = defaultdict(list)
    for name, text in files.items():
        lines = code_lines(text)
        for at in range(len(lines) - SHARED_LINES + 1):
            window = lines[at : at + SHARED_LINES]
            known = places[tuple(line for _, line in window)]
            # Lines that repeat themselves without a break would overlap with themselves.
            if not known or known[-1][0] != name or known[-1][2] < window[0][0]:
                known.append((name, window[0][0], window[-1][0]))
    return [
        " ~ ".join(f"{name}:{first}-{last}" for name, first, last in found)
        for found in places.values()
        if len(found) > 1
    ]


def test_the_program_repeats_no_six_lines_to_the_letter() -> None:
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    found = copies(files)
    assert not found, "Let one piece of code serve both places:\n" + "\n".join(found)


def test_such_a_pair_is_found() -> None:
    body = "\n".join(f"    line_{number}()" for number in range(SHARED_LINES))
    first = f"def one() -> None:\n{body}\n"
    second = "import os\n\n\ndef other() -> None:\n" + body.replace("\n", "\n\n    # why\n") + "\n"
    assert copies({"a.py": first, "b.py": second}) == ["a.py:2-7 ~ b.py:5-20"]
    assert copies({"a.py": first, "b.py": second.replace("line_3", "another")}) == []
    assert copies({"a.py": f"{first}\n{second}"}) == ["a.py:2-7 ~ a.py:13-28"]
