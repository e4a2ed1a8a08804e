"""A modern client and a handshake server that asks: the call is parked, and `requestState` finds it again.

Black box: raw requests over HTTP against a gateway process with a server of mcp 1.x behind it.
"""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from bridge.asking_client import EVERYTHING, AskingClient, forged, questions_of, refusal
from bridge.driver_process import DEADLINE_S
from bridge.one_server import gateway, server, until_marked
from waiting import until

PARKED = 200
SEED = 20260728
TOKENS = {"alice": "alice-9f3c27d1a8e64b05", "bob": "bob-9f3c27d1a8e64b05"}
MISSING_CLIENT_CAPABILITY = -32021


TRANSPORTS = ["http", "stdio"]


def client(port: int, transport: str = "http", **more: Any) -> AskingClient:
    return AskingClient(port, f"/servers/legacy-{transport}/mcp", **more)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parked")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def port(folder: Path) -> AsyncIterator[int]:
    """Of a gateway with that server behind it over HTTP."""
    async with server(folder) as config, gateway(config) as port:
        yield port


def text_of(answer: dict[str, Any]) -> str:
    return answer["result"]["content"][0]["text"]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_two_hundred_parked_calls_resumed_in_random_order_each_get_their_own_answer(
    tmp_path: Path, transport: str
) -> None:
    """On a handshake pipe nothing ties a question to a call; there it is so all the same."""
    async with (
        server(tmp_path, f"legacy-{transport}") as config,
        gateway(config) as port,
        client(port, transport) as asking,
    ):
        words = [f"word-{number}" for number in range(PARKED)]
        parked = dict(zip(words, await asyncio.gather(*map(asking.park, words)), strict=True))
        assert len({result["requestState"] for result in parked.values()}) == PARKED
        random.Random(SEED).shuffle(words)
        answers = await asyncio.gather(*(asking.resume(w, parked[w], f"name of {w}") for w in words))
        assert [text_of(answer) for answer in answers] == [f"{w} is name of {w}" for w in words]


async def test_a_state_of_before_a_restart_is_refused_at_once(tmp_path: Path) -> None:
    async with server(tmp_path) as config:
        async with gateway(config) as port, client(port) as asking:
            parked = await asking.park("left")
        async with gateway(config) as port, client(port) as asking:
            assert "restarted" in refusal(await asking.resume("left", parked, "too late"))
            again = await asking.park("left")
            assert text_of(await asking.resume("left", again, "anew")) == "left is anew"


async def test_a_forged_state_is_refused_and_the_call_goes_on_waiting(port: int) -> None:
    async with client(port) as asking:
        parked = await asking.park("mine")
        for state in (forged(parked["requestState"]), "", "x", "a.b.c", "\u0000", "é" * 2000):
            refusal(await asking.resume("mine", parked | {"requestState": state}, "evil"))
        assert text_of(await asking.resume("mine", parked, "good")) == "mine is good"


async def test_a_state_is_good_once(port: int) -> None:
    async with client(port) as asking:
        parked = await asking.park("once")
        assert text_of(await asking.resume("once", parked, "first")) == "once is first"
        assert "already used" in refusal(await asking.resume("once", parked, "second"))


async def test_of_two_retries_at_once_one_is_answered(port: int) -> None:
    async with client(port) as asking:
        parked = await asking.park("race")
        answers = await asyncio.gather(*(asking.resume("race", parked, f"runner-{n}") for n in range(8)))
        won = [answer for answer in answers if "result" in answer]
        assert len(won) == 1, answers
        assert text_of(won[0]).startswith("race is runner-")
        for answer in answers:
            if "error" in answer:
                refusal(answer)


async def test_a_state_is_of_no_use_to_another_principal(tmp_path: Path) -> None:
    entries = [f'{{ token = "{token}", principal = "{name}" }}' for name, token in TOKENS.items()]
    async with (
        server(tmp_path, settings=f"tokens = [{', '.join(entries)}]") as config,
        gateway(config) as port,
        client(port, token=TOKENS["alice"]) as alice,
        client(port, token=TOKENS["bob"]) as bob,
    ):
        parked = await alice.park("hers")
        assert "somebody else" in refusal(await bob.resume("hers", parked, "his"))
        assert text_of(await alice.resume("hers", parked, "Alice")) == "hers is Alice"


