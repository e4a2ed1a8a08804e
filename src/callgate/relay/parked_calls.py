"""Modern client, legacy server: a question parks the call, and the client's retry resumes exactly that call.

Rules
1. A question of the server's ends the client's request with `input_required`; the call at the server goes on
   waiting here. Questions that come together are put together. What else the server says waits with the call.
2. The sealed `requestState` names one parked call, once, for one principal, one request and a limited time.
   Whatever else comes is refused with the reason; nothing is asked at the server for it.
3. A retry that lacks answers is asked for those again. A retry that never comes expires: the call is
   cancelled at the server.
4. A server that refuses a call until a url was visited (2025-11-25, -32042) is asked again by the retry.
5. A state that this process did not seal may be a modern server's own and passes; a legacy server's side
   refuses it.

Wire shapes and seals are `wire.eras.input_required` and `wire.sealed_claims`; the other direction is
`rounds`.
"""

import asyncio
import secrets
import time
from dataclasses import dataclass, field

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import CALLER_REQUEST_STATE, UPSTREAM_BUSY
from callgate.model.errors import CallerError, UpstreamError
from callgate.model.exchange import Arrival, Exchange, Hop
from callgate.model.reply import Answer, Asking, Notice, Reply, RpcFault, Said, Tell, Withdrawn, tell_nobody
from callgate.ports.answerer import Answering
from callgate.relay.side_messages import SideMessages
from callgate.task_set import TaskSet
from callgate.wire.eras.capabilities import lacks
from callgate.wire.eras.faults import question_in, url_elicitations
from callgate.wire.eras.input_required import (
    CALL_ANEW,
    NEEDED_CAPABILITY,
    ROUND_TRIP_METHODS,
    InputRequest,
    Retry,
    first_params,
    input_required_result,
    read_retry,
    request_digest,
)
from callgate.wire.params import with_member
from callgate.wire.sealed_claims import StateClaims, StateSeal

# Of one principal: a person answers one after the other, and each call holds a request open at its server.
_MAX_PARKED = 1_000
_MAX_PARKED_BYTES = 64 * 1024 * 1024
# A server that asks several things at once writes them in one go; its next question comes after an answer.
_TOGETHER_S = 0.02
_NO_QUESTION = Answer(error=b'{"code":-32601,"message":"A client of 2026-07-28 cannot be asked this"}')


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """How long a person may think, and what parked calls are sealed with."""

    answer_timeout_s: float
    state_key: bytes
    gateway: str | None = None  # the name of this process among replicas; None: there are none


