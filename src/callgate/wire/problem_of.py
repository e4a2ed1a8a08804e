"""The second of the three mappings: an error of ours as an HTTP problem body (RFC 9457)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from callgate.model.error_codes import BUG_INTERNAL, ErrorCode
from callgate.model.errors import CallgateError

PROBLEM_TYPE = "application/problem+json"


def problem_of(error: CallgateError) -> tuple[int, bytes]:
    """Of the error's data only what a page can use: all problems of a configuration, and lines to paste."""
    more = {key: error.data[key] for key in ("problems", "toml") if key in error.data}
    return _problem(error.code, error.message, error.hint, more)


def bug_problem() -> tuple[int, bytes]:
    return _problem(BUG_INTERNAL, BUG_INTERNAL.summary, "", {})


def _problem(code: ErrorCode, detail: str, hint: str, more: Mapping[str, Any]) -> tuple[int, bytes]:
    body: dict[str, Any] = {
        "type": f"urn:callgate:error:{code.code}",
        "title": code.summary,
        "status": code.http_status,
        "detail": detail,
        "code": code.code,
    }
    if hint:
        body["hint"] = hint
    body |= more
    return code.http_status, msgspec.json.encode(body)
