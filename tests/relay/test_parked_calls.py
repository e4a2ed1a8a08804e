"""A modern client in front of a legacy server: what parks, what resumes, what never reaches the client."""

import asyncio
import json
from functools import partial
from typing import Any

import pytest
from relay.stage import RememberingSink, StagedUpstream

from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallgateError
from callgate.model.exchange import Arrival, Exchange, Hop, Outcome
from callgate.model.identity import LOCAL
from callgate.model.reply import Answer, Asking, Notice, Reply, RpcFault, Said, Tell, Withdrawn, tell_nobody
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.relay.parked_calls import BridgeSettings, ParkedCalls
from callgate.relay.side_messages import SideMessages

CLIENT = Envelope(Era.MODERN, "2026-07-28", capabilities=b'{"elicitation":{"form":{},"url":{}}}')
FORM = b'{"message":"m","requestedSchema":{}}'


class AskingServer(StagedUpstream):
    """Says its items one after the other; an answer to a question is remembered."""

    def __init__(self, *items: Said | Reply | bytes | float) -> None:
        super().__init__("old")
        self.items = items
        self.answers: list[Answer] = []
        self.questions: list[Asking] = []
        self.is_closed = False

    async def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        self.asked.append((hop.method, hop.params))
        try:
            for item in self.items:
                if isinstance(item, float | int):  # a pause: until then the client was asked
                    while not self.answers:
                        await asyncio.sleep(0)
                elif isinstance(item, bytes):
                    self.questions.append(Asking(item.decode(), FORM, self.answers.append))
                    await tell(self.questions[-1])
                elif isinstance(item, Reply):
                    return item
                else:
                    await tell(item)
            raise AssertionError("the items end with a reply")
        finally:
            self.is_closed = True


def exchange_of(params: dict[str, Any]) -> tuple[Exchange, Hop, Asker]:
    raw = json.dumps(params).encode()
    arrival = Arrival("tools/call", b"1", raw, CLIENT, LOCAL, "http", "test")
    session = Session("s", LOCAL, "http", CLIENT, 0.0, 0.0)
    exchange = Exchange("e", arrival, session, 0.0, 0.0)
    return exchange, Hop("old", "tools/call", raw, 0.0), Asker(CLIENT, session, b"1")


async def play(calls: ParkedCalls, server: AskingServer, **params: Any) -> list[Said | Reply]:
    exchange, hop, asker = exchange_of({"name": "x", **params})
    items: list[Said | Reply] = []

    async def hear(said: Said) -> None:
        items.append(said)

    items.append(await calls.ask(partial(server.ask, hop, asker), exchange, hop, hear))
    return items


def parked(timeout_s: float = 60, sink: RememberingSink | None = None) -> ParkedCalls:
    return ParkedCalls(BridgeSettings(timeout_s, b"k" * 32), SideMessages(sink or RememberingSink()))


def result_of(items: list[Said | Reply]) -> dict[str, Any]:
    reply = items[-1]
    assert isinstance(reply, Reply)
    assert reply.result is not None
    return json.loads(reply.result)


async def test_a_question_that_mrtr_does_not_know_is_answered_for_the_client() -> None:
    server = AskingServer(b"vendor/question", 0.0, Reply(result=b'{"content":[]}'))
    assert result_of(await play(parked(), server)) == {"content": []}
    assert b"-32601" in (server.answers[0].error or b"")


async def test_the_end_of_a_page_is_not_told_to_a_client_that_never_knew_its_id() -> None:
    done = Notice("notifications/elicitation/complete", b'{"elicitationId":"7"}')
    items = await play(parked(), AskingServer(done, Reply(result=b"{}")))
    assert [type(item) for item in items] == [Reply]


async def test_a_question_that_was_taken_back_is_not_put() -> None:
    server = AskingServer(b"elicitation/create")
    question = Asking("elicitation/create", FORM, server.answers.append)
    server.items = (question, Withdrawn(question), Reply(result=b'{"content":[]}'))
    assert result_of(await play(parked(), server)) == {"content": []}


