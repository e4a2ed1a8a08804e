"""Trials of `scripts/chaos replicas` with whole gateways behind nginx, or with a standby of the database."""

import argparse
import asyncio
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from _proxy import proxy_to
from _trial import expect
from databases.database import Database
from databases.pgbouncer import pooler_of
from databases.postgres import postgres_server, standby_of
from end_to_end.raw_clients import ModernClient
from replicas.fleet import STATE_KEY, TOKENS, Fleet, running_fleet
from replicas.test_one_gateway import ASKABLE, park, retry_of
from stores.postgres.way import way_to
from waiting import until

from callgate.wire.sealed_claims import StateSeal

_FSYNC = ("fsync=on", "synchronous_commit=on", "full_page_writes=on", "max_connections=200")
_TWO = "".join(
    f'[[server.tokens]]\ntoken = "{token}"\nprincipal = "{name}"\n' for name, token in TOKENS.items()
)


async def parked(options: argparse.Namespace) -> None:
    """Many parked calls at once, resumed in random order by any replica; then states that are bad."""
    chance = random.Random(options.seed)
    print(f"{options.parked} parked calls over {options.writers} replicas behind nginx")
    with postgres_server() as server, pooler_of(server) as pooler:
        async with running_fleet(server, pooler, count=options.writers, extra=_TWO) as fleet:
            ann = fleet.modern(capabilities=ASKABLE, token=TOKENS["ann"])
            bob = fleet.modern(capabilities=ASKABLE, token=TOKENS["bob"])
            questions = [f"question-{number}" for number in range(options.parked)]
            begun = time.monotonic()
            asked = await asyncio.gather(*(park(ann, question) for question in questions))
            print(f"  parked after {time.monotonic() - begun:.1f} s")
            retries = [retry_of(*both, f"answer-{both[0]}") for both in zip(questions, asked, strict=True)]
            chance.shuffle(retries)
            answers = await asyncio.gather(*(ann.request("tools/call", retry) for retry in retries))
            wrong = [a for r, a in zip(retries, answers, strict=True) if not _is_own_answer(r, a)]
            expect(not wrong, f"{len(wrong)} of {len(retries)} answers missed their call {wrong[:1] or ''}")
            again = await asyncio.gather(*(ann.request("tools/call", retry) for retry in retries))
            _expect_all(again, "already used", "a state that was used")
            asks = fleet.said().count("asks")
            expect(asks == len(questions), f"the server asked {asks} questions for {len(questions)} calls")
            await _bad_states(fleet, ann, bob)


async def _bad_states(fleet: Fleet, ann: ModernClient, bob: ModernClient) -> None:
    asked = await park(ann, "bad")
    asks = fleet.said().count("asks")
    retry = retry_of("bad", asked, "x")
    state: str = asked["requestState"]
    seal = StateSeal(STATE_KEY.encode())
    claims = seal.open(state)
    assert claims is not None
    old = retry | {"requestState": seal.seal(replace_claims(claims, expires_at=time.time() - 1))}
    gone = retry | {"requestState": seal.seal(replace_claims(claims, gateway="AAAAAAAA"))}
    turns = range(2 * len(fleet.replicas))
    _expect_all([await bob.request("tools/call", retry) for _ in turns], "somebody else", "another's state")
    _expect_all([await ann.request("tools/call", old) for _ in turns], "has expired", "an expired state")
    forged = [state[:-3] + "AAA", "cg1." + "A" * 8_000, state[:40], "cg1.e30.e30"]
    answers = [
        await ann.request("tools/call", retry | {"requestState": one}) for one in forged for _ in turns
    ]
    _expect_all(answers, "requestState", "a forged state")
    begun = time.monotonic()
    answers = [await ann.request("tools/call", gone) for _ in turns]
    codes = {answer["error"]["data"]["code"] for answer in answers}
    known = {"caller.request_state", "upstream.replica_unreachable"}
    slowest = (time.monotonic() - begun) / len(turns)
    expect(
        codes <= known and slowest < 3, f"a state of a replica nobody knows: {codes}, {slowest:.1f} s each"
    )
    expect(fleet.said().count("asks") == asks, "no bad state asked the server anything")
    fine = await ann.request("tools/call", retry)
    expect(_is_own_answer(retry | {"x": ""}, fine, "bad x"), "the call itself is still answered")


def replace_claims(claims: Any, **changes: Any) -> Any:
    values = {name: getattr(claims, name) for name in claims.__struct_fields__}
    return type(claims)(**(values | changes))


def _is_own_answer(retry: dict[str, Any], answer: dict[str, Any], text: str | None = None) -> bool:
    question = retry["arguments"]["question"]
    wanted = text or f"{question} answer-{question}"
    return "result" in answer and answer["result"]["content"][0]["text"] == wanted


def _expect_all(answers: list[dict[str, Any]], words: str, what: str) -> None:
    wrong = [answer for answer in answers if words not in str(answer.get("error", ""))]
    expect(not wrong, f"{what}: {len(answers)} times {words!r} {wrong[:1] or ''}")


