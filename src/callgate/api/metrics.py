"""`GET /metrics`, in Prometheus' text format.

By hand: prometheus-client takes a lock and a dictionary of labels for each observation, on the path of every
call, and the format is twenty lines. Labels are ours: a method that a client made up is counted as "other",
so that nobody can make the answer grow.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping

from callgate.model.errors import CallgateError
from callgate.model.events import Aside, Event, ExchangeSettled, NoticePassed
from callgate.model.exchange import Outcome
from callgate.model.health import State
from callgate.ports.event_sink import EventSink
from callgate.ports.fleet import ADOPTED_KINDS, HOP_OUTCOMES, FleetCounts
from callgate.ports.record_reader import RecordReader
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
_SAMPLE = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)")
_SUFFIXES = ("_bucket", "_sum", "_count")


class _Tally:
    """Of one server and method."""

    __slots__ = ("durations", "outcomes", "sum_s")

    def __init__(self) -> None:
        self.outcomes: dict[Outcome, int] = {}
        self.durations = [0] * (len(_BUCKETS) + 1)
        self.sum_s = 0.0


class CallMeter:
    """A sink in front of another: counts what passes. On the loop."""

    def __init__(self, inner: EventSink) -> None:
        self._inner = inner
        self._tallies: dict[tuple[str, str], _Tally] = {}

    def emit(self, event: Event) -> None:
        self._inner.emit(event)
        if isinstance(event, (ExchangeSettled, NoticePassed)):
            exchange = event.exchange
            settlement, settled_mono = exchange.settlement, exchange.settled_mono
            if settlement is not None and settled_mono is not None:
                method, outcome = exchange.arrival.method, settlement.outcome
                tally = self._tallies.get((exchange.server_name or "", method))
                if tally is None:
                    tally = self._count(exchange.server_name, method, outcome)
                else:
                    tally.outcomes[outcome] = tally.outcomes.get(outcome, 0) + 1
                seconds = settled_mono - exchange.opened_mono
                tally.durations[bisect_left(_BUCKETS, seconds)] += 1
                tally.sum_s += seconds
        elif isinstance(event, Aside):
            self._count(event.server_name, event.method, event.settlement.outcome)

    def _count(self, server: str | None, method: str, outcome: Outcome) -> _Tally:
        labels = (server or "", method if method in _METHODS else "other")
        tally = self._tallies.get(labels)
        if tally is None:
            tally = self._tallies[labels] = _Tally()
        tally.outcomes[outcome] = tally.outcomes.get(outcome, 0) + 1
        return tally

    def lines(self) -> Iterator[str]:
        name = "callgate_exchanges_total"
        yield from _head(name, "counter", "Requests and notifications, by what became of them.")
        tallies = sorted(self._tallies.items())
        for (server, method), tally in tallies:
            for outcome, count in sorted(tally.outcomes.items()):
                yield f"{name}{_labels(server=server, method=method, outcome=outcome)} {count}"
        name = "callgate_exchange_duration_seconds"
        yield from _head(name, "histogram", "From arrival to answer.")
        for (server, method), tally in tallies:
            if not any(tally.durations):
                continue  # only what had no duration: refused at the door, or said out of turn
            total = 0
            for bound, count in zip((*map(str, _BUCKETS), "+Inf"), tally.durations, strict=True):
                total += count
                yield f"{name}_bucket{_labels(server=server, method=method, le=bound)} {total}"
            yield f"{name}_sum{_labels(server=server, method=method)} {tally.sum_s:.6f}"
            yield f"{name}_count{_labels(server=server, method=method)} {total}"


def status_lines(status: Status) -> Iterator[str]:
    name = "callgate_upstream_state"
    yield from _head(name, "gauge", "1 for the state that a source or server is in.")
    for entry in status.health():
        for state in _STATES:
            labels = _labels(server=entry.name, kind=entry.kind, state=state.value)
            yield f"{name}{labels} {int(entry.state is state)}"


async def record_lines(record: RecordReader, *, reads: bool = True) -> list[str]:
    """`reads`: whether the record is this process's to read."""
    backlog, gaps = record.backlog(), await _gap_events(record) if reads else None
    is_healthy = gaps is not None if reads else record.problem() is None
    lines = [
        *_head("callgate_record_queue_events", "gauge", "Events that are not in the journal yet."),
        f"callgate_record_queue_events {backlog.events}",
        *_head("callgate_record_queue_bytes", "gauge", "What they weigh."),
        f"callgate_record_queue_bytes {backlog.size_bytes}",
        *_head("callgate_record_healthy", "gauge", "Whether the record can be written and read from here."),
        f"callgate_record_healthy {int(is_healthy)}",
    ]
    if (store := backlog.store) is not None:
        for name, kind, about, value in (
            (
                "flush_lag_seconds",
                "gauge",
                "How long the oldest row that is not stored waits.",
                f"{store.lag_s:.3f}",
            ),
            ("journal_bytes", "gauge", "What is journalled and not stored.", store.journal_bytes),
            ("batches_stored_total", "counter", "Batches that this process stored.", store.batches),
            ("rows_stored_total", "counter", "Events that this process stored.", store.rows),
            ("store_away", "gauge", "1 while the store cannot be written.", int(store.is_away)),
        ):
            lines += [*_head(f"callgate_record_{name}", kind, about), f"callgate_record_{name} {value}"]
    if gaps is not None:
        lines += _head(
            "callgate_record_gap_events", "gauge", "Events that the record says it could not keep."
        )
        lines.append(f"callgate_record_gap_events {gaps}")
    return lines


