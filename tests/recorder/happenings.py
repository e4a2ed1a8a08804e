"""Settled exchanges, as the relay would emit them."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from callgate.model.envelope import Envelope, Era
from callgate.model.events import ExchangeSettled, SessionOpened
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement, StatementFacts
from callgate.model.identity import LOCAL, new_exchange_id
from callgate.model.session import Session
from callgate.ports.record_reader import SourceRequest
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Group
from callgate.recorder.journal.frames import EVENTS, GAPS, HEAD, OPENED, SESSIONS, Frame, read_frame
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor
from callgate.recorder.stores.duckdb.reader import Reader
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.duckdb.snapshots import Snapshots
from callgate.sql.record.queries import Queries

REDACTOR = Redactor()  # it keeps nothing, and takes long to make
ROW_REDACTOR = RowRedactor(REDACTOR, max_body_bytes=256 * 1024)
NOW_S = 1_780_000_000.0


class Record:
    """A recorder and who reads from it, as a gateway has them."""

    def __init__(self, folder: Path, keeps_store: bool = True, **settings: Any) -> None:
        self.store = DuckdbStore(folder)
        self.recorder = Recorder(
            RecorderSettings(folder, keeps_store, **settings),
            ROW_REDACTOR,
            self.store,
        )
        self.reader = Reader(self.recorder, self.store)
        self.snapshots = Snapshots(self.recorder, self.store)
        self.queries = Queries(self.snapshots)
        self.emit = self.recorder.emit
        self.feed = self.recorder.feed
        self.problem = self.reader.problem

    async def close(self) -> None:
        await self.queries.close()
        self.snapshots.close()
        self.reader.close()
        await self.recorder.close()

    async def source_requests(self, source_id: str | None = None) -> list[SourceRequest]:
        return await self.reader.source_requests(source_id)


def day_file(folder: Path) -> Path:
    """The one file of the store in the record's folder."""
    (found,) = (folder / "days").glob("*.duckdb")
    return found


def today_file(folder: Path) -> Path:
    """Where it will be."""
    (folder / "days").mkdir(exist_ok=True)
    return folder / "days" / f"{datetime.now(UTC).date()}.duckdb"


Open = Callable[[bool], Record]  # whether it keeps the store


@pytest.fixture
async def open_recorder(tmp_path: Path) -> AsyncIterator[Open]:
    """They end with their test, also when it fails: their threads would keep the test run alive."""
    opened: list[Record] = []

    def open_one(keeps_store: bool) -> Record:
        opened.append(Record(tmp_path, keeps_store))
        return opened[-1]

    yield open_one
    for recorder in opened:
        await recorder.close()


ENVELOPE = Envelope(Era.MODERN, "2026-07-28", "probe", "1")


def a_session(session_id: str = "s-1") -> Session:
    return Session(session_id, LOCAL, "http", ENVELOPE, NOW_S, NOW_S)


def opened(session: Session) -> SessionOpened:
    return SessionOpened(session)


def settled(session: Session, at_s: float = NOW_S, **changed: Any) -> ExchangeSettled:
    """A tools/call to the source `demo`; `changed`: params, reply, source_id, outcome, error, sql, rpc_id,
    server_version, took_s, rows, tool."""
    params: bytes = changed.get("params", b'{"name":"demo__query"}')
    reply: bytes = changed.get("reply", b'{"content":[]}')
    arrival = Arrival(
        "tools/call", changed.get("rpc_id", b"1"), params, ENVELOPE, LOCAL, "http", "probe/1", session
    )
    exchange = Exchange(
        new_exchange_id(at_s),
        arrival,
        session,
        at_s,
        10.0,
        server_name="demo",
        tool_name=changed.get("tool", "demo__query"),
    )
    source_id = changed.get("source_id", "demo")
    facts = StatementFacts(
        source_id,
        changed.get("sql", "SELECT 1"),
        "SELECT",
        "read_only",
        "allow",
        None,
        ("t",),
        changed.get("rows", 1),
    )
    exchange.hops.append(
        Hop("demo", "tools/call", params, 10.0, ended_mono=10.002, result=reply, facts=facts)
    )
    exchange.hops[0].server_version = changed.get("server_version")
    outcome: Outcome = changed.get("outcome", Outcome.ANSWERED)
    exchange.settle(
        Settlement(outcome, EndedBy.UPSTREAM, reply, None, changed.get("error")),
        10 + changed.get("took_s", 0.0045),
    )
    return ExchangeSettled(exchange)


_PLACES = {SESSIONS: "sessions", OPENED: "opened", EVENTS: "events", GAPS: "gaps"}


def journalled(kind: bytes, *rows: Any) -> bytearray:
    """A frame as the recorder writes it."""
    group = Group()
    setattr(group, _PLACES[kind], list(rows))
    (made,) = Framer(ROW_REDACTOR).frames_of(group)
    return made


def read_back(kind: bytes, *rows: Any, end: int = 100) -> Frame:
    """... and as the store reads it."""
    return read_frame(bytes(journalled(kind, *rows)[HEAD.size :]), end)