async def test_a_retry_without_the_answer_is_asked_again_and_one_with_it_goes_on() -> None:
    calls, server = parked(), AskingServer(b"elicitation/create", 0.0, Reply(result=b'{"content":[]}'))
    first = result_of(await play(calls, server))
    again = result_of(
        await play(calls, server, requestState=first["requestState"], inputResponses={"no": {}})
    )
    assert again["inputRequests"] == first["inputRequests"]
    assert again["requestState"] != first["requestState"]
    answers = {"elicitation_1": {"action": "accept"}}
    done = await play(calls, server, requestState=again["requestState"], inputResponses=answers)
    assert result_of(done) == {"content": []}
    assert (len(server.asked), server.answers) == (1, [Answer(result=b'{"action": "accept"}')])


async def test_a_question_is_in_the_record_until_it_is_answered_also_while_no_request_is_open() -> None:
    sink = RememberingSink()
    calls, server = parked(sink=sink), AskingServer(b"elicitation/create", 0.0, Reply(result=b"{}"))
    first = result_of(await play(calls, server))
    assert not sink.all_settled
    answers = {"elicitation_1": {"action": "accept"}}
    await play(calls, server, requestState=first["requestState"], inputResponses=answers)
    (told,) = sink.all_settled
    assert told.settlement is not None
    assert (told.sender, told.arrival.method) == ("server", "elicitation/create")
    assert (told.settlement.outcome, told.settlement.reply) == (Outcome.ANSWERED, b'{"action": "accept"}')


async def test_a_question_that_nobody_comes_back_for_is_cancelled_in_the_record() -> None:
    sink = RememberingSink()
    calls, server = parked(sink=sink), AskingServer(b"elicitation/create", 0.0, Reply(result=b"{}"))
    await play(calls, server)
    await calls.close()
    (told,) = sink.all_settled
    assert told.settlement is not None
    assert told.settlement.outcome is Outcome.CANCELLED


async def test_params_that_cannot_be_read_park_nothing() -> None:
    calls, server = parked(), AskingServer(b"elicitation/create", 0.0)
    exchange, hop, asker = exchange_of({})
    raw = b'{"name":"x","arguments":{"n":1e400}}'
    arrival = Arrival("tools/call", b"1", raw, CLIENT, LOCAL, "http", "test")
    exchange.arrival = arrival
    with pytest.raises(CallgateError):
        await calls.ask(partial(server.ask, hop, asker), exchange, hop, tell_nobody)
    assert server.is_closed


async def test_a_page_that_must_be_visited_first_is_asked_for_and_the_call_made_anew() -> None:
    page = b'{"mode":"url","url":"u","elicitationId":"7"}'
    said = b'{"code":-32042,"message":"m","data":{"elicitations":[%b]}}' % page
    calls, server = parked(), AskingServer(Reply(fault=RpcFault(-32042, "m", raw=said)))
    first = result_of(await play(calls, server))
    assert first["inputRequests"] == {
        "elicitation_1": {"method": "elicitation/create", "params": {"mode": "url", "url": "u"}}
    }
    server.items = (Reply(result=b'{"content":[]}'),)
    answers = {"elicitation_1": {"action": "accept"}}
    done = await play(calls, server, requestState=first["requestState"], inputResponses=answers)
    assert result_of(done) == {"content": []}
    assert len(server.asked) == 2


async def test_what_nobody_comes_back_for_is_cancelled_at_the_server() -> None:
    calls, server = parked(timeout_s=0.01), AskingServer(b"elicitation/create", 0.0)
    await play(calls, server)
    while not server.is_closed:
        await asyncio.sleep(0.01)
    await calls.close()


async def test_a_close_cancels_what_is_parked() -> None:
    calls, server = parked(), AskingServer(b"elicitation/create", 0.0)
    await play(calls, server)
    await calls.close()
    assert server.is_closed
