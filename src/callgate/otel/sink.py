"""From the loop to the exporter: what is settled becomes small operations, and a thread tells them on.

A sink in front of another. The queue is bounded by count, and so by bytes: no operation holds a payload.
"""

import logging
import queue

from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import Sampler
from opentelemetry.trace import SpanKind

from callgate.background import Background
from callgate.model.events import Event, ExchangeSettled, NoticePassed
from callgate.model.exchange import Arrival, Trace
from callgate.model.identity import new_span_id, new_trace_id
from callgate.otel.export import Export, remote_context
from callgate.otel.operations import TracedOperation, operations_of
from callgate.ports.event_sink import EventSink
from callgate.wire.trace_context import MAX_STATE_CHARS, RemoteSpan, read_traceparent, state_in

_log = logging.getLogger(__name__)

# Some seconds of a busy gateway, about 10 MB: an exporter this far behind does not catch up.
_MAX_WAITING = 10_000
_PATIENCE_S = 2.0  # at the end
_CARRIED = ("tracestate", "baggage")
_MAX_BAGGAGE_CHARS = 8_192  # W3C Baggage, 3.3.2
_LIMITS = {"tracestate": MAX_STATE_CHARS, "baggage": _MAX_BAGGAGE_CHARS}


class ExportingSink:
    def __init__(
        self, inner: EventSink, export: Export, background: Background, max_waiting: int = _MAX_WAITING
    ) -> None:
        self._inner = inner
        self._export = export
        self.tracing = _Tracing(export.sampler)
        self._waiting: queue.Queue[TracedOperation | None] = queue.Queue(max_waiting)
        self._lost = 0
        self._thread = background.thread("otel", self._run, daemon=True)

    def emit(self, event: Event) -> None:
        self._inner.emit(event)
        if isinstance(event, (ExchangeSettled, NoticePassed)) and event.exchange.trace is not None:
            try:
                for told in operations_of(event.exchange):
                    self._waiting.put_nowait(told)
            except queue.Full:
                self._lost += 1

    def close(self) -> None:
        """What was emitted is sent, as long as somebody takes it. Blocks."""
        try:
            self._waiting.put(None, timeout=_PATIENCE_S)
            self._thread.join(_PATIENCE_S)
        except queue.Full:
            pass
        if self._lost:
            _log.warning("%d calls were not exported: they came faster than they could be sent", self._lost)
        self._export.close()

    def _run(self) -> None:
        while (told := self._waiting.get()) is not None:
            try:
                self._export.tell(told)
            except Exception:  # noqa: BLE001 - one that cannot be told must not end the telling
                _log.exception("a call could not be exported")


class _Tracing:
    """Where an exchange stands in its caller's trace; implements `ports.Tracer`. On the loop.

    `_meta` is asked first: one HTTP request may carry several messages, and a pipe has no headers. Whether a
    span is kept is the SDK's sampler's to say, so that it decides as everybody else's does.
    """

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
