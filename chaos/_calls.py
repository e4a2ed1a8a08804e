"""Settled calls to record, each with a body of about 300 bytes."""

import time
from pathlib import Path

import msgspec

from callgate.background import Background
from callgate.model.envelope import Envelope, Era
from callgate.model.events import ExchangeSettled
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement
from callgate.model.identity import LOCAL, new_exchange_id
from callgate.model.session import Session
from callgate.recorder.flush.retention import Retention
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.postgres.record_store import PostgresStore
from callgate.recorder.storing.keeper_process import KeeperProcess
from callgate.recorder.storing.messages import StorePlace

_ENVELOPE = Envelope(Era.MODERN, "2026-07-28", "chaos", "1")
_JOURNAL_MAX_BYTES = 4 * 1024**3
_BODY = b'{"content":[{"type":"text","text":"%b"}]}' % (b"alpha order customer price " * 10)


def open_recorder(folder: Path, *, keeps_store: bool = True, store: PostgresStore | None = None) -> Recorder:
    """`store`: kept by a process of its own, as a gateway's is."""
    redactor = RowRedactor(Redactor(), 256 * 1024)
    if store is None:
        return Recorder(RecorderSettings(folder, keeps_store), redactor, DuckdbStore(folder))
    background = Background()
    place = StorePlace("postgres", msgspec.Raw(msgspec.msgpack.encode(store.address)))
    return Recorder(
        RecorderSettings(folder, keeps_store, journal_max_bytes=_JOURNAL_MAX_BYTES),
        redactor,
        store,
        background,
        lambda kept: KeeperProcess(kept, place, Retention(), background),
    )


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
