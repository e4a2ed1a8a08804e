"""Errors, named by who must act.

    CallgateError
    ├── CallerError     change the request
    ├── RefusedError    we will not
    ├── UpstreamError   a server behind us failed
    │   └── ServerSetupError  … until the operator changes something
    ├── SourceError     a database failed
    └── SetupError      the operator must change something

Bugs stay builtin exceptions. Each error carries a code from `error_codes`; exactly three mappings lead out:
`wire.fault_of` (JSON-RPC), `wire.problem_of` (HTTP), `cli.exit_code_of` (terminal).

An error may quote what a client or a server wrote, so its texts are cut here: no caller chooses how long the
answer, the record's row and the log line are.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from callgate.model.error_codes import (
    ALL,
    CALLER_UNKNOWN_SERVER,
    UPSTREAM_REPLICA_LOST,
    UPSTREAM_REPLICA_UNREACHABLE,
    ErrorCode,
)
from callgate.model.near_miss import did_you_mean
from callgate.model.wording import clip

_MAX_HINT_CHARS = 2_000
_MAX_DATA_CHARS = 2_000  # of each text
_MAX_NAMED = 20


class CallgateError(Exception):
    family: ClassVar[str] = ""
    max_message_chars: ClassVar[int] = 4_000

    def __init__(
        self, code: ErrorCode, message: str, *, hint: str = "", data: Mapping[str, Any] | None = None
    ) -> None:
        assert code.family == self.family, f"{code.code} is not of the family {self.family}"
        self.code = code
        self.message = clip(message, self.max_message_chars)
        self.hint = clip(hint, _MAX_HINT_CHARS)
        # What the specification wants beside our code in the error's data.
        self.data: dict[str, Any] = {
            key: clip(value, _MAX_DATA_CHARS) if isinstance(value, str) else value
            for key, value in (data or {}).items()
        }
        super().__init__(self.message)


class CallerError(CallgateError):
    family = "caller"


class RefusedError(CallgateError):
    family = "refused"


class UpstreamError(CallgateError):
    family = "upstream"


class ServerSetupError(UpstreamError):
    """A server behind us stays down until the operator changes something; its callers see a failed server."""

    family = "setup"


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


def unknown_server(name: str, known: Iterable[str]) -> CallerError:
    """The name of a server that there is not, wherever a client wrote it."""
    known = list(known)
    hint = did_you_mean(name, known) or f"There are: {', '.join(known[:_MAX_NAMED]) or 'none'}"
    return CallerError(CALLER_UNKNOWN_SERVER, f"There is no server {name[:100]!r} here", hint=hint)


def told_by_another(code: str, message: str, hint: str) -> CallgateError:
    """An error of another process of this gateway, as that one told it."""
    known = ALL[code]
    kinds = {kind.family: kind for kind in (SourceError, RefusedError)}
    return kinds.get(known.family, SetupError)(known, message, hint=hint)


def replica_lost() -> UpstreamError:
    return UpstreamError(
        UPSTREAM_REPLICA_LOST,
        "The connection to the replica that served this request broke; the request may have been carried out",
        hint="Check whether it was, then send it again",
    )


def replica_unreachable() -> UpstreamError:
    return UpstreamError(
        UPSTREAM_REPLICA_UNREACHABLE,
        "The replica that this session belongs to cannot be reached at the moment",
        hint="Send the request again after the number of seconds in Retry-After",
    )
