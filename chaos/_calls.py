"""Settled calls to record, each with a body of about 300 bytes."""

import time
from pathlib import Path

from callgate.model.envelope import Envelope, Era
from callgate.model.events import ExchangeSettled
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement
from callgate.model.identity import LOCAL, new_exchange_id
from callgate.model.session import Session
from callgate.ports.record_store import RecordStore
from callgate.recorder.flush.batch import Batch
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.stores.duckdb.record_store import DuckdbStore

_ENVELOPE = Envelope(Era.MODERN, "2026-07-28", "chaos", "1")
_BODY = b'{"content":[{"type":"text","text":"%b"}]}' % (b"alpha order customer price " * 10)


def open_recorder(
    folder: Path, *, keeps_store: bool = True, store: RecordStore[Batch] | None = None
) -> Recorder:
    redactor = RowRedactor(Redactor(), 256 * 1024)
    return Recorder(RecorderSettings(folder, keeps_store), redactor, store or DuckdbStore(folder))


def a_session() -> Session:
    return Session(new_exchange_id(time.time()), LOCAL, "http", _ENVELOPE, time.time(), time.time())


def a_call(session: Session, body: bytes = _BODY, number: int = 1) -> ExchangeSettled:
    params = b'{"name":"chaos__call"}'
    now_s, now = time.time(), time.monotonic()
    arrival = Arrival("tools/call", b"%d" % number, params, _ENVELOPE, LOCAL, "http", "chaos/1", session)
    exchange = Exchange(new_exchange_id(now_s), arrival, session, now_s, now, server_name="chaos")
    exchange.hops.append(Hop("chaos", "tools/call", params, now, ended_mono=now, result=body))
    exchange.settle(Settlement(Outcome.ANSWERED, EndedBy.UPSTREAM, body), now)
    return ExchangeSettled(exchange)
