"""Every error sentence of the product is in one file that people review. It must say what the source says."""

import difflib
import re
from collections import Counter

import pytest
from wording.error_sentences import ROOT, SNAPSHOT, collect, constructions, rendered
from wording.read_source import Source, read_source

UPDATE = "run: PYTHONPATH=tests .venv/bin/python -m wording.error_sentences --write"
# Texts that come from elsewhere: a server, a database, or another error. A new one needs a reason.
MOST_AT_RUN_TIME = 25

ERRORS = """
class CallgateError(Exception):
    def __init__(self, code, message, *, hint=""): ...

class CallerError(CallgateError): ...
"""
USES = """
from callgate.model.errors import CallerError

_HINT = "Send less"

def plain():
    raise CallerError(code, "The body is too large", hint=_HINT)

def joined(name, size):
    raise CallerError(code, f"The {name[:9]!r} has " "more than " f"{size:,} bytes", hint="A" + " hint")

def chosen(name, is_known):
    reason = "It is unknown"
    if is_known:
        reason = "It is known"
    raise CallerError(code, reason, hint=f"Use {'this' if name else 'that'} one")

def replaced():
    text = "This is never said"
    text = "This is said"
    raise CallerError(code, text)

def given(message):
    return CallerError(code, message)

def caller():
    raise given("A sentence on its way")

def returned():
    why, hint = _why()
    raise CallerError(code, f"It failed: {why}", hint=hint)

def _why():
    return "it is broken", "Repair it"

def unknown(error):
    raise CallerError(code, error.message)
"""


@pytest.fixture(scope="module")
def source() -> Source:
    return read_source(ROOT / "src")


@pytest.fixture(scope="module")
def snapshot(source: Source) -> str:
    return rendered(source)


def test_the_reviewed_file_holds_every_error_sentence_of_the_source(snapshot: str) -> None:
    reviewed = SNAPSHOT.read_text()
    changes = difflib.unified_diff(
        reviewed.split("\n"), snapshot.split("\n"), "reviewed", "source", n=2, lineterm=""
    )
    assert reviewed == snapshot, "\n".join(["the error sentences changed; " + UPDATE, *changes])


def test_few_sentences_are_known_only_at_run_time(snapshot: str) -> None:
    assert snapshot.count("<run time: ") <= MOST_AT_RUN_TIME


def test_no_place_that_makes_an_error_is_missed(source: Source) -> None:
    """Counted in another way than the collector does: in the text, by the names of the errors."""
    made = re.compile(
        r"(?<!class )\b(CallerError|RefusedError|UpstreamError|SourceError|SetupError|Deny|Fault"
        r"|ConfigProblem)\("
    )
    written = Counter(
        (path.relative_to(ROOT / "src").as_posix(), found[1])
        for path in (ROOT / "src").rglob("*.py")
        for found in made.finditer(path.read_text())
    )
    seen = Counter((path, name) for path, _, name in constructions(source))
    missed = {place: count for place, count in written.items() if seen[place] < count}
    assert not missed
    assert written.total() > 300


def test_the_collector_reads_sentences_in_every_form_that_we_write() -> None:
    files = {"callgate/model/errors.py": ERRORS, "callgate/api/uses.py": USES}
    entries = [entry for entry in collect(Source(files)) if entry.path == "callgate/api/uses.py"]
    assert [sentence for entry in entries for sentence in entry.sentences] == [
        ("", "The body is too large"),
        ("hint", "Send less"),
        ("", "The {name} has more than {size} bytes"),
        ("hint", "A hint"),
        ("", "It is known"),
        ("", "It is unknown"),
        ("hint", "Use {this | that} one"),
        ("", "This is said"),
        ("", "A sentence on its way"),
        ("", "It failed: it is broken"),
        ("hint", "Repair it"),
        ("", "<run time: error.message>"),
    ]
