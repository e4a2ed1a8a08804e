"""Where an exchange stands in its caller's trace; implements `ports.Tracer`. On the loop.

`_meta` is asked first: one HTTP request may carry several messages, and a pipe has no headers. Whether a span
is kept is the SDK's sampler's to say, so that it decides as everybody else's does.
"""

from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import Sampler
from opentelemetry.trace import SpanKind

from callgate.model.exchange import Arrival
from callgate.model.identity import new_span_id, new_trace_id
from callgate.model.trace import Trace
from callgate.otel.export import remote_context
from callgate.wire.trace_context import MAX_STATE_CHARS, RemoteSpan, read_traceparent, state_in

_CARRIED = ("tracestate", "baggage")
_MAX_BAGGAGE_CHARS = 8_192  # W3C Baggage, 3.3.2
_LIMITS = {"tracestate": MAX_STATE_CHARS, "baggage": _MAX_BAGGAGE_CHARS}


class Tracing:
    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def begin(self, arrival: Arrival) -> Trace:
        remote = read_traceparent(arrival.envelope.traceparent)
        headers: tuple[tuple[str, str], ...] = ()
        if remote is not None:
            state = state_in(arrival.params)
        else:
            remote, headers = _in_headers(arrival)
            state = dict(headers).get("tracestate")
        trace_id = new_trace_id() if remote is None else remote.trace_id
        parent_id = None if remote is None else remote.span_id
        is_sampled = self._is_sampled(trace_id, remote, state, arrival.method)
        return Trace(trace_id, new_span_id(), parent_id, state, is_sampled, headers)

    def _is_sampled(self, trace_id: str, remote: RemoteSpan | None, state: str | None, method: str) -> bool:
        parent = Context()
        if remote is not None:
            parent = remote_context(remote.trace_id, remote.span_id, remote.is_sampled, state)
        found = self._sampler.should_sample(parent, int(trace_id, 16), method, SpanKind.SERVER)
        return found.decision.is_sampled()


def _in_headers(arrival: Arrival) -> tuple[RemoteSpan | None, tuple[tuple[str, str], ...]]:
    headers = arrival.headers
    remote = None if headers is None else read_traceparent(headers.get("traceparent"))
    if headers is None or remote is None:
        return None, ()
    carried = ((name, headers.get(name)) for name in _CARRIED)
    return remote, tuple((name, value) for name, value in carried if value and len(value) <= _LIMITS[name])