async def full(options: argparse.Namespace) -> None:
    """The store is away until the journal is full: calls are counted exactly, or refused."""
    for on_failure in ("continue", "refuse"):
        print(f"a journal of {options.journal_mib} MiB, the store away, on_failure = {on_failure!r}")
        lines = f'journal_max = "{options.journal_mib}MiB"\non_failure = "{on_failure}"'
        with postgres_server() as server, way_to(server.port) as way:
            reached = replace(server, port=way.port)
            async with running_fleet(server, reached, count=1, record=lines) as fleet:
                await _fill(fleet, way, refuses=on_failure == "refuse")


async def _fill(fleet: Fleet, way: Any, *, refuses: bool) -> None:
    client = fleet.replicas[0].modern(path="/servers/counter/mcp")
    await client.call("count")
    await until(lambda: fleet.ask("SELECT count(*) FROM callgate.rpc_events") != [["0"]])
    way.cut()
    served, refused, after_full = 1, 0, 0
    deadline = time.monotonic() + 300
    # What does not fit into the journal waits in memory: 32 MiB of bodies, then 5,500 rows without them.
    while after_full < 6_500 and refused < 500 and time.monotonic() < deadline:
        arguments = {"filler": "x" * (100_000 if after_full < 400 else 10)}
        answers = await asyncio.gather(*(client.call("count", arguments) for _ in range(50)))
        unserved = sum("refused.unrecorded" in str(answer) for answer in answers)
        served, refused = served + len(answers) - unserved, refused + unserved
        if after_full or "the journal is full" in str(await asyncio.to_thread(fleet.health)):
            after_full += 50
    expect(after_full > 0, "/healthz says that the journal is full")
    expect(bool(refused) == refuses, f"{refused} calls were refused")
    way.restore()

    def found() -> tuple[int, int]:
        ((events, gaps),) = fleet.ask(
            "SELECT (SELECT count(*) FROM callgate.rpc_events WHERE tool_name = 'count'),"
            " (SELECT coalesce(sum(count), 0) FROM callgate.gaps WHERE reason LIKE 'not recorded%')"
        )
        return int(events), int(gaps)

    async def is_all_there() -> bool:
        return sum(await asyncio.to_thread(found)) >= served

    with suppress(AssertionError):
        await until(is_all_there, 120)
    events, gaps = found()
    expect(events + gaps == served, f"{served} calls: {events} stored, {gaps} counted in gaps")
    expect(bool(gaps) != refuses, "none was unrecorded" if refuses else "some were only counted")


Start = Callable[[Path, Database, argparse.Namespace], Coroutine[Any, Any, list[Any]]]


class Failover:
    """The primary dies, and a standby that lacks its last commits takes over."""

    def __init__(self, start: Start, until_stored: Any, expect_all_once: Any, stored: Any) -> None:
        self._start = start
        self._until_stored, self._expect_all_once, self._stored = until_stored, expect_all_once, stored

    async def __call__(self, options: argparse.Namespace) -> None:
        print(f"a standby that lacks the last commits takes over, at {options.rate:g} calls/s in all")
        chance = random.Random(options.seed)
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            server = stack.enter_context(postgres_server(*_FSYNC))
            server.run("CREATE DATABASE chaos")
            proxy, port = await stack.enter_async_context(proxy_to(server.port, chance))
            standby = await asyncio.to_thread(
                stack.enter_context, standby_of(server, *_FSYNC, through_port=port)
            )
            primary, second = replace(server, database="chaos"), replace(standby, database="chaos")
            both = _Several(**vars(primary), other_port=second.port)
            writers = await self._start(folder, both, options)
            for writer in writers:
                await writer.is_storing(second)
            proxy.refuse()  # what is committed from now on, only the primary has
            await asyncio.sleep(options.lag_s)
            before = {number for writer in writers for number in writer.answered}
            lacking = len(before) - len(before & (await self._stored(second)).keys())
            had = len(before & (await self._stored(primary)).keys())
            data = Path(primary.run("SHOW data_directory"))
            os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
            second.run("SELECT pg_promote()")
            print(f"  the primary had {had} of {len(before)} calls, the standby lacked {lacking}")
            expect(lacking > len(before) - had, "the standby lacked commits")
            begun = time.monotonic()
            await self._until_stored(second, before)
            print(f"  all of them stored {time.monotonic() - begun:.1f} s after the promotion")
            for writer in writers:
                await writer.end(signal.SIGTERM)
            answered = {number for writer in writers for number in writer.answered}
            self._expect_all_once(answered, await self._stored(second))
            expect(len(answered) > len(before), f"{len(answered) - len(before)} calls after the failover")


@dataclass(frozen=True)
class _Several(Database):
    """Two servers in one address."""

    other_port: int = 0

    @property
    def dsn(self) -> str:
        one = f"{self.host}:{self.port}"
        both = super().dsn.replace(one, f"{one},{self.host}:{self.other_port}")
        return f"{both}?target_session_attrs=read-write"
