"""`[otel]`: traces and metrics for a collector. What is unset here the SDK reads from its own variables."""

from collections.abc import Mapping
from typing import Annotated

from callgate.config.reading.markers import After, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.secret import Secret, mask_url
from callgate.config.specs.spec import Spec, shows


def _check_endpoint(url: str) -> str:
    if not url.startswith(("http://", "https://")) or any(c.isspace() for c in url):
        raise refusal("an http:// or https:// address is expected", 'Write "http://localhost:4318".')
    # Where it is told in errors, the SDK does not mask it.
    if any(sign in url for sign in "@?#"):
        raise refusal(
            "an address without user, password and query is expected", "Put keys into otel.headers."
        )
    if url.rstrip("/").endswith(("/v1/traces", "/v1/metrics")):
        raise refusal("the address of the collector is expected", "Leave out /v1/traces: it is added.")
    return url


class OtelSpec(Spec):
    enabled: bool = spec_key(
        default=False, description="Whether traces and metrics are exported (OTLP over HTTP)."
    )
    endpoint: Annotated[str, After(_check_endpoint)] | None = spec_key(
        default=None,
        repr=False,
        description="The collector; OTEL_EXPORTER_OTLP_ENDPOINT or http://localhost:4318 if unset.",
    )
    headers: Mapping[str, Secret] = spec_key(
        default_factory=dict[str, Secret], description="HTTP headers sent to the collector."
    )
    service_name: str | None = spec_key(
        default=None,
        min_length=1,
        description="What we are called there; OTEL_SERVICE_NAME or callgate if unset.",
    )
    sample_ratio: float | None = spec_key(
        default=None,
        ge=0,
        le=1,
        description="Part of the traces that begin here and are kept; OTEL_TRACES_SAMPLER or all if unset.",
    )
    metrics: bool = spec_key(
        default=True, description="Whether durations are exported as metrics beside the traces."
    )
    sql_text: bool = spec_key(
        default=False, description="Whether spans tell the text of SQL statements, redacted."
    )

    @shows("endpoint")
    def _show_endpoint(self, endpoint: str | None, is_effective: bool) -> str | None:
        return (
            mask_url(self.as_written(is_effective, "endpoint") or endpoint) if endpoint is not None else None
        )
