"""The second of the three mappings: an error of ours as an HTTP problem body (RFC 9457)."""

from typing import Any

import msgspec

from callgate.model.error_codes import BUG_INTERNAL, ErrorCode
from callgate.model.errors import CallgateError

PROBLEM_TYPE = "application/problem+json"


def problem_of(error: CallgateError) -> tuple[int, bytes]:
    return _problem(error.code, error.message, error.hint)


def bug_problem() -> tuple[int, bytes]:
    return _problem(BUG_INTERNAL, BUG_INTERNAL.summary, "")


def _problem(code: ErrorCode, detail: str, hint: str) -> tuple[int, bytes]:
    body: dict[str, Any] = {
        "type": f"urn:callgate:error:{code.code}",
        "title": code.summary,
        "status": code.http_status,
        "detail": detail,
        "code": code.code,
    }
    if hint:
        body["hint"] = hint
    return code.http_status, msgspec.json.encode(body)
