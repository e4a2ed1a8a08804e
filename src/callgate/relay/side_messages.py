"""Messages that pass beside a call and its reply go to the record too: notifications either way, and the
questions that servers ask."""

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from callgate.model.events import Aside, ExchangeOpened, ExchangeSettled, NoticePassed
from callgate.model.exchange import Arrival, EndedBy, Exchange, Hop, Outcome, Settlement
from callgate.model.identity import new_exchange_id
from callgate.model.reply import Answer, Asking, Notice, Said, Undelivered, Withdrawn
from callgate.model.session import Session
from callgate.model.upstream_news import ServerMessage
from callgate.ports.event_sink import EventSink

_PASSED_ON = Settlement(Outcome.ANSWERED, EndedBy.GATEWAY)
_WITHDRAWN = Settlement(Outcome.CANCELLED, EndedBy.UPSTREAM)
_KEPT_BACK = Settlement(Outcome.REFUSED, EndedBy.GATEWAY, error="No client was told of it")
# What nobody called for is not kept in any length.
_MAX_ASIDE_BYTES = 64 * 1024


@dataclass(slots=True, eq=False)
class _Question:
    """As the client was asked it, and as the record knows it."""

    asking: Asking
    exchange: Exchange
    is_parked: bool = False  # it outlives the request during which it was asked


class SideMessages:
    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._asked: dict[Asking, _Question] = {}  # by what the upstream said

    def notified(self, arrival: Arrival, session: Session, upstreams: Sequence[str]) -> None:
        """A client's notification went to these; to none: it was for us."""
        exchange = _exchange(arrival, session)
        if upstreams:
            exchange.server_name = upstreams[0] if len(upstreams) == 1 else "aggregate"
        now = exchange.opened_mono
        exchange.hops = [Hop(name, arrival.method, arrival.params, now, ended_mono=now) for name in upstreams]
        self._tell(exchange)

    def pass_on(self, item: Said, call: Exchange) -> Said:
        """What a server said while it was called; returns what the client is to be told."""
        if isinstance(item, Notice):
            self._tell(_said(call, item.method, item.params))
        elif isinstance(item, Asking):
            return self.ask(item, call)
        elif isinstance(item, Withdrawn):
            return self.withdraw(item)
        return item

    def ask(self, item: Asking, call: Exchange) -> Asking:
        """A question during a call; returns the one that is to be answered."""
        return self._ask(item, _said(call, item.method, item.params))

    def withdraw(self, item: Withdrawn) -> Withdrawn:
        """The server took a question back; returns it as the one that was to be answered."""
        question = self._asked.pop(item.question, None)
        if question is None:
            return item
        self._settle(question.exchange, _WITHDRAWN)
        return Withdrawn(question.asking, item.params)

    def park(self, asked: Iterable[Asking]) -> None:
        """These wait for their answers while no request is open."""
        parked = set(asked)
        for question in self._asked.values():
            question.is_parked |= question.asking in parked

    def give_up(self, asked: Iterable[Asking]) -> None:
        """These are not waited for any longer."""
        given_up = set(asked)
        self._end(lambda question: question.asking in given_up)

    def ask_out_of_turn(self, message: ServerMessage, session: Session | None) -> ServerMessage:
        """A server's question outside of any call, or its end, on its way to this client if there is one;
        returns what is to be passed on."""
        item = message.item
        if isinstance(item, Asking) and session is not None:
            exchange = _exchange(_arrival(item, session), session)
            exchange.sender, exchange.server_name = "server", message.upstream
            item = self._ask(item, exchange)
        elif isinstance(item, Withdrawn):
            item = self.withdraw(item)
        return dataclasses.replace(message, item=item)

    def said_out_of_turn(self, message: ServerMessage, is_passed_on: bool, session: Session | None) -> None:
        """What a server said outside of any call: a notification, or a question that was put to nobody."""
        item = message.item
        if isinstance(item, Withdrawn):
            return  # the end of a question that was told already
        now_s = time.time()
        aside = Aside(
            event_id=new_exchange_id(now_s),
            at_s=now_s,
            method=item.method,
            settlement=_PASSED_ON if is_passed_on else _kept_back(item),
            is_notification=item.method.startswith("notifications/"),
            params=item.params if len(item.params) <= _MAX_ASIDE_BYTES else b"",
            size_bytes=len(item.params),
            sender="server",
            server_name=message.upstream,
            session_id=message.session_id,
            principal=None if session is None else session.principal.name,
        )
        self._sink.emit(aside)

    def end(self, session: Session) -> None:
        """Whatever was asked of it will not be answered any more."""
        self._end(lambda question: question.exchange.session is session)

    def forget(self, call: Exchange) -> None:
        """The call ended: what its server asked meanwhile will not be answered any more."""
        if self._asked:
            rpc_id, session = call.arrival.rpc_id, call.session
            self._end(
                lambda question: (
                    not question.is_parked
                    and question.exchange.session is session
                    and question.exchange.arrival.rpc_id == rpc_id
                )
            )

    def _end(self, is_over: Callable[[_Question], bool]) -> None:
        for item, question in list(self._asked.items()):
            if is_over(question):
                del self._asked[item]
                self._settle(question.exchange, _WITHDRAWN)

    def _ask(self, item: Asking, exchange: Exchange) -> Asking:
        self._sink.emit(ExchangeOpened(exchange))

        def respond(answer: Answer) -> None:
            if self._asked.pop(item, None) is not None:
                outcome = Outcome.FAILED if answer.error is not None else Outcome.ANSWERED
                self._settle(exchange, Settlement(outcome, EndedBy.CLIENT, answer.result or answer.error))
            item.respond(answer)

        asking = Asking(item.method, item.params, respond)
        self._asked[item] = _Question(asking, exchange)
        return asking

    def _tell(self, notification: Exchange) -> None:
        notification.settle(_PASSED_ON, time.monotonic())
        self._sink.emit(NoticePassed(notification))

    def _settle(self, exchange: Exchange, settlement: Settlement) -> None:
        exchange.settle(settlement, time.monotonic())
        self._sink.emit(ExchangeSettled(exchange))


def _kept_back(item: Notice | Asking | Undelivered) -> Settlement:
    answer = item.answer if isinstance(item, Undelivered) else None
    if answer is None:
        return _KEPT_BACK
    if answer.result is not None:
        return Settlement(Outcome.ANSWERED, EndedBy.GATEWAY, answer.result)
    return Settlement(Outcome.REFUSED, EndedBy.GATEWAY, answer.error, error="It was answered for the client")


def _said(call: Exchange, method: str, params: bytes) -> Exchange:
    arrival = msgspec.structs.replace(call.arrival, method=method, params=params, headers=None)
    exchange = _exchange(arrival, call.session)
    exchange.sender = "server"
    exchange.server_name = call.hops[-1].upstream if call.hops else call.server_name
    exchange.tool_name = call.tool_name
    exchange.trace = call.trace
    return exchange


def _arrival(item: Asking, session: Session) -> Arrival:
    envelope = session.envelope
    return Arrival(
        item.method,
        None,
        item.params,
        envelope,
        session.principal,
        session.transport,
        envelope.client_label or session.transport,
        session,
        session.target,
        session.workspace,
    )


def _exchange(arrival: Arrival, session: Session) -> Exchange:
    now_s = time.time()
    return Exchange(new_exchange_id(now_s), arrival, session, now_s, time.monotonic())
