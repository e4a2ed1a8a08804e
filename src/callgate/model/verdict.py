"""The operator's rules applied to one statement or call: `Allow` or `Deny`, each with its reason."""

from dataclasses import dataclass

from callgate.model.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Allow:
    pass


@dataclass(frozen=True, slots=True)
class Deny:
    code: ErrorCode
    rule: str  # which rule spoke, stable: it is a column of the record
    reason: str  # what was found, naming the offending part
    hint: str  # what to do instead


Verdict = Allow | Deny
