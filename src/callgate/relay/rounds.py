"""Legacy client, modern server: a result that asks for input becomes real questions, and the server is
asked again.

Rules
1. Every member of `inputRequests` is put to the client as a request of its own, all at once; their answers
   and the exact `requestState` go back with a new request, a new leg of the same exchange, until the
   result is complete.
2. Nobody is asked what it did not declare: that ends the call with the specification's own error.
3. MRTR has no place for an error of the client's. A question about elicitation that failed counts as
   cancelled by the person; any other error of the client's is the answer to its call.

(2026-07-28, basic/patterns/mrtr.) The other direction is `parked_calls`.
"""

import asyncio
from collections.abc import Awaitable, Callable

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import CALLER_UNANSWERED, UPSTREAM_FAILED
from callgate.model.errors import CallerError, UpstreamError
from callgate.model.reply import Answer, Asking, Reply, Tell, Withdrawn
from callgate.wire.eras.capabilities import lacks, missing_capability
from callgate.wire.eras.faults import answer_in, question_in
from callgate.wire.eras.input_required import (
    NEEDED_CAPABILITY,
    InputRequired,
    read_input_required,
    retry_params,
    says_input_required,
)
from callgate.wire.fault_of import read_fault

# A server that still is not content after this many questions is asking in circles.
_MAX_ROUNDS = 32
# A person answers one after the other.
_MAX_QUESTIONS = 100
# A state without questions means "ask again": not in a hurry.
_PAUSE_S = 0.25

Leg = Callable[[bytes], Awaitable[Reply]]  # params in, the reply to one leg to the server out


async def ask_in_rounds(
    leg: Leg, params: bytes, client: Envelope, answer_timeout_s: float, tell: Tell
) -> Reply:
    for _ in range(_MAX_ROUNDS):
        reply = await leg(params)
        required = read_input_required(reply.result) if reply.result is not None else None
        if required is None:
            if reply.result is not None and says_input_required(reply.result):
                raise UpstreamError(
                    UPSTREAM_FAILED, "The server sent a request for input that cannot be read"
                )
            return reply
        answers = await _put(required, client, answer_timeout_s, tell)
        if isinstance(answers, Reply):
            return answers
        if not required.inputRequests:
            await asyncio.sleep(_PAUSE_S)
        params = retry_params(params, answers, required)
    raise UpstreamError(UPSTREAM_FAILED, f"The server asked for input {_MAX_ROUNDS} times in one call")


async def _put(
    required: InputRequired, client: Envelope, timeout_s: float, tell: Tell
) -> dict[str, bytes] | Reply:
    """Asks the client; an answer for each key, or the reply that ends the call instead."""
    _check(required, client)
    loop = asyncio.get_running_loop()
    questions: dict[str, tuple[Asking, asyncio.Future[Answer]]] = {}
    for key, request in required.inputRequests.items():
        answered: asyncio.Future[Answer] = loop.create_future()
        params = question_in(Era.LEGACY, request.method, bytes(request.params))
        question = Asking(request.method, params, _once(answered))
        questions[key] = (question, answered)
        await tell(question)
    if questions:
        _, late = await asyncio.wait([answered for _, answered in questions.values()], timeout=timeout_s)
        if late:
            for question, answered in questions.values():
                if answered in late:
                    await tell(Withdrawn(question))
            raise CallerError(
                CALLER_UNANSWERED,
                "A question of the server was not answered in time",
                hint=f"The limit is {timeout_s:g} s: [server] answer_timeout_s",
            )
    answers: dict[str, bytes] = {}
    for key, (question, answered) in questions.items():
        answer = answered.result()
        if answer.result is not None:
            answers[key] = answer_in(Era.MODERN, question.method, answer.result)
        elif question.method == "elicitation/create":
            answers[key] = b'{"action":"cancel"}'
        else:
            return Reply(fault=read_fault(answer.error or b"{}"))
    return answers


def _check(required: InputRequired, client: Envelope) -> None:
    """Raises UpstreamError for what no client is to be asked, CallerError for what this one cannot answer."""
    if len(required.inputRequests) > _MAX_QUESTIONS:
        raise UpstreamError(UPSTREAM_FAILED, f"The server asked more than {_MAX_QUESTIONS} things at once")
    for request in required.inputRequests.values():
        if request.method not in NEEDED_CAPABILITY:
            raise UpstreamError(
                UPSTREAM_FAILED, "The server asked for something that a client cannot be asked"
            )
        if (missing := lacks(client.capabilities, request.method, bytes(request.params))) is not None:
            raise missing_capability(missing)


def _once(answered: asyncio.Future[Answer]) -> Callable[[Answer], None]:
    def respond(answer: Answer) -> None:
        if not answered.done():
            answered.set_result(answer)

    return respond
