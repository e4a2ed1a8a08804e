"""From the loop to the exporter: what is settled becomes small operations, and a thread tells them on.

A sink in front of another. The queue is bounded by count, and so by bytes: no operation holds a payload.
"""

import logging
import queue

from callgate.background import Background
from callgate.model.events import Event, ExchangeSettled
from callgate.otel.export import Export
from callgate.otel.operations import Operation, operations_of
from callgate.otel.tracing import Tracing
from callgate.ports.event_sink import EventSink

_log = logging.getLogger(__name__)

# Some seconds of a busy gateway, about 10 MB: who is this far behind is not catching up.
_MAX_WAITING = 10_000
_PATIENCE_S = 2.0  # at the end


class ExportingSink:
    def __init__(
        self, inner: EventSink, export: Export, background: Background, max_waiting: int = _MAX_WAITING
    ) -> None:
        self._inner = inner
        self._export = export
        self.tracing = Tracing(export.sampler)
        self._waiting: queue.Queue[Operation | None] = queue.Queue(max_waiting)
        self._lost = 0
        self._thread = background.thread("otel", self._run, daemon=True)

    def emit(self, event: Event) -> None:
        self._inner.emit(event)
        if isinstance(event, ExchangeSettled) and event.exchange.trace is not None:
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
            _log.warning("%d calls were not exported: they came faster than they could be told", self._lost)
        self._export.close()

    def _run(self) -> None:
        while (told := self._waiting.get()) is not None:
            try:
                self._export.tell(told)
            except Exception:  # noqa: BLE001 - one that cannot be told must not end the telling
                _log.exception("a call could not be exported")
