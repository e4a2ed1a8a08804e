"""Posture: what a source's account may really do, and where that is more than its mode needs. Pure values.

Drivers gather it (`Driver.posture`), `callgate doctor` shows it. No password, no host.
"""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    NOTE = "note"  # good to know
    WARNING = "warning"  # the account is stronger than the mode needs


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    text: str  # what was found, one sentence
    advice: str = ""  # what to do, in words or as a statement to run


@dataclass(frozen=True, slots=True)
class Posture:
    version: str = ""  # engine and version
    account: str = ""  # as the server names it
    role: str = ""  # "primary", "replica", or empty where the word means nothing
    settings: tuple[tuple[str, str], ...] = ()  # read back from the session: name, value
    findings: tuple[Finding, ...] = ()

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity is Severity.WARNING)
