"""What a server says by itself, and to which call it belongs: notices, and the questions that it puts to its
client (sampling, elicitation, roots), until they are answered or withdrawn.

Rules
1. A client is asked exactly what it declared for this link. A shared link declared nothing.
2. What is said on a call's own stream goes to that call. On a pipe a question goes to the latest call that
   can take it, a notice to the only call under way. Everything else is news for `on_unsolicited`.
3. A call's time stands still while its client is asked something, and for no longer than a person may think.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from callgate.model.envelope import Envelope
from callgate.model.error_codes import UPSTREAM_FAILED
from callgate.model.errors import UpstreamError
from callgate.model.offers import KIND_BY_METHOD
from callgate.model.reply import Answer, Asking, Notice, Undelivered, Unsolicited, Withdrawn
from callgate.upstreams.link.call import Call
from callgate.upstreams.link.log_levels import MESSAGE, level_in, rank_of
from callgate.wire.connection.events import AskedBack, Notified
from callgate.wire.connection.incoming import own_id
from callgate.wire.eras.capabilities import lacks, missing_capability
from callgate.wire.eras.input_required import NEEDED_CAPABILITY
from callgate.wire.eras.subscription import LIST_CHANGED, UPDATED, subscription_of
from callgate.wire.params import peek

_TOO_MANY = Answer(error=b'{"code":-32603,"message":"Too many questions are open"}')
_NOT_DECLARED = Answer(error=b'{"code":-32601,"message":"The client did not declare that it answers this"}')
_NOBODY_ANSWERED = Answer(error=b'{"code":-32603,"message":"The client did not answer in time"}')
_PONG = Answer(result=b"{}")
# A person answers one after the other; a server that asks more than this at once is not asking.
_MAX_OPEN = 1000
# These are for everybody who listens, whichever call happens to be under way.
_PUBLIC_NOTICES = frozenset({*LIST_CHANGED.values(), UPDATED})
# Of these no client waits for what is logged meanwhile: they are asked for all who share the connection.
_ASKED_FOR_ALL = frozenset(
    {*KIND_BY_METHOD, "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)


class WordsCarrier(Protocol):
    """What goes over the link: see `traffic`."""

    name: str

    def under_way(self) -> list[Call]: ...

    def call_of(self, rpc_id: int) -> Call | None: ...

    def pause(self, call: Call) -> None: ...

    def resume(self, call: Call) -> None: ...

    def cancel(self, rpc_id: int) -> None: ...

    def answer_back(self, asked: AskedBack, answer: Answer) -> None: ...


class _Open(msgspec.Struct):
    question: Asking
    call: Call | None
    clock: asyncio.TimerHandle  # of the person who thinks


class ServerWords:
    def __init__(
        self,
        client: Envelope | None,
        carrier: WordsCarrier,
        thinking_s: Callable[[], float],
        on_unsolicited: Callable[[Unsolicited | Undelivered], None],
    ) -> None:
        self._client = client
        self._carrier = carrier
        self._thinking_s = thinking_s
        self._on_unsolicited = on_unsolicited
        self._open: dict[bytes, _Open] = {}  # by the server's own id

    def ask(self, asked: AskedBack) -> None:
        missing = self._lacks(asked.method, asked.params)
        if asked.method == "ping":
            self._answer_for_client(asked, _PONG)
        elif missing is not None:
            self._answer_for_client(asked, _NOT_DECLARED)
            self._fail_undeclared(asked, missing)
        elif len(self._open) >= _MAX_OPEN:
            self._answer_for_client(asked, _TOO_MANY)
        else:
            self._put(asked, self._to_ask(asked))

    def notified(self, said: Notified) -> None:
        method, params = said.method, said.params
        if method == "notifications/cancelled":
            taken_back = self._pop(bytes(peek(params).requestId))  # a question of its own
            if taken_back is not None:
                self._withdraw(taken_back, params)
                return
        call: Call | None = said.pending.call if said.pending is not None else None
        if (subscription := subscription_of(params)) is not None:
            call = self._carrier.call_of(own_id(subscription)) or call
            if call is None:  # of a subscription that is over: the one after it told of it too
                self._on_unsolicited(Undelivered(method, params))
                return
        elif call is None and method not in _PUBLIC_NOTICES:
            running = [call for call in self._carrier.under_way() if not self._is_asked(call)]
            if method == MESSAGE:
                running = [call for call in running if call.method not in _ASKED_FOR_ALL]
            call = running[0] if len(running) == 1 else None
            if method == MESSAGE and len(running) > 1 and self._client is None:
                # It is of one of the calls, and nobody knows of which.
                self._on_unsolicited(Undelivered(method, params))
                return
        if call is None:
            self._on_unsolicited(Notice(method, params))
        elif method != MESSAGE or not call.log_floor or rank_of(level_in(params)) >= call.log_floor:
            call.put(Notice(method, params))

    def _is_asked(self, call: Call) -> bool:
        """Whether it waits for an answer already."""
        return any(one.call is call for one in self._open.values())

    def forget_all(self) -> None:
        """The connection they were put on is gone: an answer would reach nobody."""
        for rpc_id in list(self._open):
            self._pop(rpc_id)

    def _put(self, asked: AskedBack, call: Call | None) -> None:
        def respond(answer: Answer) -> None:
            if self._pop(asked.rpc_id) is not None:
                self._resume(call)
                self._carrier.answer_back(asked, answer)

        question = Asking(asked.method, asked.params, respond)
        loop = asyncio.get_running_loop()
        clock = loop.call_later(self._thinking_s(), self._give_up, asked.rpc_id, question)
        self._pop(asked.rpc_id)  # a server that uses an id twice
        self._open[asked.rpc_id] = _Open(question, call, clock)
        if call is None:
            self._on_unsolicited(question)
        else:
            self._carrier.pause(call)  # a person may have to think
            call.put(question)

    def _to_ask(self, asked: AskedBack) -> Call | None:
        if asked.pending is not None:
            call: Call = asked.pending.call
            return call if call.may_be_asked else None
        may_be = [call for call in self._carrier.under_way() if call.may_be_asked]
        running = [call for call in may_be if not self._is_asked(call)]
        return (running or may_be or [None])[-1]

    def _lacks(self, method: str, params: bytes) -> bytes | None:
        """The capability that this question needs and nobody here declared; None when it may be put."""
        if self._client is None:
            return lacks(b"{}", method, params) or b"{}"
        return lacks(self._client.capabilities, method, params)

    def _fail_undeclared(self, asked: AskedBack, missing: bytes) -> None:
        """A modern client is told which capability its call would need (2026-07-28, basic, error codes)."""
        call: Call | None = asked.pending.call if asked.pending is not None else None
        if call is None and len(under_way := self._carrier.under_way()) == 1:
            call = under_way[0]
        if call is None or call.declared is None or call.is_over or asked.method not in NEEDED_CAPABILITY:
            return
        self._carrier.cancel(call.rpc_id)
        if lacks(call.declared, asked.method, asked.params) is not None:
            call.put(missing_capability(missing))
        else:
            text = (
                f'{self._carrier.name} asks the client something, which isolation = "shared" does not allow'
            )
            hint = 'Set isolation = "auto" for this server'
            call.put(UpstreamError(UPSTREAM_FAILED, text, hint=hint))

    def _give_up(self, rpc_id: bytes, question: Asking) -> None:
        found = self._open.get(rpc_id)
        if found is not None and found.question is question:
            question.respond(_NOBODY_ANSWERED)
            self._withdraw(found, b"")

    def _withdraw(self, found: _Open, params: bytes) -> None:
        self._resume(found.call)
        say = self._on_unsolicited if found.call is None else found.call.put
        say(Withdrawn(found.question, params))

    def _resume(self, call: Call | None) -> None:
        if call is not None:
            self._carrier.resume(call)

    def _pop(self, rpc_id: bytes) -> _Open | None:
        found = self._open.pop(rpc_id, None)
        if found is not None:
            found.clock.cancel()
        return found

    def _answer_for_client(self, asked: AskedBack, answer: Answer) -> None:
        self._carrier.answer_back(asked, answer)
        self._on_unsolicited(Undelivered(asked.method, asked.params, answer))
