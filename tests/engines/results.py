"""What the tests said of one server: kept, so that a stopped run goes on where it was."""

import hashlib
import json
import subprocess
import xml.etree.ElementTree as Xml
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from engines.packages import PLACE

_ROOT = Path(__file__).parents[2]
# What a result depends on.
_JUDGED = ("src/callgate/sql", "tests/sql", "tests/databases", "tests/engines")
TRIALS = {
    "test_login_kinds": "login kinds",
    "test_values": "values",
    "test_cancel": "cancel",
    "test_time_out": "time-out",
    "test_disconnect": "disconnect",
    "test_kill_of_the_gateway": "kill -9 of the gateway",
    "test_restart": "restart",
    "test_failover": "failover",
    "test_full_server": "full server",
    "test_pins": "pins",
}


@dataclass
class Count:
    passed: int = 0
    failed: int = 0

    @property
    def text(self) -> str:
        total = self.passed + self.failed
        return "–" if not total else f"{self.passed:,} of {total:,}"


@dataclass
class Result:
    version: str
    # Of the columns' names.
    trials: dict[str, Count]
    drivers: Count
    guard: Count
    skipped: int
    failures: list[str]
    # When the trials were run and on which code: a day and hour (UTC), and a commit.
    run: str
    # The same of the suites, which can be left out of a run; empty when they never were.
    suites_run: str = ""


def read(name: str, *, of_any_code: bool = False) -> Result | None:
    """Of the code as it is now, unless `of_any_code`."""
    file = _file(name)
    if not file.exists():
        return None
    kept = json.loads(file.read_text())
    if kept.pop("judged") != _judged() and not of_any_code:
        return None
    counts = {column: Count(**count) for column, count in kept["trials"].items()}
    return Result(
        **{**kept, "trials": counts, "drivers": Count(**kept["drivers"]), "guard": Count(**kept["guard"])}
    )


def write(name: str, result: Result) -> None:
    _file(name).parent.mkdir(parents=True, exist_ok=True)
    _file(name).write_text(json.dumps({**asdict(result), "judged": _judged()}, indent=1))


def from_junit(file: Path, version: str) -> Result:
    result = Result(version, {column: Count() for column in TRIALS.values()}, Count(), Count(), 0, [], _now())
    for case in Xml.parse(file).getroot().iter("testcase"):
        name, where = case.get("name", ""), case.get("classname", "")
        if case.find("skipped") is not None:
            result.skipped += 1
            continue
        is_bad = case.find("failure") is not None or case.find("error") is not None
        if is_bad:
            result.failures.append(f"{where}::{name}")
        column = TRIALS.get(name.partition("[")[0]) if "test_trials" in where else None
        weight = 1
        if column is not None:
            count = result.trials[column]
            weight = next((int(one.get("value", "1")) for one in case.iter("property")), 1)
        else:
            count = result.guard if ".guard." in where else result.drivers
        count.passed += 0 if is_bad else weight
        count.failed += weight if is_bad else 0
    if result.drivers.passed:
        result.suites_run = result.run
    return result


def _now() -> str:
    """With a + behind the commit when files were changed since."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=_ROOT, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M}, {described}"


def _file(name: str) -> Path:
    return PLACE / "results" / f"{name}.json"


@cache
def _judged() -> str:
    """The tested code, changed files included."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *_JUDGED],
        cwd=_ROOT, capture_output=True, check=True,
    ).stdout.split(b"\0")  # fmt: skip
    digest = hashlib.sha256()
    for file in sorted(filter(None, files)):
        path = _ROOT / file.decode()
        if path.exists():
            digest.update(file + path.read_bytes())
    return digest.hexdigest()[:16]
