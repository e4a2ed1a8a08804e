"""OpenTelemetry's SDK, set up: spans in batches and metrics at intervals, to a collector over OTLP/HTTP.

What `[otel]` leaves unset the SDK reads from its own variables (OTEL_…). Its queues are bounded: a collector
that is down costs the oldest spans, and nothing else.
"""

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.span import NonRecordingSpan, SpanContext, TraceFlags, TraceState

import callgate
from callgate.otel.attributes import TelemetryWording
from callgate.otel.operations import Side, TracedOperation

_log = logging.getLogger(__name__)

_KINDS = {
    Side.SERVER: SpanKind.SERVER,
    Side.CLIENT: SpanKind.CLIENT,
    Side.DATABASE: SpanKind.CLIENT,
    Side.INTERNAL: SpanKind.INTERNAL,
}
_METRICS = {Side.SERVER: "mcp.server.operation.duration", Side.CLIENT: "mcp.client.operation.duration"}
_BUCKETS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)  # the conventions'
# At the end, for a collector that does not answer: stopping a gateway does not wait for it.
_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class ExportSettings:
    endpoint: str | None = None  # of the collector, without /v1/traces
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    service_name: str | None = None
    sample_ratio: float | None = None
    metrics: bool = True


class Export:
    """`sampler` may be asked from any thread, everything else from one."""

    def __init__(self, settings: ExportSettings, wording: TelemetryWording) -> None:
        self._wording = wording
        named = {"service.name": settings.service_name} if settings.service_name else {}
        resource = Resource.create({"service.version": callgate.__version__, **named})
        if resource.attributes.get("service.name", "unknown_service") == "unknown_service":
            resource = resource.merge(Resource({"service.name": "callgate"}))
        headers = dict(settings.headers) or None
        self._ids = _GivenIds()
        sampler = None
        if settings.sample_ratio is not None:
            sampler = ParentBased(TraceIdRatioBased(settings.sample_ratio))
        self._spans = TracerProvider(sampler, resource, shutdown_on_exit=False, id_generator=self._ids)
        exporter = OTLPSpanExporter(_address(settings.endpoint, "traces"), headers=headers)
        self._spans.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._spans.get_tracer("callgate", callgate.__version__)
        readers: list[PeriodicExportingMetricReader] = []
        if settings.metrics:
            told = OTLPMetricExporter(_address(settings.endpoint, "metrics"), headers=headers)
            readers.append(PeriodicExportingMetricReader(told))
        self._metrics = MeterProvider(readers, resource, shutdown_on_exit=False)
        meter = self._metrics.get_meter("callgate", callgate.__version__)
        self._durations = {
            side: meter.create_histogram(name, "s", explicit_bucket_boundaries_advisory=_BUCKETS_S)
            for side, name in _METRICS.items()
        }

    @property
    def sampler(self) -> Sampler:
        return self._spans.sampler

    def tell(self, told: TracedOperation) -> None:
        duration = self._durations.get(told.side)
        if duration is not None:
            seconds = (told.ended_ns - told.began_ns) / 1e9
            duration.record(max(seconds, 0.0), self._wording.of_metric(told))
        if told.trace.is_sampled:
            self._tell_span(told)

    def close(self) -> None:
        """What was told is sent, as long as somebody takes it. Blocks."""
        closing = threading.Thread(target=self._shut_down, name="otel end", daemon=True)
        closing.start()
        closing.join(_PATIENCE_S)
        if closing.is_alive():
            _log.warning("The last spans and metrics could not be sent: the collector does not answer")

    def _shut_down(self) -> None:
        self._spans.shutdown()
        self._metrics.shutdown()

    def _tell_span(self, told: TracedOperation) -> None:
        wording = self._wording
        self._ids.give(told.trace.trace_id, told.span_id)
        span = self._tracer.start_span(
            wording.span_name(told),
            parent_of(told),
            _KINDS[told.side],
            wording.of_span(told),
            start_time=told.began_ns,
        )
        if told.ending.error_type is not None:
            span.set_status(Status(StatusCode.ERROR, wording.message(told)))
        span.end(told.ended_ns)


class _GivenIds(RandomIdGenerator):
    """The ids that were handed out when the exchange began: upstreams were sent them already."""

    def __init__(self) -> None:
        self._trace_id: str | None = None
        self._span_id: str | None = None

    def give(self, trace_id: str, span_id: str | None) -> None:
        self._trace_id, self._span_id = trace_id, span_id

    def generate_span_id(self) -> int:
        return super().generate_span_id() if self._span_id is None else int(self._span_id, 16)

    def generate_trace_id(self) -> int:
        return super().generate_trace_id() if self._trace_id is None else int(self._trace_id, 16)


def parent_of(told: TracedOperation) -> Context:
    """Empty for the first span of a trace."""
    if told.parent_id is None:
        return Context()
    is_remote = told.side is Side.SERVER
    return remote_context(
        told.trace.trace_id, told.parent_id, told.trace.is_sampled, told.trace.state, is_remote
    )


def remote_context(
    trace_id: str, span_id: str, is_sampled: bool, state: str | None, is_remote: bool = True
) -> Context:
    flags = TraceFlags(TraceFlags.SAMPLED if is_sampled else TraceFlags.DEFAULT)
    told = TraceState.from_header([state]) if state else None
    context = SpanContext(int(trace_id, 16), int(span_id, 16), is_remote, flags, told)
    return trace.set_span_in_context(NonRecordingSpan(context), Context())


def _address(endpoint: str | None, signal: str) -> str | None:
    """None: the SDK's own variables say it."""
    return None if endpoint is None else f"{endpoint.rstrip('/')}/v1/{signal}"