async def test_a_state_is_of_no_use_to_another_request(port: int) -> None:
    async with client(port) as asking:
        parked = await asking.park("this")
        assert "another request" in refusal(await asking.resume("that", parked, "x"))
        assert "another request" in refusal(await asking.resume("this", parked, "x", tool="echo"))
        assert text_of(await asking.resume("this", parked, "right")) == "this is right"


async def test_a_retry_without_the_answer_is_asked_again(port: int) -> None:
    """2026-07-28 basic/patterns/mrtr, "Error Handling"."""
    async with client(port) as asking:
        parked = await asking.park("slow")
        stray = {"nobody asked": {"action": "accept", "content": {}}}
        again = (await asking.resume("slow", parked, "", inputResponses=stray))["result"]
        assert again["resultType"] == "input_required"
        (question,) = again["inputRequests"].values()
        assert question["params"]["message"] == "A name for slow?"
        assert text_of(await asking.resume("slow", again, "done")) == "slow is done"


async def test_a_retry_that_never_comes_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async with (
        server(tmp_path, settings="answer_timeout_s = 3") as config,
        gateway(config) as port,
        client(port) as asking,
    ):
        parked = await asking.park("forgotten")
        await until_marked(tmp_path, "forgotten")
        assert "expired" in refusal(await asking.resume("forgotten", parked, "too late"))


async def test_a_question_that_the_client_cannot_answer_fails_with_the_error_for_that(
    port: int,
) -> None:
    async with client(port, capabilities={}) as mute:
        error = (await mute.ask("ask_back", {"word": "mute"}))["error"]
        assert error["code"] == MISSING_CLIENT_CAPABILITY
        assert "elicitation" in error["data"]["requiredCapabilities"]
        assert error["data"]["hint"]


async def test_a_page_is_not_offered_to_a_client_that_only_fills_in_forms(port: int) -> None:
    async with client(port) as asking:
        error = (await asking.ask("open_page", {}))["error"]
        assert error["code"] == MISSING_CLIENT_CAPABILITY
        assert error["data"]["requiredCapabilities"] == {"elicitation": {"url": {}}}


async def test_on_a_pipe_each_call_gets_its_own_questions_whatever_else_is_asked(tmp_path: Path) -> None:
    """Three questions at once in one call, beside calls that ask one: nothing on a pipe tells them apart."""
    async with (
        server(tmp_path, "legacy-stdio") as config,
        gateway(config) as port,
        client(port, "stdio", capabilities={"elicitation": {}, "sampling": {}, "roots": {}}) as asking,
    ):
        # A parked call keeps its process to itself while there are fewer than four: now there are four. Calls
        # that share one are told apart by time alone, and a busy machine is slow between two questions.
        first = {word: await asking.park(word) for word in ("a", "b", "c", "d")}
        for word, each in first.items():
            assert text_of(await asking.resume(word, each, "Ada")) == f"{word} is Ada"
        for turn in range(5):
            words = [f"{turn}-{number}" for number in range(3)]
            three, *parked = await asyncio.gather(
                asking.ask("ask_at_once", {}), *(asking.park(word) for word in words)
            )
            # On a busy machine the server may need longer for its three than the gateway waits for more.
            assert questions_of(three) <= EVERYTHING
            for word, each in zip(words, parked, strict=True):
                assert text_of(await asking.resume(word, each, "Ada")) == f"{word} is Ada"
            done = await asking.answer_all("ask_at_once", {}, three["result"])
            while "inputRequests" in done["result"]:
                done = await asking.answer_all("ask_at_once", {}, done["result"])
            assert text_of(done) == "heard, Ada of file:///root"


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_parked_call_outlives_the_time_limit_of_its_server(tmp_path: Path, transport: str) -> None:
    """A person may think longer than a server may take."""
    async with (
        server(tmp_path, f"legacy-{transport}", "timeout_s = 3") as config,
        gateway(config) as port,
        client(port, transport) as asking,
    ):

        async def is_up() -> bool:
            return "result" in await asking.ask("echo", {"text": "there?"})

        await until(is_up)  # a process of this client's own may start for longer than the limit
        parked = await asking.park("slow")
        await asyncio.sleep(3.5)  # not a wait for something: the passing of time is what is tested
        assert text_of(await asking.resume("slow", parked, "Ada")) == "slow is Ada"


