"""What passes beside a call and its reply is told to the record too: notifications either way, and the
questions that servers ask."""

import time
from collections.abc import Sequence

import msgspec

from callgate.model.events import ExchangeOpened, ExchangeSettled
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement
from callgate.model.identity import new_exchange_id
from callgate.model.reply import Answer, Asking, Item, Notice, Withdrawn
from callgate.model.session import Session
from callgate.ports.event_sink import EventSink

_PASSED_ON = Settlement(Outcome.ANSWERED, EndedBy.GATEWAY)
_WITHDRAWN = Settlement(Outcome.CANCELLED, EndedBy.UPSTREAM)


class Overheard:
    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._asked: dict[Asking, tuple[Asking, Exchange]] = {}  # by what the upstream said

    def notified(self, arrival: Arrival, session: Session, upstreams: Sequence[str]) -> None:
        """A client's notification went to these."""
        exchange = _exchange(arrival, session)
        exchange.server_name = upstreams[0] if len(upstreams) == 1 else "aggregate"
        now = exchange.opened_mono
        exchange.hops = [Hop(name, arrival.method, arrival.params, now, ended_mono=now) for name in upstreams]
        self._settle(exchange, _PASSED_ON)

    def pass_on(self, item: Item, call: Exchange) -> Item:
        """What a server said while it was called; returns what the client is to be told."""
        if isinstance(item, Notice):
            self._settle(_said(call, item.method, item.params), _PASSED_ON)
        elif isinstance(item, Asking):
            return self._ask(item, call)
        elif isinstance(item, Withdrawn) and item.question in self._asked:
            asking, exchange = self._asked.pop(item.question)
            self._settle(exchange, _WITHDRAWN)
            return Withdrawn(asking, item.params)
        return item

    def forget(self, call: Exchange) -> None:
        """The call ended: what its server asked meanwhile will not be answered any more."""
        if not self._asked:
            return
        for question, (_, exchange) in list(self._asked.items()):
            if exchange.session is call.session and exchange.arrival.rpc_id == call.arrival.rpc_id:
                del self._asked[question]
                self._settle(exchange, _WITHDRAWN)

    def _ask(self, item: Asking, call: Exchange) -> Asking:
        exchange = _said(call, item.method, item.params)
        self._sink.emit(ExchangeOpened(exchange))

        def respond(answer: Answer) -> None:
            if self._asked.pop(item, None) is not None:
                outcome = Outcome.FAILED if answer.error is not None else Outcome.ANSWERED
                self._settle(exchange, Settlement(outcome, EndedBy.CLIENT, answer.result or answer.error))
            item.respond(answer)

        asking = Asking(item.method, item.params, respond)
        self._asked[item] = (asking, exchange)
        return asking

    def _settle(self, exchange: Exchange, settlement: Settlement) -> None:
        exchange.settle(settlement, time.monotonic())
        self._sink.emit(ExchangeSettled(exchange))


def _said(call: Exchange, method: str, params: bytes) -> Exchange:
    arrival = msgspec.structs.replace(call.arrival, method=method, params=params, headers=None)
    exchange = _exchange(arrival, call.session)
    exchange.sender = "server"
    exchange.server_name = call.hops[-1].upstream if call.hops else call.server_name
    exchange.tool_name = call.tool_name
    return exchange


def _exchange(arrival: Arrival, session: Session) -> Exchange:
    now_s = time.time()
    return Exchange(new_exchange_id(now_s), arrival, session, now_s, time.monotonic())
