"""Wrong tokens: slow for who guesses, nothing for anybody else."""

import asyncio
import logging

import pytest
from edge.conftest import TOKEN, Door
from edge.http_probe import Answer, HttpProbe

from callgate.edge.token_guesses import TokenGuesses


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_few_mistakes_are_answered_at_once_and_later_ones_later_and_later() -> None:
    guesses = TokenGuesses(Clock())
    delays_s = [guesses.guessed("10.0.0.1") for _ in range(10)]
    assert delays_s == [0, 0, 0, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert guesses.guessed("10.0.0.2") == 0


def test_after_a_quiet_minute_a_burst_is_over() -> None:
    clock = Clock()
    guesses = TokenGuesses(clock)
    for _ in range(5):
        guesses.guessed("10.0.0.1")
    guesses.waited("10.0.0.1")
    guesses.waited("10.0.0.1")
    clock.now_s += 61
    assert guesses.guessed("10.0.0.1") == 0


def test_only_so_many_of_one_address_wait_at_a_time() -> None:
    guesses = TokenGuesses(Clock())
    delays_s = [guesses.guessed("10.0.0.1") for _ in range(40)]
    assert delays_s.count(None) == 40 - 3 - 16
    guesses.waited("10.0.0.1")
    assert guesses.guessed("10.0.0.1") == 2.0
    assert guesses.guessed("10.0.0.1") is None


def test_what_is_known_of_addresses_has_a_limit_and_a_network_counts_once() -> None:
    guesses = TokenGuesses(Clock())
    for number in range(5000):
        guesses.guessed(f"10.1.{number // 256}.{number % 256}")
    assert guesses.known_addresses == 1024
    guesses = TokenGuesses(Clock())
    for number in range(100):
        guesses.guessed(f"2001:db8::{number:x}")
    guesses.guessed(None)
    guesses.guessed("fe80::1%eth0")
    assert guesses.known_addresses == 3


def test_a_burst_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    guesses = TokenGuesses(clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(500):
            guesses.guessed("10.0.0.1")
        assert [record.getMessage() for record in caplog.records] == [
            "a wrong bearer token came from 10.0.0.1"
        ]
        clock.now_s += 61
        for _ in range(500):
            guesses.guessed("10.0.0.1")
        assert [record.getMessage() for record in caplog.records[1:]] == [
            "wrong bearer tokens still come from 10.0.0.1: 501 so far"
        ]
        for number in range(1000):
            guesses.guessed(f"10.0.1.{number}")
        assert len(caplog.records) <= 11


async def test_a_right_token_is_answered_while_wrong_ones_of_the_same_address_wait(
    guarded_door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    async with guarded_door.probe() as guesser, guarded_door.probe() as honest:
        for _ in range(8):
            await guesser.send_request("GET", "/x", {"authorization": "Bearer a-guess-at-a-token"})
        waiting = asyncio.create_task(_statuses(guesser, 8))
        for _ in range(20):
            answer = await honest.request("GET", "/x", {"authorization": f"Bearer {TOKEN}"})
            assert answer.status == 200
        assert not waiting.done()
        guesser.abort()
        await asyncio.gather(waiting, return_exceptions=True)
    assert "a wrong bearer token came from 127.0.0.1" in caplog.text
    assert "a-guess-at-a-token" not in caplog.text


async def _statuses(http: HttpProbe, count: int) -> list[int]:
    return [(await http.answer()).status for _ in range(count)]


async def test_who_guesses_on_many_connections_is_told_that_it_is_too_many(guarded_door: Door) -> None:
    wrong = {"authorization": "Bearer a-guess-at-a-token"}
    probes = [await guarded_door.probe().__aenter__() for _ in range(24)]
    for probe in probes:
        await probe.send_request("GET", "/x", wrong)
    answering = [asyncio.create_task(probe.answer()) for probe in probes]
    done: set[asyncio.Task[Answer]] = set()
    async with asyncio.timeout(20):
        while not any(task.result().status == 429 for task in done):
            done, _ = await asyncio.wait(answering, return_when=asyncio.FIRST_COMPLETED)
            answering = [task for task in answering if task not in done]
    refused = next(task.result() for task in done if task.result().status == 429)
    assert refused.json()["code"] == "refused.too_many_guesses"
    assert refused.headers["retry-after"] == "60"
    for probe in probes:
        probe.abort()
    await asyncio.gather(*answering, return_exceptions=True)


async def test_a_missing_token_is_no_guess(guarded_door: Door, caplog: pytest.LogCaptureFixture) -> None:
    async with guarded_door.probe() as http:
        for _ in range(30):
            assert (await http.request("GET", "/x")).status == 401
    assert not caplog.records


async def test_a_guess_where_no_token_is_needed_is_a_guess_too(
    guarded_door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    async with guarded_door.probe() as http:
        answer = await http.request("GET", "/healthz", {"authorization": "Bearer a-guess-at-a-token"})
        assert answer.body == b"GET /healthz nobody "
    assert "a wrong bearer token came from 127.0.0.1" in caplog.text