async def test_what_a_server_answered_without_waiting_is_there_for_the_retry(folder: Path, port: int) -> None:
    async with client(port) as asking:
        parked = await asking.park("hasty", tool="ask_impatient")
        await until_marked(folder, "hasty")
        answer = await asking.resume("hasty", parked, "too late", tool="ask_impatient")
        assert text_of(answer) == "gave up"


async def test_a_parked_call_whose_server_has_ended_fails_at_its_retry(tmp_path: Path) -> None:
    async with (
        server(tmp_path, "legacy-stdio") as config,
        gateway(config) as port,
        client(port, "stdio") as asking,
    ):
        parked = await asking.park("orphan")
        os.kill(int((tmp_path / "orphan.pid").read_text()), signal.SIGKILL)
        error = (await asking.resume("orphan", parked, "Ada"))["error"]
        assert error["data"]["code"].startswith("upstream."), error


async def test_a_state_of_one_address_is_of_no_use_at_another(port: int) -> None:
    async with client(port) as direct, AskingClient(port, "/mcp") as aggregate:
        parked = await direct.park("here")
        refusal(await aggregate.resume("here", parked, "x", tool="legacy-http__ask_back"))
        assert text_of(await direct.resume("here", parked, "Ada")) == "here is Ada"


async def test_a_retry_may_write_its_params_in_another_order_and_with_another_meta(port: int) -> None:
    async with client(port) as asking:
        parked = await asking.park("same")
        answers = {key: {"action": "accept", "content": {"name": "Ada"}} for key in parked["inputRequests"]}
        params = {
            "requestState": parked["requestState"],
            "_meta": {**asking.meta, "progressToken": "new", "com.example/anything": 1},
            "inputResponses": answers,
            "arguments": {"word": "same"},
            "name": "ask_back",
        }
        assert text_of(await asking.request("tools/call", params)) == "same is Ada"


async def test_a_client_that_hangs_up_on_its_retry_cancels_the_call(folder: Path, port: int) -> None:
    async with client(port) as asking:
        parked = await asking.park("leaving", tool="ask_then_wait")
        answers = {key: {"action": "accept", "content": {"name": "Ada"}} for key in parked["inputRequests"]}
        params = {
            "name": "ask_then_wait",
            "arguments": {"word": "leaving"},
            "inputResponses": answers,
            "requestState": parked["requestState"],
            "_meta": asking.meta,
        }
        stream = await asking.send("tools/call", params)
        await until_marked(folder, "leaving waited began")
        await stream.hang_up()
        await until_marked(folder, "leaving waited")


async def test_listeners_of_one_server_each_hear_what_they_asked_for(port: int) -> None:
    """One connection to the server feeds both; the end of one does not end what the other follows."""
    uris = ["bridge://legacy-http/text", "bridge://legacy-http/pixel"]
    updated = "notifications/resources/updated"
    async with client(port) as asking:
        streams = []
        for rpc_id, wanted in ((b"11", uris), (b"12", uris[:1])):
            filters = {"resourceSubscriptions": wanted, "toolsListChanged": rpc_id == b"12"}
            stream = await asking.send("subscriptions/listen", {"notifications": filters}, rpc_id)
            await asyncio.wait_for(stream.read_head(), DEADLINE_S)
            acknowledged = await stream.next()
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            streams.append(stream)
        both, one = streams
        await asking.ask("touch", {"uri": uris[1]})
        await asking.ask("touch", {"uri": uris[0]})
        for stream, expected, rpc_id in ((both, uris[::-1], 11), (one, uris[:1], 12)):
            for uri in expected:
                params = (await stream.next())["params"]
                assert params["uri"] == uri
                assert params["_meta"]["io.modelcontextprotocol/subscriptionId"] == rpc_id
        await one.hang_up()
        await asking.ask("rename", {"kind": "tools", "name": "unheard"})
        await asking.ask("touch", {"uri": uris[0]})
        frame = await both.next()
        assert (frame["method"], frame["params"]["uri"]) == (updated, uris[0])
