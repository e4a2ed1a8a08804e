"""W3C Trace Context in `params._meta`: reading it, writing it. Pure.

MCP writes the three names without a prefix: `traceparent`, `tracestate`, `baggage` (SEP-414).
"""

import re
from collections.abc import Iterable

import msgspec

from callgate.model.errors import CallerError
from callgate.wire.json_rpc import NOT_READABLE, read_if_readable
from callgate.wire.params import members_decoder, peek, text_of, with_member

# https://www.w3.org/TR/trace-context-1/#traceparent-header: lower case only, and never all zeros. A version
# after 00 may have more behind it.
_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})(?P<span>[0-9a-f]{16})"
    r"-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
# A longer one may be dropped (3.3.1.5), and would be kept with every span.
MAX_STATE_CHARS = 512


class RemoteSpan(msgspec.Struct, frozen=True, gc=False):
    trace_id: str
    span_id: str
    is_sampled: bool


def read_traceparent(text: str | None) -> RemoteSpan | None:
    """None: there is none, or it is not to be used."""
    found = _TRACEPARENT.fullmatch(text) if text is not None else None
    if found is None or (found["version"] == "00" and found["more"] is not None):
        return None
    return RemoteSpan(found["trace"], found["span"], bool(int(found["flags"], 16) & 1))


def write_traceparent(trace_id: str, span_id: str, is_sampled: bool) -> str:
    return f"00-{trace_id}-{span_id}-{'01' if is_sampled else '00'}"


def state_in(params: bytes) -> str | None:
    """The `tracestate` that a request carries."""
    raw = bytes(peek(params).meta)
    members = read_if_readable(members_decoder, raw) if b"tracestate" in raw else None
    state = text_of(members.get("tracestate", msgspec.Raw())) if members is not None else None
    return state if state is not None and len(state) <= MAX_STATE_CHARS else None


def with_trace(params: bytes, traceparent: str, others: Iterable[tuple[str, str]] = ()) -> bytes:
    """The same params with this `traceparent`; `others` only where there is none of that name.

    What we cannot read stays as it is: whoever is asked may know better, and a trace is not worth a call.
    """
    raw = bytes(peek(params).meta)
    try:
        meta = members_decoder.decode(raw) if raw not in (b"", b"null") else {}
        for name, value in others:
            meta.setdefault(name, msgspec.Raw(msgspec.json.encode(value)))
        meta["traceparent"] = msgspec.Raw(msgspec.json.encode(traceparent))
        return with_member(params, "_meta", msgspec.json.encode(meta))
    except (*NOT_READABLE, CallerError):
        return params
