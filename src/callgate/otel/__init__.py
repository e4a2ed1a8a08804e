"""Exchanges as spans and metrics, in OpenTelemetry's words for MCP; the extra `callgate[otel]`.

    operations   what a span tells of an exchange and its legs; pure
    attributes   the same in the conventions' names; pure
    sink         ports.EventSink: from the loop to a thread of its own, bounded; ports.Tracer: where an
                 exchange stands in its caller's trace, and whether it is sampled
    export       the SDK: providers, exporters, flush

Must not know who emits, nor how anything is recorded. No payload leaves through here, and every text of a
caller's passes the record's own redaction first. Imported only where `[otel] enabled` is set.
"""