def fleet_lines(counts: FleetCounts) -> Iterator[str]:
    name = "callgate_replica_hops_total"
    yield from _head(
        name, "counter", "Requests that this replica passed on to another, by what became of it."
    )
    for outcome in HOP_OUTCOMES:
        yield f"{name}{_labels(outcome=outcome)} {counts.hops.get(outcome, 0)}"
    name = "callgate_replica_adoptions_total"
    yield from _head(name, "counter", "Sessions that this replica took over from one that was gone.")
    for kind in ADOPTED_KINDS:
        yield f"{name}{_labels(session=kind)} {counts.adopted.get(kind, 0)}"
    name = "callgate_replicas_living"
    yield from _head(name, "gauge", "Replicas that live, this one included.")
    yield f"{name} {counts.living}"
    name = "callgate_replica_directory_away"
    yield from _head(name, "gauge", "1 while the directory of replicas cannot be reached.")
    yield f"{name} {int(counts.is_directory_away)}"
    if counts.clock_offset_s is not None:
        name = "callgate_replica_clock_offset_seconds"
        yield from _head(name, "gauge", "How far this replica's clock is ahead of the directory's.")
        yield f"{name} {counts.clock_offset_s:.3f}"


async def _gap_events(record: RecordReader) -> int | None:
    """None when the record cannot be read: no reason to keep the other figures back."""
    if record.problem() is not None:
        return None
    try:
        return (await record.extent()).gap_events
    except CallgateError:
        return None


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def by_worker(told: Mapping[int, bytes | None]) -> str:
    """Each sample with the number of its worker, those of one metric together as the format wants it."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for number, raw in told.items():
        for line in (raw or b"").decode().splitlines():
            if line.startswith("#"):
                name = line.split(" ")[2]
                heads.setdefault(name, [])
                if line not in heads[name]:
                    heads[name].append(line)
            elif (match := _SAMPLE.fullmatch(line)) is not None:
                name, labels, value = match.groups()
                labels = f'{labels},worker="{number}"' if labels else f'worker="{number}"'
                samples.setdefault(_family(name, heads), []).append(f"{name}{{{labels}}} {value}")
    lines = [
        "# HELP callgate_worker_up Whether a worker answers.",
        "# TYPE callgate_worker_up gauge",
        *(f'callgate_worker_up{{worker="{number}"}} {int(raw is not None)}' for number, raw in told.items()),
    ]
    for name, head in heads.items():
        lines += [*head, *samples.get(name, ())]
    return "\n".join(lines) + "\n"


def _family(name: str, heads: Mapping[str, object]) -> str:
    if name not in heads:
        for suffix in _SUFFIXES:
            if name.endswith(suffix) and name.removesuffix(suffix) in heads:
                return name.removesuffix(suffix)
    return name
