"""`GET /metrics`, in Prometheus' text format.

By hand: prometheus-client takes a lock and a dictionary of labels for each observation, on the path of every
call, and the format is twenty lines. Labels are ours: a method that a client made up is counted as "other",
so that nobody can make the answer grow.
"""

from bisect import bisect_left
from collections.abc import Iterator

from callgate.model.errors import CallgateError
from callgate.model.events import Aside, Event, ExchangeSettled
from callgate.model.health import State
from callgate.ports.event_sink import EventSink
from callgate.ports.record_reader import Query, RecordReader
from callgate.ports.status import Status

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds. A local database answers in a millisecond, a model behind a tool in a minute.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = frozenset(
    {
        "initialize", "ping", "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get",
        "resources/list", "resources/templates/list", "resources/read", "resources/subscribe",
        "resources/unsubscribe", "subscriptions/listen", "completion/complete", "logging/setLevel",
        "sampling/createMessage", "elicitation/create", "roots/list", "notifications/initialized",
        "notifications/cancelled", "notifications/progress", "notifications/message",
    }
)  # fmt: skip
_STATES = tuple(State)


class _Latency:
    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS) + 1)
        self.sum_s = 0.0


class CallMeter:
    """A sink in front of another: counts what passes. On the loop."""

    def __init__(self, inner: EventSink) -> None:
        self._inner = inner
        self._outcomes: dict[tuple[str, str, str], int] = {}
        self._latencies: dict[tuple[str, str], _Latency] = {}

    def emit(self, event: Event) -> None:
        self._inner.emit(event)
        if isinstance(event, Aside):
            method = event.method if event.method in _METHODS else "other"
            self._count(event.server_name or "", method, event.settlement.outcome.value)
            return
        if not isinstance(event, ExchangeSettled):
            return
        exchange = event.exchange
        settlement, duration_ms = exchange.settlement, exchange.duration_ms
        if settlement is None or duration_ms is None:
            return
        method = exchange.arrival.method
        labels = (exchange.server_name or "", method if method in _METHODS else "other")
        self._count(*labels, settlement.outcome.value)
        latency = self._latencies.get(labels)
        if latency is None:
            latency = self._latencies[labels] = _Latency()
        seconds = duration_ms / 1000
        latency.counts[bisect_left(_BUCKETS, seconds)] += 1
        latency.sum_s += seconds

    def _count(self, server: str, method: str, outcome: str) -> None:
        labels = (server, method, outcome)
        self._outcomes[labels] = self._outcomes.get(labels, 0) + 1

    def lines(self) -> Iterator[str]:
        name = "callgate_exchanges_total"
        yield from _head(name, "counter", "Requests and notifications, by what became of them.")
        for (server, method, outcome), count in sorted(self._outcomes.items()):
            yield f"{name}{_labels(server=server, method=method, outcome=outcome)} {count}"
        name = "callgate_exchange_duration_seconds"
        yield from _head(name, "histogram", "From arrival to answer.")
        for (server, method), latency in sorted(self._latencies.items()):
            total = 0
            for bound, count in zip((*map(str, _BUCKETS), "+Inf"), latency.counts, strict=True):
                total += count
                yield f"{name}_bucket{_labels(server=server, method=method, le=bound)} {total}"
            yield f"{name}_sum{_labels(server=server, method=method)} {latency.sum_s:.6f}"
            yield f"{name}_count{_labels(server=server, method=method)} {total}"


def status_lines(status: Status) -> Iterator[str]:
    name = "callgate_upstream_state"
    yield from _head(name, "gauge", "1 for the state that a source or server is in.")
    for entry in status.health():
        for state in _STATES:
            labels = _labels(server=entry.name, kind=entry.kind, state=state.value)
            yield f"{name}{labels} {int(entry.state is state)}"


async def record_lines(record: RecordReader) -> list[str]:
    backlog, gaps = record.backlog(), await _gap_events(record)
    lines = [
        *_head("callgate_record_queue_events", "gauge", "Events that are not in the journal yet."),
        f"callgate_record_queue_events {backlog.events}",
        *_head("callgate_record_queue_bytes", "gauge", "What they weigh."),
        f"callgate_record_queue_bytes {backlog.size_bytes}",
        *_head("callgate_record_healthy", "gauge", "Whether the record can be written and read from here."),
        f"callgate_record_healthy {int(gaps is not None)}",
    ]
    if gaps is not None:
        lines += _head(
            "callgate_record_gap_events", "gauge", "Events that the record says it could not keep."
        )
        lines.append(f"callgate_record_gap_events {gaps}")
    return lines


async def _gap_events(record: RecordReader) -> int | None:
    """None when the record cannot be read: no reason to keep the other figures back."""
    if record.problem() is not None:
        return None
    try:
        found = await record.query(Query("SELECT coalesce(sum(count), 0)::BIGINT FROM gaps"))
    except CallgateError:
        return None
    return int(found.rows[0][0])


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
