"""A collector of our own: takes OTLP over HTTP and reads the protobuf that came."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

KINDS = {1: "internal", 2: "server", 3: "client"}


@dataclass
class Span:
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    state: str
    attributes: dict[str, Any]
    is_error: bool
    message: str
    began_ns: int
    ended_ns: int


@dataclass
class Collector:
    url: str = ""
    spans: list[Span] = field(default_factory=list[Span])
    metrics: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    resource: dict[str, Any] = field(default_factory=dict[str, Any])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    bodies: list[bytes] = field(default_factory=list[bytes])

    def named(self, name: str) -> Span:
        (found,) = [span for span in self.spans if span.name == name and span.kind != "internal"]
        return found

    def of_kind(self, kind: str, method: str = "tools/call") -> list[Span]:
        return [span for span in self.spans if span.kind == kind and span.name.startswith(method)]

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path == "/v1/traces":
            for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resource = _read(of_resource.resource.attributes)
                for scope in of_resource.scope_spans:
                    self.spans += [_span(span) for span in scope.spans]
        elif path == "/v1/metrics":
            for of_resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in (metric for scope in of_resource.scope_metrics for metric in scope.metrics):
                    points = [
                        _read(one.attributes)
                        | {"count": one.count, "bounds": list(one.explicit_bounds), "unit": metric.unit}
                        for one in metric.histogram.data_points
                    ]
                    self.metrics[metric.name] = points
        else:
            raise AssertionError(path)


@contextmanager
def collector() -> Iterator[Collector]:
    taken = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            taken.headers.append({name.lower(): value for name, value in self.headers.items()})
            taken.take(self.path, body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any, **__: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    taken.url = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield taken
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def _span(span: Any) -> Span:
    return Span(
        span.name,
        KINDS[span.kind],
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.trace_state,
        _read(span.attributes),
        span.status.code == 2,
        span.status.message,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
    )


def _read(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes if isinstance(one, KeyValue)}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    assert kind is not None
    return getattr(value, kind)
