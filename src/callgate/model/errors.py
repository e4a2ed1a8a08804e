"""Errors, named by who must act.

    CallgateError
    ├── CallerError     change the request
    ├── RefusedError    we will not
    ├── UpstreamError   a server behind us failed
    ├── SourceError     a database failed
    └── SetupError      the operator must change something

Bugs stay builtin exceptions. Each error carries a code from `error_codes`; exactly three mappings lead out:
`wire.fault_of` (JSON-RPC), `wire.problem_of` (HTTP), `cli.exit_code_of` (terminal).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from callgate.model.error_codes import ErrorCode


class CallgateError(Exception):
    family: ClassVar[str] = ""

    def __init__(
        self, code: ErrorCode, message: str, *, hint: str = "", data: Mapping[str, Any] | None = None
    ) -> None:
        assert code.family == self.family, f"{code.code} is not of the family {self.family}"
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.data = data or {}  # what the specification wants beside our code in the error's data


class CallerError(CallgateError):
    family = "caller"


class RefusedError(CallgateError):
    family = "refused"


class UpstreamError(CallgateError):
    family = "upstream"


class SourceError(CallgateError):
    """`operator_hint`: what the operator can do, where `hint` could only send a caller to him."""

    family = "source"

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        hint: str = "",
        data: Mapping[str, Any] | None = None,
        operator_hint: str = "",
    ) -> None:
        super().__init__(code, message, hint=hint, data=data)
        self.operator_hint = operator_hint or hint


class SetupError(CallgateError):
    family = "setup"
