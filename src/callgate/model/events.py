"""Immutable facts, each emitted once into an `EventSink`, whatever becomes of them there."""

from dataclasses import dataclass

from callgate.model.exchange import Exchange
from callgate.model.session import Session


@dataclass(frozen=True, slots=True)
class SessionOpened:
    session: Session


@dataclass(frozen=True, slots=True)
class SessionClosed:
    session: Session


@dataclass(frozen=True, slots=True)
class ExchangeOpened:
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class ExchangeSettled:
    """The exchange does not change any more from here on: a sink on another thread may read it."""

    exchange: Exchange


Event = SessionOpened | SessionClosed | ExchangeOpened | ExchangeSettled
