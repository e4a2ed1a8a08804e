"""Immutable facts, each emitted once into an `EventSink`, whatever becomes of them there."""

import msgspec

from callgate.model.exchange import Exchange
from callgate.model.session import Session


class SessionOpened(msgspec.Struct, frozen=True):
    session: Session


class SessionClosed(msgspec.Struct, frozen=True):
    session: Session


class ExchangeOpened(msgspec.Struct, frozen=True):
    exchange: Exchange


class ExchangeSettled(msgspec.Struct, frozen=True):
    """The exchange does not change any more from here on: a sink on another thread may read it."""

    exchange: Exchange


Event = SessionOpened | SessionClosed | ExchangeOpened | ExchangeSettled
