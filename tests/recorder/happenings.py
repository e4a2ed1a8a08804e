"""Settled exchanges, as the relay would emit them."""

from collections.abc import Callable
from typing import Any

from callgate.model.envelope import Envelope, Era
from callgate.model.events import ExchangeSettled, SessionOpened
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement, StatementFacts
from callgate.model.identity import LOCAL, new_exchange_id
from callgate.model.session import Session
from callgate.recorder.recorder import Recorder

NOW_S = 1_780_000_000.0
Open = Callable[[bool], Recorder]  # whether it keeps the store
ENVELOPE = Envelope(Era.MODERN, "2026-07-28", "probe", "1")


def a_session(session_id: str = "s-1") -> Session:
    return Session(session_id, LOCAL, "http", ENVELOPE, NOW_S, NOW_S)


def opened(session: Session) -> SessionOpened:
    return SessionOpened(session)


def settled(session: Session, at_s: float = NOW_S, **changed: Any) -> ExchangeSettled:
    """A tools/call to the source `demo`; `changed`: params, reply, source_id, outcome, error, sql."""
    params: bytes = changed.get("params", b'{"name":"demo__query"}')
    reply: bytes = changed.get("reply", b'{"content":[]}')
    arrival = Arrival("tools/call", b"1", params, ENVELOPE, LOCAL, "http", "probe/1", session)
    exchange = Exchange(
        new_exchange_id(at_s), arrival, session, at_s, 10.0, server_name="demo", tool_name="demo__query"
    )
    source_id = changed.get("source_id", "demo")
    facts = StatementFacts(
        source_id, changed.get("sql", "SELECT 1"), "SELECT", "read_only", "allow", None, ("t",), 1
    )
    exchange.hops.append(
        Hop("demo", "tools/call", params, 10.0, ended_mono=10.002, result=reply, facts=facts)
    )
    outcome: Outcome = changed.get("outcome", Outcome.ANSWERED)
    exchange.settle(Settlement(outcome, EndedBy.UPSTREAM, reply, None, changed.get("error")), 10.0045)
    return ExchangeSettled(exchange)