@dataclass(slots=True)
class _Parked:
    principal: str
    hop: Hop  # the leg that was parked: what it knows of the server is true of the next leg too
    task: asyncio.Task[Reply] | None = None  # the call at the server; None: it is to be made again
    hear: Tell = tell_nobody  # of the request that is open
    is_heard: asyncio.Event = field(default_factory=asyncio.Event)  # there is one
    waiting: asyncio.Future[None] | None = None  # what that request waits on: the answer, or questions
    patience: asyncio.TimerHandle | None = None  # for questions that come together
    questions: dict[str, Asking] = field(default_factory=dict[str, Asking])
    answers: dict[str, bytes] = field(default_factory=dict[str, bytes])
    asked: int = 0  # questions so far: their keys are never used twice
    timer: asyncio.TimerHandle | None = None

    async def said(self, said: Said) -> None:
        """By the server, during the call. While no request is open it waits for the next one."""
        await self.is_heard.wait()
        if self.patience is not None:
            self.patience.cancel()
        await self.hear(said)
        if self.questions:
            self.patience = asyncio.get_running_loop().call_later(_TOGETHER_S, self.wake)

    def wake(self, _: object = None) -> None:
        self.is_heard.clear()
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)

    async def answered(self, task: asyncio.Task[Reply], hear: Tell) -> bool:
        """Whether the answer is there; False: the client is to be asked something first."""
        self.waiting = asyncio.get_running_loop().create_future()
        self.hear = hear
        self.is_heard.set()
        if not task.done():
            await self.waiting
        return task.done()

    async def close(self) -> None:
        """Nobody will ever read the answer: cancelled at the server."""
        if self.patience is not None:
            self.patience.cancel()
        if self.task is None:
            return
        if not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task])
        if not self.task.cancelled():
            self.task.exception()  # else asyncio reports that nobody asked for it

    @property
    def size_bytes(self) -> int:
        """What it keeps of others' bytes."""
        asked = sum(len(question.params) for question in self.questions.values())
        return len(self.hop.params) + asked + sum(map(len, self.answers.values()))

    def note(self, item: Asking | Withdrawn) -> None:
        """A question to be put, or one that the server took back."""
        if isinstance(item, Withdrawn):
            self.questions = {
                key: asked for key, asked in self.questions.items() if asked is not item.question
            }
        elif item.method in NEEDED_CAPABILITY:
            self.asked += 1
            self.questions[f"{item.method.partition('/')[0]}_{self.asked}"] = item
        else:  # MRTR knows no other question ("Server Requirements", 2)
            item.respond(_NO_QUESTION)

    def resume(self, hop: Hop, retry: Retry) -> bool:
        """Goes on as this leg with what the retry brings; False when an answer is still missing."""
        hop.rpc_id, hop.server_version = self.hop.rpc_id, self.hop.server_version
        hop.server_protocol = self.hop.server_protocol
        hop.params = first_params(hop.params)
        self.hop = hop
        for key in self.questions:
            answer = retry.responses.get(key, b"")
            if answer[:1] == b"{":
                self.answers[key] = answer
        if self.answers.keys() != self.questions.keys():
            return False
        for key, question in self.questions.items():
            question.respond(Answer(result=self.answers[key]))
        self.questions, self.answers = {}, {}
        return True


