"""A legacy client in front of a modern server that asks for input."""

import json

import pytest

from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallerError, CallgateError, UpstreamError
from callgate.model.reply import Answer, Asking, Reply, Said, Withdrawn
from callgate.relay.rounds import ask_in_rounds

CLIENT = Envelope(Era.LEGACY, "2025-11-25", capabilities=b'{"elicitation":{},"sampling":{}}')
FORM = {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {}}}
SAMPLE = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}


class Server:
    """Answers each leg with the next of its results."""

    def __init__(self, *results: dict[str, object]) -> None:
        self.results = list(results)
        self.asked: list[dict[str, object]] = []

    async def leg(self, params: bytes) -> Reply:
        self.asked.append(json.loads(params))
        return Reply(result=json.dumps(self.results.pop(0)).encode())


def wants(state: str = "s", **requests: object) -> dict[str, object]:
    return {"resultType": "input_required", "inputRequests": requests, "requestState": state}


async def play(
    server: Server, answer: Answer | None, timeout_s: float = 5, items: list[Said | Reply] | None = None
) -> list[Said | Reply]:
    """What the client gets, when it gives every question this answer at once, or none at all."""
    items = [] if items is None else items

    async def hear(said: Said) -> None:
        items.append(said)
        if isinstance(said, Asking) and answer is not None:
            said.respond(answer)

    items.append(await ask_in_rounds(server.leg, b'{"name":"x"}', CLIENT, timeout_s, hear))
    return items


async def test_questions_are_put_and_their_answers_go_back_with_the_state_until_the_result_is_complete() -> (
    None
):
    server = Server(wants("one", a=FORM, b=SAMPLE), wants("two", c=FORM), {"content": []})
    items = await play(server, Answer(result=b'{"action":"decline"}'))
    assert [item.method for item in items if isinstance(item, Asking)] == [
        "elicitation/create",
        "sampling/createMessage",
        "elicitation/create",
    ]
    assert items[-1] == Reply(result=b'{"content": []}')
    declined = {"action": "decline"}
    assert server.asked == [
        {"name": "x"},
        {"name": "x", "inputResponses": {"a": declined, "b": declined}, "requestState": "one"},
        {"name": "x", "inputResponses": {"c": declined}, "requestState": "two"},
    ]


async def test_a_form_that_failed_at_the_client_counts_as_cancelled() -> None:
    server = Server(wants(a=FORM), {"content": []})
    await play(server, Answer(error=b'{"code":-1,"message":"broken"}'))
    assert server.asked[1]["inputResponses"] == {"a": {"action": "cancel"}}


async def test_any_other_error_of_the_clients_is_the_answer_to_its_call() -> None:
    server = Server(wants(a=SAMPLE))
    items = await play(server, Answer(error=b'{"code":-1,"message":"the user said no"}'))
    reply = items[-1]
    assert isinstance(reply, Reply)
    assert reply.fault is not None
    assert reply.fault.message == "the user said no"
    assert len(server.asked) == 1


async def test_a_question_that_nobody_answers_is_withdrawn_and_ends_the_call() -> None:
    server = Server(wants(a=FORM))
    items: list[Said | Reply] = []
    with pytest.raises(CallerError) as raised:
        await play(server, None, timeout_s=0.01, items=items)
    assert raised.value.code.code == "caller.unanswered"
    assert isinstance(items[-1], Withdrawn)
    assert items[-1].question is items[0]


@pytest.mark.parametrize(
    ("requests", "code"),
    [
        ({"a": {"method": "roots/list"}}, "caller.missing_capability"),
        ({"a": {"method": "tools/call", "params": {"name": "rm"}}}, "upstream.failed"),
        ({str(number): FORM for number in range(101)}, "upstream.failed"),
    ],
)
async def test_what_the_client_may_not_be_asked_ends_the_call_before_anything_is_put(
    requests: dict[str, object], code: str
) -> None:
    server = Server(wants("s", **requests))
    with pytest.raises(CallgateError) as raised:
        await play(server, Answer(result=b"{}"))
    assert raised.value.code.code == code


async def test_a_server_that_never_has_enough_is_left() -> None:
    server = Server(*(wants(a=FORM) for _ in range(40)))
    with pytest.raises(UpstreamError):
        await play(server, Answer(result=b"{}"))
    assert len(server.asked) == 32
