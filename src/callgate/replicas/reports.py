"""What a replica tells the directory of its parts: bounded, without secrets, and read with suspicion. Pure.

All replicas read all of it whenever somebody looks, so it is short: of a part that is up its name and
version, of one that is not also why. What does not fit is left out, the parts that are up first.
"""

from collections.abc import Callable, Sequence

import msgspec

from callgate.model.health import Failure, Health, State
from callgate.model.wording import clip

MAX_REPORT_BYTES = 16 * 1024
_MAX_CHARS = 400
_MAX_NAME_CHARS = 200
_STDERR_LINES, _STDERR_CHARS = 5, 160
# Rows wait about a second for the next flush: below this nothing is late.
_LATE_S = 3.0
_MIB = 1024 * 1024


class _Failed(msgspec.Struct, frozen=True, array_like=True):
    at: float
    message: str
    code: str | None


class _Part(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    kind: str
    state: State
    detail: str = ""
    code: str | None = None
    since: float | None = None
    era: str | None = None
    protocol: str | None = None
    version: str | None = None
    failure: _Failed | None = None
    stderr: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    parts: tuple[_Part, ...] = ()
    tokens: str = ""  # a digest of which bearer token is which principal
    lag_s: float | None = None
    journal_bytes: int | None = None

    def servers(self) -> tuple[Health, ...]:
        return tuple(map(_health, self.parts))


def report_of(health: Sequence[Health], redact: Callable[[str], str]) -> Report:
    return Report(tuple(_part(entry, redact) for entry in health))


def rounded_lag(lag_s: float, journal_bytes: int) -> tuple[float, int]:
    """So that nothing new is told while all is well."""
    return (float(round(lag_s)) if lag_s > _LATE_S else 0.0), journal_bytes // _MIB * _MIB


def encode_report(report: Report) -> str:
    raw = msgspec.json.encode(report)
    if len(raw) > MAX_REPORT_BYTES:
        report = msgspec.structs.replace(report, parts=tuple(map(_shorter, report.parts)))
        raw = msgspec.json.encode(report)
    while len(raw) > MAX_REPORT_BYTES:
        # Those that are up go first, then whoever is last.
        kept = sorted(report.parts, key=lambda part: part.state is State.UP)
        report = msgspec.structs.replace(report, parts=tuple(kept[: len(kept) * 3 // 4]))
        raw = msgspec.json.encode(report)
    return raw.decode()


def decode_report(text: str) -> Report:
    """What cannot be read tells nothing: it may be of another version."""
    try:
        return msgspec.json.decode(text[: 2 * MAX_REPORT_BYTES], type=Report)
    except (msgspec.DecodeError, RecursionError):
        return Report()


def _part(entry: Health, redact: Callable[[str], str]) -> _Part:
    def told(text: str | None, most: int = _MAX_CHARS) -> str | None:
        return None if text is None else clip(redact(text), most)

    failure = entry.last_failure
    is_up = entry.state is State.UP
    return _Part(
        clip(entry.name, _MAX_NAME_CHARS),
        entry.kind,
        entry.state,
        told(entry.detail) or "",
        entry.error_code,
        entry.since,
        entry.era,
        told(entry.protocol, _MAX_NAME_CHARS),
        told(entry.version, _MAX_NAME_CHARS),
        failure and _Failed(failure.at, told(failure.message) or "", failure.error_code),
        ()
        if is_up
        else tuple(told(line, _STDERR_CHARS) or "" for line in entry.stderr_tail[-_STDERR_LINES:]),
    )


def _shorter(part: _Part) -> _Part:
    detail = "" if part.state is State.UP else clip(part.detail, _STDERR_CHARS)
    return msgspec.structs.replace(part, detail=detail, failure=None, stderr=())


def _health(part: _Part) -> Health:
    failure = part.failure
    return Health(
        part.name,
        part.kind,
        part.state,
        part.detail,
        part.code,
        part.era,
        part.version,
        part.stderr,
        part.protocol,
        part.since,
        failure and Failure(failure.at, failure.message, failure.code),
    )
