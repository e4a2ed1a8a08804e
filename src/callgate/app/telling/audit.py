"""`[server] audit_stderr`: a line on stderr for every statement, beside the record.

A sink in front of the record's. Writing happens in a thread of its own: a client that does not read our
stderr must not stop the gateway. Secrets are taken out before the text is cut, so that no half of one is
left.
"""

import queue
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO

import msgspec

from callgate.background import Background
from callgate.model.events import Event, ExchangeSettled
from callgate.model.exchange import Exchange, Hop, StatementFacts
from callgate.ports.event_sink import EventSink

_QUERY_CHARS = 200  # of a statement in a line of the audit
# A reader that is this far behind does not read: lines are then counted instead of kept.
_MAX_WAITING = 10_000
_PATIENCE_S = 1.0  # at the end, for a reader that is slow
_END = ""
_MODES = {"read_only": "READ_ONLY", "write": "WRITE_ENABLED"}


class AuditedSink:
    def __init__(
        self,
        inner: EventSink,
        redact: Callable[[str], str],
        background: Background,
        stream: TextIO | None = None,
        max_waiting: int = _MAX_WAITING,
    ) -> None:
        self._inner = inner
        self._redact = redact
        self._stream = stream or sys.stderr
        self._lines: queue.Queue[str] = queue.Queue(max_waiting)
        self._lost = 0
        self._thread = background.thread("audit", self._write, daemon=True)

    def emit(self, event: Event) -> None:
        self._inner.emit(event)
        if isinstance(event, ExchangeSettled):
            for hop in event.exchange.hops:
                if hop.facts is not None:
                    self._put(audit_line(event.exchange, hop, hop.facts, self._redact))

    def close(self) -> None:
        """What was said is written, as long as somebody reads."""
        try:
            self._lines.put(_END, timeout=_PATIENCE_S)
        except queue.Full:
            return
        self._thread.join(timeout=_PATIENCE_S)

    def _put(self, line: str) -> None:
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._lost += 1

    def _write(self) -> None:
        """In the thread, until the end is asked for or nobody is left to tell."""
        line = None
        while line != _END:
            line = self._lines.get()
            lost, self._lost = self._lost, 0
            told = [f'{{"lostAuditLines":{lost}}}'] if lost else []
            told += [line] if line != _END else []
            try:
                self._stream.writelines(f"{one}\n" for one in told)
                self._stream.flush()
            except (OSError, ValueError):  # closed
                return


def audit_line(exchange: Exchange, hop: Hop, facts: StatementFacts, redact: Callable[[str], str]) -> str:
    entry: dict[str, object] = {
        "timestamp": datetime.fromtimestamp(exchange.opened_at, UTC).isoformat(timespec="milliseconds"),
        "source": facts.source_id,
        "mode": _MODES.get(facts.mode, facts.mode),
        "queryType": facts.statement_type,
        "allowed": facts.verdict == "allow",
        "query": _cut(redact(facts.sql)),
    }
    if facts.rule is not None:
        entry["rule"] = facts.rule
    if facts.tables:
        entry["tables"] = [_cut(redact(table)) for table in facts.tables]
    if facts.rows is not None:
        entry["rows"] = facts.rows
    if hop.duration_ms is not None:
        entry["executionTime"] = round(hop.duration_ms, 1)
    settlement = exchange.settlement
    if settlement is not None and settlement.error is not None:
        entry["error"] = _cut(redact(settlement.error))
    return msgspec.json.encode(entry).decode()


def _cut(text: str) -> str:
    return text if len(text) <= _QUERY_CHARS else f"{text[:_QUERY_CHARS]}..."
