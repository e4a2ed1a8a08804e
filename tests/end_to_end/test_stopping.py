"""SIGTERM to a real gateway: who is being served is served, and a balancer learns of it first."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from edge.http_probe import is_refused
from end_to_end.gateway_process import run_callgate
from end_to_end.raw_clients import Answering
from end_to_end.upstream_stage import Actor, Stage, client_of, staged, text_of
from upstreams.processes import is_alive
from waiting import until

CALLS = 200
QUESTION = {"ask": {"method": "elicitation/create", "params": {"message": "May I?"}}}


async def readiness(stage: Stage) -> tuple[int, dict[str, Any]]:
    def ask() -> tuple[int, dict[str, Any]]:
        try:
            with urlopen(f"http://127.0.0.1:{stage.port}/readyz", timeout=30) as answer:
                return answer.status, json.load(answer)
        except HTTPError as problem:
            with problem:
                return problem.code, json.load(problem)

    return await asyncio.to_thread(ask)


async def text_in(answering: Answering) -> str:
    await answering.read_head()
    return text_of(json.loads((await answering.all())[-1]))


@pytest.mark.parametrize("server_era", ["legacy", "modern"])
async def test_two_hundred_calls_under_way_are_answered_and_recorded(tmp_path: Path, server_era: str) -> None:
    gate = tmp_path / "gate"
    one = Actor("one", tmp_path, ["--era", server_era])
    await one.start_http()
    async with staged(one) as stage:
        clients = [client_of(stage, era) for era in ("legacy", "modern")]
        async with clients[0], clients[1]:
            heard = await clients[0].listen()
            steps = {"steps": [{"wait_file": str(gate)}, {"answer": "in time"}]}
            calls = [
                await clients[number % 2].send(
                    "tools/call", {"name": "one__play", "arguments": steps}, b"%d" % (number + 10)
                )
                for number in range(CALLS)
            ]
            await until(lambda: len(one.heard("tools/call")) == CALLS)
            stage.process.send_signal(signal.SIGTERM)
            await until(lambda: is_refused(stage.port))
            gate.touch()
            assert await asyncio.gather(*map(text_in, calls)) == ["in time"] * CALLS
            await heard.all()  # the stream of its session has an end
        assert await stage.process.wait() == 0
        counted = await run_callgate(
            stage.folder, "query", "SELECT count(*) AS n FROM rpc_events WHERE outcome = 'answered'"
            " AND method = 'tools/call'", "--json",
        )  # fmt: skip
        assert json.loads(counted.stdout)["rows"] == [[CALLS]], counted


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_call_that_takes_some_seconds_more_is_answered(tmp_path: Path, era: str) -> None:
    one = Actor("one", tmp_path)
    async with staged(one) as stage, client_of(stage, era) as client:
        steps = {"steps": [{"pause": 7}, {"answer": "in time"}]}
        answering = await client.send("tools/call", {"name": "one__play", "arguments": steps})
        await until(lambda: bool(one.heard("tools/call")))
        stage.process.send_signal(signal.SIGTERM)
        assert await text_in(answering) == "in time"
        assert await stage.process.wait() == 0


async def test_while_it_drains_it_is_not_ready_and_serves_on_and_a_second_signal_ends_it(
    tmp_path: Path,
) -> None:
    one = Actor("one", tmp_path)
    async with staged(one, server='drain = "1h"') as stage, stage.client() as client:
        assert await readiness(stage) == (200, {"status": "ready"})
        stage.process.send_signal(signal.SIGTERM)

        async def is_leaving() -> bool:
            status, body = await readiness(stage)
            return (status, body.get("status")) == (503, "not ready")

        await until(is_leaving)
        assert (await readiness(stage))[1]["reason"] == "The gateway is stopping"
        answering = await client.send(
            "tools/call", {"name": "one__play", "arguments": {"steps": [{"answer": "still here"}]}}
        )
        assert await text_in(answering) == "still here"
        assert answering.headers["connection"] == "close"
        stage.process.send_signal(signal.SIGTERM)
        assert await stage.process.wait() == -signal.SIGTERM
    await until(lambda: not any(map(is_alive, one.pids())))


async def test_a_parked_call_is_cancelled_at_its_server(tmp_path: Path) -> None:
    one = Actor("one", tmp_path, ["--era", "legacy"])
    await one.start_http()
    async with staged(one) as stage:
        async with stage.modern(capabilities={"elicitation": {}}) as client:
            parked = await client.play("one__play", QUESTION, {"answer": "never"})
            assert parked["result"]["resultType"] == "input_required"
            stage.process.send_signal(signal.SIGTERM)
            assert await stage.process.wait() == 0
        assert one.heard("notifications/cancelled")
