"""From `[otel]` to what exports: the operator's words as the otel room's values."""

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Protocol
from urllib.parse import urlsplit

from callgate.app.sources import source_facts
from callgate.background import Background
from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.config.specs.config import Config, McpServerSpec
from callgate.model.wording import install_extra
from callgate.otel.attributes import Peer, TelemetryWording
from callgate.ports.event_sink import EventSink
from callgate.ports.status import SourceFacts
from callgate.ports.tracer import Tracer

# OpenTelemetry's names for engines (semantic conventions, db.system.name), where they differ from ours.
_DB_SYSTEMS = {"postgres": "postgresql"}
_NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


class TracingSink(EventSink, Protocol):
    """`otel.sink`'s, which cannot be named without importing the SDK."""

    @property
    def tracing(self) -> Tracer: ...

    def close(self) -> None: ...


def otel_problems(config: Config) -> Iterator[ConfigProblem]:
    if config.otel.enabled and not all(map(_is_installed, _NEEDED)):
        yield ConfigProblem("otel.enabled", "OpenTelemetry is not installed here", install_extra("otel"))


def exporting(
    config: Config, inner: EventSink, redact: Callable[[str], str], background: Background
) -> TracingSink | None:
    """A sink in front of `inner`, if anything is to be exported; raises ConfigProblems. The SDK, which takes
    0.2 s and 20 MB, is imported only then."""
    otel = config.otel
    if not otel.enabled or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    from callgate.otel import export, sink

    peers = {facts.source_id: _source(facts) for facts in source_facts(config)}
    peers |= {name: _server(spec) for name, spec in config.mcp_servers.items()}
    peers.setdefault("record", Peer(db_system="duckdb"))
    settings = export.ExportSettings(
        otel.endpoint,
        {name: value.get_secret_value() for name, value in otel.headers.items()},
        otel.service_name,
        otel.sample_ratio,
        otel.metrics,
    )
    try:
        made = export.Export(settings, TelemetryWording(redact, peers, otel.sql_text))
    except Exception as problem:
        # Its own variables are the SDK's to read. The type only: its text may quote one of them.
        what = f"OpenTelemetry cannot be set up ({type(problem).__name__})"
        raise ConfigProblems(
            [ConfigProblem("otel", what, "Check the variables that begin with OTEL_.")]
        ) from problem
    return sink.ExportingSink(inner, made, background)


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def _source(facts: SourceFacts) -> Peer:
    return Peer(None, facts.host, facts.port, _DB_SYSTEMS.get(facts.engine, facts.engine))


def _server(spec: McpServerSpec) -> Peer:
    if spec.url is None:
        return Peer("stdio")
    try:
        address = urlsplit(spec.url)
        port = address.port or (443 if address.scheme == "https" else 80)
    except ValueError:
        return Peer(spec.kind)
    return Peer(spec.kind, address.hostname, port)
