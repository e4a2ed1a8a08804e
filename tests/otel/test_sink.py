"""The way from the loop to the exporter: bounded, never blocking, told to the end."""

import threading
from typing import Any

from otel.collector import collector
from otel.test_operations import traced

from callgate.background import Background
from callgate.model.events import Event, ExchangeSettled
from callgate.otel.attributes import TelemetryWording
from callgate.otel.export import Export, ExportSettings
from callgate.otel.sink import ExportingSink


class Kept:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


def export_to(url: str) -> Export:
    return Export(ExportSettings(url), TelemetryWording(lambda text: text))


def test_what_was_emitted_is_with_the_collector_once_the_sink_is_closed() -> None:
    kept = Kept()
    with collector() as taken:
        sink = ExportingSink(kept, export_to(taken.url), Background())
        for _ in range(300):
            sink.emit(ExchangeSettled(traced()))
        sink.close()
    assert len(kept.events) == 300
    assert len(taken.spans) == 600
    assert taken.metrics["mcp.server.operation.duration"][0]["count"] == 300


def test_an_exporter_that_hangs_costs_spans_but_neither_calls_nor_memory() -> None:
    kept, may_go = Kept(), threading.Event()

    class Hanging(Export):
        def tell(self, told: Any) -> None:
            may_go.wait()

    with collector() as taken:
        sink = ExportingSink(
            kept,
            Hanging(ExportSettings(taken.url), TelemetryWording(lambda text: text)),
            Background(),
            max_waiting=5,
        )
        for _ in range(1_000):
            sink.emit(ExchangeSettled(traced()))
        assert len(kept.events) == 1_000
        assert sink._waiting.qsize() <= 5
        may_go.set()
        sink.close()


def test_one_that_cannot_be_told_does_not_end_the_telling() -> None:
    with collector() as taken:

        class Clumsy(Export):
            def tell(self, told: Any) -> None:
                if told.tool == "bad":
                    raise ValueError
                super().tell(told)

        sink = ExportingSink(
            Kept(), Clumsy(ExportSettings(taken.url), TelemetryWording(lambda text: text)), Background()
        )
        bad = traced()
        bad.tool_name = "bad"
        sink.emit(ExchangeSettled(bad))
        sink.emit(ExchangeSettled(traced()))
        sink.close()
    assert [span.name for span in taken.spans] == ["tools/call demo__query", "tools/call query"]
