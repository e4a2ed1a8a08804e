"""What the suite found, and what the gateway lost of it. Pure but for reading the files that a run left."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# Worst last. INFO is the suite's word for "does not apply here".
_SEVERITY = ("INFO", "SUCCESS", "SKIPPED", "WARNING", "FAILURE")
_STARTED_AT = re.compile(r"-\d{4}-\d\d-\d\dT.*$")


class Check(NamedTuple):
    scenario: str
    check_id: str


@dataclass(frozen=True)
class Verdict:
    status: str
    message: str = ""


ABSENT = Verdict("ABSENT")


@dataclass(frozen=True)
class Comparison:
    total: int  # checks that succeed directly
    lost: Mapping[Check, Verdict]

    @property
    def kept(self) -> int:
        return self.total - len(self.lost)

    @property
    def is_whole(self) -> bool:
        """A run in which nothing succeeded directly proves nothing, so it is not whole either."""
        return self.total > 0 and not self.lost

    def __str__(self) -> str:
        return self.told({})

    def told(self, reasons: Mapping[Check, str]) -> str:
        """With the reason beside each loss that has one."""
        lines = [f"{self.kept}/{self.total}"]
        for check, verdict in self.lost.items():
            why = reasons.get(check)
            said = f"{verdict.status} {verdict.message}" if why is None else f"({verdict.status}) {why}"
            lines.append(f"    lost: {check.scenario} {check.check_id}: {said}".rstrip())
        return "\n".join(lines)


def read_verdicts(results: Path) -> dict[Check, Verdict]:
    """A check may come several times in one scenario: it is as good as its worst."""
    verdicts: dict[Check, Verdict] = {}
    for path in sorted(results.glob("*/checks.json")):
        scenario = _STARTED_AT.sub("", path.parent.name)
        for entry in json.loads(path.read_text()):
            check = Check(scenario, entry["id"])
            verdict = Verdict(entry["status"], entry.get("errorMessage") or "")
            if check not in verdicts or _severity(verdict) > _severity(verdicts[check]):
                verdicts[check] = verdict
    return verdicts


def compare(
    direct: Mapping[Check, Verdict], through: Mapping[Check, Verdict], *, info_is_kept: bool
) -> Comparison:
    """Every check that succeeds directly must succeed through the gateway.

    `info_is_kept` is for an upstream over stdio: it has no streams to break off, so the suite calls the
    check of resuming one not applicable there.
    """
    kept = {"SUCCESS", "INFO"} if info_is_kept else {"SUCCESS"}
    good = [check for check, verdict in direct.items() if verdict.status == "SUCCESS"]
    return Comparison(
        total=len(good),
        lost={
            check: through.get(check, ABSENT)
            for check in good
            if through.get(check, ABSENT).status not in kept
        },
    )


def _severity(verdict: Verdict) -> int:
    return _SEVERITY.index(verdict.status)
