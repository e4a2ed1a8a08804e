"""Three replicas behind a balancer that takes turns: to their clients they are one gateway."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from databases.database import Database
from end_to_end.raw_clients import ModernClient
from waiting import until

from replicas.fleet import NEWER, Fleet, running_fleet

pytestmark = pytest.mark.asyncio(loop_scope="module")
ASKABLE = {"elicitation": {"form": {}}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(postgres: Database, pgbouncer: Database) -> AsyncIterator[Fleet]:
    async with running_fleet(postgres, pgbouncer, extra=NEWER) as fleet:
        yield fleet


def text_of(answer: dict[str, Any]) -> str:
    assert "result" in answer, answer
    return answer["result"]["content"][0]["text"]


async def park(client: ModernClient, question: str) -> dict[str, Any]:
    answer = await client.call("counter__ask", {"question": question})
    assert answer["result"]["resultType"] == "input_required", answer
    return answer["result"]


def retry_of(question: str, parked: dict[str, Any], name: str) -> dict[str, Any]:
    (key,) = parked["inputRequests"]
    answers = {key: {"action": "accept", "content": {"name": name}}}
    arguments = {"question": question}
    return {
        "name": "counter__ask",
        "arguments": arguments,
        "requestState": parked["requestState"],
        "inputResponses": answers,
    }


async def test_handshake_clients_work_wherever_their_requests_arrive(fleet: Fleet) -> None:
    for _ in range(15):
        async with fleet.client() as client:
            counts = [text_of(await client.call("counter__count")) for _ in range(4)]
            assert [int(count.split()[0]) for count in counts] == [1, 2, 3, 4]
            assert len({count.split()[1] for count in counts}) == 1
            await client.end()
            ended = await client.send("tools/list")
            await ended.read_head()
            assert ended.status == 404
            await ended.hang_up()


async def test_a_modern_client_finds_its_server_s_memory_wherever_it_asks(fleet: Fleet) -> None:
    async with fleet.modern() as client:
        counts = [text_of(await client.call("counter__count")) for _ in range(7)]
    assert len({count.split()[1] for count in counts}) == 1
    numbers = [int(count.split()[0]) for count in counts]
    assert numbers == list(range(numbers[0], numbers[0] + 7))


@pytest.mark.parametrize(("server", "uri"), [("counter", "memo://one"), ("newer", "note://one")])
async def test_a_modern_client_meets_one_process_of_a_server_whatever_it_asks(
    fleet: Fleet, server: str, uri: str
) -> None:
    """Of either era: a process has memory, and each replica has one of its own."""
    processes: set[str] = set()
    async with fleet.modern() as client:
        for replica in fleet.replicas:
            client.port = replica.port
            for _ in range(2):  # the second is sent without a task, if it is sent from here
                processes.add(text_of(await client.call(f"{server}__count")).split()[1])
            read = await client.request("resources/read", {"uri": uri})
            processes.add(read["result"]["contents"][0]["text"].split()[1])
    assert len(processes) == 1


@pytest.mark.parametrize("server", ["counter", "newer"])
@pytest.mark.parametrize("path", ["/mcp", "/servers/{}/mcp"])
async def test_a_modern_client_is_told_of_new_tools_finds_and_calls_them_wherever_it_asks(
    fleet: Fleet, server: str, path: str
) -> None:
    prefix = "" if "servers" in path else f"{server}__"
    wanted = {"notifications": {"toolsListChanged": True}}
    async with fleet.modern(path=path.format(server)) as client:
        for replica in fleet.replicas:
            client.port = replica.port
            stream = await client.send("subscriptions/listen", wanted, b'"s"')
            await stream.read_head()
            await stream.until_method("notifications/subscriptions/acknowledged")
            client.port = fleet.replicas[0].port
            grown = text_of(await client.call(f"{prefix}grow"))
            await stream.until_method("notifications/tools/list_changed")
            await stream.hang_up()
            for other in fleet.replicas:
                client.port = other.port
                await client.until_names(lambda names, name=prefix + grown: name in names)
                assert "grown in" in text_of(await client.call(prefix + grown))


async def test_parked_calls_are_resumed_from_any_connection_in_any_order(fleet: Fleet) -> None:
    async with fleet.modern(capabilities=ASKABLE) as client:
        questions = [f"question-{number}" for number in range(15)]
        parked = await asyncio.gather(*(park(client, question) for question in questions))
        retries = [retry_of(*both, f"answer-{both[0]}") for both in zip(questions, parked, strict=True)]
        random.shuffle(retries)
        for retry in retries:
            question = retry["arguments"]["question"]
            answer = await client.request("tools/call", retry)
            assert text_of(answer) == f"{question} answer-{question}"
        for retry in retries:
            again = await client.request("tools/call", retry)
            assert again["error"]["data"]["code"] == "caller.request_state"
            assert "already used" in again["error"]["message"]
    answered = [line.removeprefix("answered ") for line in fleet.said() if "question-" in line]
    assert sorted(answered) == sorted(questions)


async def test_a_state_that_is_forged_or_of_another_request_asks_the_server_nothing(fleet: Fleet) -> None:
    async with fleet.modern(capabilities=ASKABLE) as client:
        parked = await park(client, "forge")
        retry = retry_of("forge", parked, "x")
        for state, said in (
            (parked["requestState"][:-3] + "AAA", "requestState"),
            ("cg1." + "A" * 8_000, "requestState"),
            (parked["requestState"][:40], "requestState"),
        ):
            answer = await client.request("tools/call", retry | {"requestState": state})
            assert answer["error"]["data"]["code"] == "caller.request_state", said
        other = retry | {"arguments": {"question": "another"}}
        answer = await client.request("tools/call", other)
        assert "another request" in answer["error"]["message"]
        assert "answered forge" not in fleet.said()
        assert text_of(await client.request("tools/call", retry)) == "forge x"


async def test_streams_answers_and_news_reach_the_client_wherever_its_stream_is(fleet: Fleet) -> None:
    async with fleet.client(capabilities=ASKABLE) as client:
        asked = await client.send("tools/call", {"name": "counter__ask", "arguments": {"question": "where"}})
        await asked.read_head()
        question = await asked.until_method("elicitation/create")
        await client.respond(question, {"action": "accept", "content": {"name": "here"}})
        assert text_of(await asked.next()) == "where here"
        await client.request("resources/subscribe", {"uri": "memo://one"})
        stream = await client.listen()
        await client.call("counter__touch")
        assert (await stream.until_method("notifications/resources/updated"))["params"]["uri"] == "memo://one"
        await stream.hang_up()
        await client.call("counter__touch")

        async def resumed() -> bool:
            """Refused while the old stream is not known to be closed."""
            again = await client.http(
                "GET", client.headers | {"accept": "text/event-stream", "last-event-id": "0.1"}
            )
            await again.read_head()
            if again.status == 200:
                await again.until_method("notifications/resources/updated")
            await again.hang_up()
            return again.status == 200

        await until(resumed)


async def test_a_cancellation_from_another_connection_reaches_the_server(fleet: Fleet) -> None:
    async with fleet.client() as client:
        waiting = await client.send("tools/call", {"name": "counter__wait"}, b'"w"')
        await until(lambda: "waiting" in fleet.said())
        await client.notify("notifications/cancelled", {"requestId": "w"})
        await until(lambda: "cancelled" in fleet.said())
        await waiting.read_head()
        assert await waiting.all() == []


async def test_a_modern_client_s_hang_up_cancels_at_the_home(fleet: Fleet) -> None:
    before = len([line for line in fleet.said() if line == "cancelled"])
    for _ in range(3):  # whichever replica is the home, two of these are passed on
        began = len([line for line in fleet.said() if line == "waiting"])
        async with fleet.modern() as client:
            await client.send("tools/call", {"name": "counter__wait", "arguments": {}})
            await until(lambda began=began: len([s for s in fleet.said() if s == "waiting"]) > began)
    await until(lambda: len([line for line in fleet.said() if line == "cancelled"]) == before + 3)


async def test_one_modern_client_is_one_session_in_the_record(fleet: Fleet) -> None:
    async with fleet.modern(path="/servers/counter/mcp") as client:
        for _ in range(6):
            await client.call("touch")
    sql = "SELECT count(DISTINCT session_id), count(*) FROM callgate.rpc_events WHERE tool_name = 'touch'"
    await until(lambda: fleet.ask(sql) == [["1", "6"]])


async def test_every_call_is_recorded_once_by_its_home(fleet: Fleet) -> None:
    async with fleet.client(info={"name": "once", "version": "1"}) as client:
        for _ in range(3):
            await client.call("counter__count")
    sql = "SELECT count(*) FROM callgate.rpc_events WHERE client LIKE 'once%' AND method = 'tools/call'"
    await until(lambda: fleet.ask(sql) == [["3"]])


async def test_ids_that_are_forged_cut_long_or_another_s_are_unknown_everywhere(fleet: Fleet) -> None:
    async with fleet.client() as client:
        good = client.session
        head, mac = good.rpartition(".")[0], good.rpartition(".")[2]
        other_home = good.replace(good.split(".")[1], "AAAAAAAA")
        for bad in (good[:-1], f"{head}.{'A' * len(mac)}", other_home, "cg2." + "A" * 8_000, "nonsense"):
            for _ in range(3):
                client.session = bad
                answer = await client.send("tools/list")
                await answer.read_head()
                assert answer.status == 404, bad
                assert (
                    json.loads((await answer.all())[0])["error"]["data"]["code"] == "caller.unknown_session"
                )
        client.session = good
        assert "counter__count" in await client.names()


async def test_a_replica_s_id_from_a_client_means_nothing_at_the_public_door(fleet: Fleet) -> None:
    async with fleet.client() as client:
        for _ in range(3):
            answer = await client.http(
                "POST",
                client.headers | {"callgate-hop": "anything.at-all"},
                b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
            )
            await answer.read_head()
            assert answer.status == 200
            await answer.hang_up()


async def test_a_large_body_passes_the_balancer_and_a_hop_and_no_secret_of_it_is_on_a_disk(
    fleet: Fleet,
) -> None:
    """nginx takes a megabyte unless told otherwise."""
    secret = "ghp_" + "R7kq2Lw9Xz4Tn8Vb3Mc6Jd1Hs5Gf0PyQaEuA"
    async with fleet.client(info={"name": "large", "version": "1"}) as client:
        for size in (3_000_000, 30_000, 30):
            body = {"filler": "x" * size, "note": f"token {secret}"}
            assert text_of(await client.call("counter__count", body))
    sql = "SELECT count(*) FROM callgate.rpc_events WHERE client LIKE 'large%' AND method = 'tools/call'"
    await until(lambda: fleet.ask(sql) == [["3"]])
    held = b"".join(path.read_bytes() for path in fleet.folder.rglob("*") if path.is_file())
    held += fleet.database.run("SELECT * FROM callgate_store.rpc_bodies").encode()
    assert b"filler" in held
    assert secret.encode() not in held
