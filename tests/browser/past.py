"""A past for the record: sessions and calls, written by the real recorder before a gateway opens it.

The same numbers give the same rows, ids and times included.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callgate.model.envelope import Envelope, Era
from callgate.model.events import ExchangeSettled, SessionClosed, SessionOpened
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement, StatementFacts
from callgate.model.identity import LOCAL, new_exchange_id
from callgate.model.session import Session
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.stores.duckdb.reader import Reader
from callgate.recorder.stores.duckdb.record_store import DuckdbStore

# The queue is bounded, and what does not fit is dropped: leave the thread time to empty it.
_AHEAD_BYTES = 16 * 1024 * 1024
_READ_ONLY = b'{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}'


def _new_id(at_s: float, number: int) -> str:
    return new_exchange_id(at_s, hashlib.sha256(str(number).encode()).digest()[:10])


@dataclass(frozen=True)
class PastSession:
    number: int
    client: str
    version: str
    begun_s: float
    ended_s: float | None = None
    era: Era = Era.MODERN

    def session(self) -> Session:
        revision = "2026-07-28" if self.era is Era.MODERN else "2025-11-25"
        envelope = Envelope(self.era, revision, self.client, self.version)
        transport = "http" if self.number % 3 else "stdio"
        return Session(
            _new_id(self.begun_s, self.number), LOCAL, transport, envelope, self.begun_s, self.begun_s
        )


@dataclass(frozen=True)
class PastCall:
    number: int
    at_s: float
    duration_ms: float
    server: str
    tool: str  # as its server calls it
    arguments: dict[str, Any]
    result: dict[str, Any]
    outcome: Outcome = Outcome.ANSWERED
    error_code: str | None = None
    error: str | None = None
    annotations: bytes | None = _READ_ONLY
    facts: StatementFacts | None = None
    hop_share: tuple[float, float] = (0.05, 0.95)  # where in its time the hop began and ended

    def settled(self, session: Session) -> ExchangeSettled:
        public_name = f"{self.server}__{self.tool}"
        params = json.dumps({"name": public_name, "arguments": self.arguments}).encode()
        native = json.dumps({"name": self.tool, "arguments": self.arguments}).encode()
        reply = json.dumps(self.result).encode()
        envelope = session.envelope
        client = envelope.client_label or "?"
        rpc_id = str(self.number).encode()
        arrival = Arrival("tools/call", rpc_id, params, envelope, LOCAL, session.transport, client, session)
        exchange = Exchange(
            _new_id(self.at_s, self.number), arrival, session, self.at_s, 0.0,
            server_name=self.server, tool_name=public_name, annotations=self.annotations,
        )  # fmt: skip
        ended = self.duration_ms / 1000
        hop_began, hop_ended = (ended * share for share in self.hop_share)
        hop = Hop(self.server, "tools/call", native, hop_began, ended_mono=hop_ended, result=reply)
        hop.facts, hop.is_built_in = self.facts, self.facts is not None
        exchange.hops.append(hop)
        by = EndedBy.GATEWAY if self.outcome is Outcome.REFUSED else EndedBy.UPSTREAM
        exchange.settle(Settlement(self.outcome, by, reply, self.error_code, self.error), ended)
        session.last_seen_at = max(session.last_seen_at, self.at_s)
        return ExchangeSettled(exchange)


async def write_past(state: Path, past: Iterable[tuple[PastSession, Iterable[PastCall]]]) -> None:
    """Into the state folder of a gateway that does not run yet."""
    settings = RecorderSettings(state / "record", keeps_store=True, waits_for_journal=False)
    store = DuckdbStore(settings.folder)
    recorder = Recorder(settings, RowRedactor(Redactor(), 256 * 1024), store)
    try:
        for was, calls in past:
            session = was.session()
            recorder.emit(SessionOpened(session))
            for call in calls:
                recorder.emit(call.settled(session))
                while recorder.waiting_bytes > _AHEAD_BYTES:
                    await asyncio.sleep(0.001)
            if was.ended_s is not None:
                session.ended_at = was.ended_s
                recorder.emit(SessionClosed(session))
        await Reader(recorder, store).extent()  # all of it is in the store
    finally:
        await recorder.close()
