"""Where an exchange stands in a trace of many programs (W3C Trace Context)."""

import msgspec


class Trace(msgspec.Struct, frozen=True, gc=False):
    trace_id: str  # 32 hexadecimal digits
    span_id: str  # 16: the exchange's own
    parent_id: str | None = None  # the client's span, if it told us
    state: str | None = None  # its `tracestate`
    is_sampled: bool = True
    # What came in HTTP headers, and goes to upstreams in `_meta`: names and values.
    headers: tuple[tuple[str, str], ...] = ()