class ParkedCalls:
    def __init__(self, settings: BridgeSettings, side_messages: SideMessages) -> None:
        self._side_messages = side_messages
        self.timeout_s = settings.answer_timeout_s
        self._seal = StateSeal(settings.state_key)
        self._gateway = settings.gateway or secrets.token_urlsafe(6)
        self._has_replicas = settings.gateway is not None
        self._parked: dict[str, _Parked] = {}
        self._closing = TaskSet()

    async def ask(self, ask: Answering, exchange: Exchange, hop: Hop, tell: Tell) -> Reply:
        """`ask`: asks the server on this leg, unless the request resumes a call."""
        envelope = exchange.arrival.envelope
        retry = read_retry(exchange.arrival.params)
        resumed = self._take(retry, exchange) if retry is not None else None
        call = resumed or _Parked(exchange.arrival.principal.name, hop)

        async def hear(said: Said) -> None:
            if isinstance(said, Asking):
                call.note(self._side_messages.ask(said, exchange))
            elif isinstance(said, Withdrawn):
                call.note(self._side_messages.withdraw(said))
            elif not isinstance(said, Notice):
                await tell(said)
            elif (notice := _for_this_leg(said, envelope, resumed is not None)) is not None:
                await tell(notice)

        is_parked = False
        try:
            is_complete = resumed is None or retry is None or call.resume(hop, retry)
            if is_complete and call.task is None:
                call.task = asyncio.create_task(ask(call.said))
                call.task.add_done_callback(call.wake)
            if not is_complete or call.task is None or not await call.answered(call.task, hear):
                reply = self._park(call, exchange)
                is_parked = True
                return reply
            reply = call.task.result()
            if reply.fault is not None:
                reply = self._revisit(reply.fault, call, exchange) or reply
            return reply
        finally:
            if not is_parked:
                await call.close()

    def holder_of(self, arrival: Arrival) -> str | None:
        """Which other replica holds the call that this retry is meant for. None: it is none, or refused."""
        if arrival.method not in ROUND_TRIP_METHODS:
            return None
        retry = read_retry(arrival.params)
        claims = self._seal.open(retry.state) if retry is not None else None
        if claims is None or claims.gateway == self._gateway:
            return None
        digest = request_digest(arrival.target, arrival.method, arrival.params)
        is_valid = claims.problem(arrival.principal.name, digest, time.time()) is None
        return claims.gateway if is_valid else None

    async def close(self) -> None:
        for handle in list(self._parked):
            self._expire(handle)
        await self._closing.wait()

    def _revisit(self, fault: RpcFault, call: _Parked, exchange: Exchange) -> Reply | None:
        """`input_required` for a call that the server wants to be made again after a url was visited."""
        asked = url_elicitations(fault)
        capabilities = exchange.arrival.envelope.capabilities
        if not asked or any(lacks(capabilities, "elicitation/create", params) for params in asked):
            return None
        anew = _Parked(call.principal, call.hop)
        for params in asked:
            anew.note(Asking("elicitation/create", params, lambda answer: None))
        return self._park(anew, exchange)

    def _park(self, call: _Parked, exchange: Exchange) -> Reply:
        arrival = exchange.arrival
        waiting = [parked for parked in self._parked.values() if parked.principal == call.principal]
        size_bytes = sum(parked.size_bytes for parked in waiting)
        if len(waiting) >= _MAX_PARKED or size_bytes + call.size_bytes > _MAX_PARKED_BYTES:
            raise UpstreamError(
                UPSTREAM_BUSY,
                f"{len(waiting)} calls already wait for your answer",
                hint="Answer some of them first",
            )
        handle = secrets.token_urlsafe(16)
        digest = request_digest(arrival.target, arrival.method, arrival.params)
        claims = StateClaims(self._gateway, handle, call.principal, time.time() + self.timeout_s, digest)
        wanted = {
            key: InputRequest(
                one.method, msgspec.Raw(question_in(Era.MODERN, one.method, one.params) or b"{}")
            )
            for key, one in call.questions.items()
            if key not in call.answers
        }
        result = input_required_result(wanted, self._seal.seal(claims))
        # Last, when nothing can fail any more: what is entered here stays until it is taken or expires.
        self._parked[handle] = call
        self._side_messages.park(call.questions.values())
        call.timer = asyncio.get_running_loop().call_later(self.timeout_s, self._expire, handle)
        return Reply(result=result)

    def _take(self, retry: Retry, exchange: Exchange) -> _Parked | None:
        """The call that this retry resumes; None when the state is none of ours. Raises CallerError."""
        claims = self._seal.open(retry.state)
        if claims is None:
            return None
        arrival = exchange.arrival
        digest = request_digest(arrival.target, arrival.method, arrival.params)
        if (problem := claims.problem(arrival.principal.name, digest, time.time())) is not None:
            raise problem
        if claims.gateway != self._gateway:
            text = "This requestState is from before the gateway was restarted: its call is gone"
            if self._has_replicas:
                text = "The replica that held this call is gone or out of reach, and the call with it"
            raise CallerError(CALLER_REQUEST_STATE, text, hint=CALL_ANEW)
        parked = self._pop(claims.handle)
        if parked is None:
            raise CallerError(CALLER_REQUEST_STATE, "This requestState was already used", hint=CALL_ANEW)
        return parked

    def _pop(self, handle: str) -> _Parked | None:
        parked = self._parked.pop(handle, None)
        if parked is not None and parked.timer is not None:
            parked.timer.cancel()
        return parked

    def _expire(self, handle: str) -> None:
        parked = self._pop(handle)
        if parked is None:
            return
        self._side_messages.give_up(parked.questions.values())
        if parked.task is not None:
            self._closing.start(parked.close())


def _for_this_leg(notice: Notice, envelope: Envelope, is_resumed: bool) -> Notice | None:
    """What the call says: by the token of this request, and only what this one opted in to."""
    if notice.method == "notifications/elicitation/complete":
        return None  # gone in 2026-07-28, with the id it names (changelog, minor 11)
    if not is_resumed:
        return notice
    if notice.method == "notifications/progress":
        token = envelope.progress_token
        if token is None:
            return None
        return Notice(notice.method, with_member(notice.params, "progressToken", token))
    if notice.method == "notifications/message" and envelope.log_level is None:
        return None
    return notice
