"""The audit line: the seed's, cut, without secrets, and never in the way."""

import io
import json
import threading
from typing import Any

from callgate.app.telling.audit import AuditedSink, audit_line
from callgate.background import Background
from callgate.model.envelope import Envelope, Era
from callgate.model.events import Event, ExchangeOpened, ExchangeSettled
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement, StatementFacts
from callgate.model.identity import LOCAL
from callgate.model.session import Session
from callgate.recorder.redact.redact import Redactor

ENVELOPE = Envelope(Era.LEGACY, "2025-11-25")


class Remembering:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


def settled(facts: StatementFacts | None, error: str | None = None) -> ExchangeSettled:
    arrival = Arrival("tools/call", b"1", b"{}", ENVELOPE, LOCAL, "http", "test")
    session = Session("s", LOCAL, "http", ENVELOPE, 0.0, 0.0)
    exchange = Exchange("e", arrival, session, opened_at=1_700_000_000.0, opened_mono=0.0)
    exchange.hops.append(Hop("shop", "tools/call", b"{}", 1.0, ended_mono=1.25, facts=facts))
    exchange.settle(Settlement(Outcome.ANSWERED, EndedBy.UPSTREAM, error=error), 2.0)
    return ExchangeSettled(exchange)


def line_of(event: ExchangeSettled) -> dict[str, Any]:
    hop = event.exchange.hops[0]
    assert hop.facts is not None
    return json.loads(audit_line(event.exchange, hop, hop.facts, Redactor().text))


def test_an_executed_statement() -> None:
    facts = StatementFacts("shop", "SELECT 1 FROM t", "SELECT", "read_only", "allow", tables=("t",), rows=3)
    assert line_of(settled(facts)) == {
        "timestamp": "2023-11-14T22:13:20.000+00:00",
        "source": "shop",
        "mode": "READ_ONLY",
        "queryType": "SELECT",
        "allowed": True,
        "query": "SELECT 1 FROM t",
        "tables": ["t"],
        "rows": 3,
        "executionTime": 250.0,
    }


def test_a_blocked_statement_names_its_rule_and_error() -> None:
    facts = StatementFacts("shop", "DROP TABLE t", "DROP", "write", "deny", "never")
    line = line_of(settled(facts, "Query blocked: DROP …"))
    assert (line["mode"], line["allowed"], line["rule"]) == ("WRITE_ENABLED", False, "never")
    assert line["error"] == "Query blocked: DROP …"


def test_the_query_is_cut_at_200_characters_after_its_secrets_are_taken_out() -> None:
    dsn = "mysql://root:hunter2@db/shop"
    facts = StatementFacts("shop", "x" * 185 + dsn, "UNKNOWN", "read_only", "deny", "syntax")
    query = line_of(settled(facts))["query"]
    assert len(query) == 203
    assert query.endswith("...")
    facts = StatementFacts("shop", f"SELECT '{dsn}'", "SELECT", "read_only", "allow")
    query = line_of(settled(facts))["query"]
    assert "hunter2" not in query
    assert "***" in query


def test_every_event_goes_on_and_only_statements_are_printed() -> None:
    inner, stream = Remembering(), io.StringIO()
    sink = AuditedSink(inner, str, Background(), stream)
    statement = settled(StatementFacts("shop", "SELECT 1", "SELECT", "read_only", "allow"))
    events = [ExchangeOpened(statement.exchange), settled(None), statement]
    for event in events:
        sink.emit(event)
    sink.close()
    assert inner.events == events
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["query"] == "SELECT 1"


def test_a_stderr_that_nobody_reads_does_not_stop_the_gateway() -> None:
    class Blocked(io.StringIO):
        gate = threading.Event()

        def write(self, text: str) -> int:
            self.gate.wait()
            return super().write(text)

    stream, inner = Blocked(), Remembering()
    sink = AuditedSink(inner, str, Background(), stream, max_waiting=10)
    event = settled(StatementFacts("shop", "SELECT 1", "SELECT", "read_only", "allow"))
    for _ in range(50):
        sink.emit(event)
    assert len(inner.events) == 50
    stream.gate.set()
    sink.close()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    lost = sum(line.get("lostAuditLines", 0) for line in lines)
    assert lost > 0
    assert lost + sum("query" in line for line in lines) == 50
