"""Trials of `scripts/chaos replicas` about sessions: their home is killed, or replicas are replaced."""

import argparse
import asyncio
import signal
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from _trial import expect
from bridge.matrix_stage import standing_matrix
from databases.pgbouncer import pooler_of
from databases.postgres import postgres_server
from end_to_end.raw_clients import Answering, LegacyClient
from replicas.fleet import Fleet, Replica, running_fleet
from replicas.sdk_load import NEXT, SERVER, Load
from replicas.test_one_gateway import ASKABLE, park, retry_of
from stores.postgres.way import Way, way_to
from waiting import until

_LONGEST_REQUEST_S = 3.0
_GIVE_UP_S = 60.0


async def homes(options: argparse.Namespace) -> None:
    """`kill -9` of a home, first with a machine that refuses connections, then with one that is gone."""
    for is_gone, limit_s in ((False, 12.0), (True, 20.0)):
        what = "and its address is gone" if is_gone else "and its machine refuses connections"
        print(f"kill -9 of a home, {what}; {options.homes} times")
        with postgres_server() as server, pooler_of(server) as pooler:
            for _ in range(options.homes):
                async with running_fleet(server, pooler, count=2) as fleet:
                    await _kill_home(fleet, is_gone, limit_s)
    print("a home that lives, and cannot be reached")
    with postgres_server() as server:
        async with running_fleet(server, count=2) as fleet:
            await _hide_home(fleet)


async def _kill_home(fleet: Fleet, is_gone: bool, limit_s: float) -> None:
    async with _hidden_behind_a_way(fleet) as (home, way):
        others = [replica.port for replica in fleet.replicas if replica is not home]
        async with (
            home.client(info={"name": "plain", "version": "1"}) as plain,
            home.client(info={"name": "bound", "version": "1"}) as bound,
            home.modern(capabilities=ASKABLE) as modern,
        ):
            await plain.call("counter__count")
            await bound.request("resources/subscribe", {"uri": "memo://one"})
            parked = await park(modern, "lost?")
            keys = "SELECT count(*) FILTER (WHERE is_plain) >= 1 AND count(*) FILTER (WHERE NOT is_plain) = 1"
            await until(lambda: fleet.ask(f"{keys} FROM callgate_replicas.homes") == [["t"]])
            for client in (plain, bound, modern):
                client.port = others[0]
            await plain.call("counter__count")  # the way is known, and a connection open
            begun = time.monotonic()
            await home.stop(signal.SIGKILL)
            with _gone_address(way) if is_gone else _refusing(way):
                retry, took_s = await _timed(modern.request("tools/call", retry_of("lost?", parked, "x")))
                said = retry.get("error", {}).get("data", {}).get("code")
                is_told = said in ("caller.request_state", "upstream.replica_unreachable")
                expect(
                    is_told and took_s < _LONGEST_REQUEST_S,
                    f"the parked call's retry: {said}, {took_s:.1f} s",
                )
                on, statuses, longest_s = await _until_decided(plain, others)
                expect(on == 200, f"the plain session goes on: {on} after {sorted(statuses)}")
                took_s = time.monotonic() - begun
                expect(took_s <= limit_s, f"{took_s:.1f} s after the kill (at most {limit_s:g})")
                expect(longest_s <= _LONGEST_REQUEST_S, f"the longest request took {longest_s:.2f} s")
                expect(statuses <= {200, 503}, "meanwhile it was told 503 and nothing else")
                ended, statuses, longest_s = await _until_decided(bound, others)
                expect(
                    ended == 404 and longest_s <= _LONGEST_REQUEST_S,
                    f"the session with a subscription: {ended}",
                )
                retry, took_s = await _timed(modern.request("tools/call", retry_of("lost?", parked, "x")))
                said = retry["error"]["data"]["code"]
                expect(
                    said == "caller.request_state", f"the parked call's retry then: {said}, {took_s:.2f} s"
                )
    fleet.replicas.remove(home)


async def _hide_home(fleet: Fleet) -> None:
    async with _hidden_behind_a_way(fleet) as (home, way), home.client() as client:
        await client.call("counter__count")
        client.port = fleet.replicas[0].port
        await client.call("counter__count")
        with _gone_address(way):
            until_s = time.monotonic() + 25  # longer than any silence that counts
            found: set[tuple[int, str | None]] = set()
            longest_s = 0.0
            while time.monotonic() < until_s:
                answering, took_s = await _timed(_asked(client))
                found.add((answering.status, answering.headers.get("retry-after")))
                longest_s = max(longest_s, took_s)
                await asyncio.sleep(0.2)
            expect(
                found == {(503, "2")}, f"for 25 s each request got {found}, the longest in {longest_s:.2f} s"
            )
            rows = fleet.ask("SELECT home FROM callgate_replicas.homes WHERE ended_at IS NULL")
            expect(rows.count([home.gateway]) == 1, "the directory has its home, and no second one")
        client.port = home.port
        count = (await client.call("counter__count"))["result"]["content"][0]["text"]
        expect(count.startswith("3 "), f"at home the server counts on: {count.split()[0]}")


@asynccontextmanager
async def _hidden_behind_a_way(fleet: Fleet) -> AsyncIterator[tuple[Replica, Way]]:
    """One more replica, which the others reach by a way that can be cut."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    before = fleet.hop_listen
    with way_to(port) as way:
        fleet.hop_listen, fleet.extra = f"127.0.0.1:{port}", f'advertise = "127.0.0.1:{way.port}"'
        home = await fleet.start_one()
        fleet.hop_listen, fleet.extra = before, ""
        await fleet.until_up()
        yield home, way


@contextmanager
def _refusing(way: Way) -> Iterator[None]:
    """As the kernel of a machine does whose process is gone."""
    way.close()
    yield


@contextmanager
def _gone_address(way: Way) -> Iterator[None]:
    """Nothing answers there, not even with a refusal: a listener whose queue is full drops what comes."""
    way.close()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", way.port))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            with suppress(BlockingIOError):
                one.connect(("127.0.0.1", way.port))
        yield
        for one in waiting:
            one.close()


async def _asked(client: LegacyClient) -> Answering:
    answering = await client.send("tools/call", {"name": "counter__count", "arguments": {}})
    await answering.read_head()
    await answering.hang_up()
    return answering


async def _until_decided(client: LegacyClient, ports: list[int]) -> tuple[int, set[int], float]:
    """The first answer that is not "try again", all statuses, and how long the slowest answer took."""
    statuses: list[int] = []
    longest_s = 0.0
    until_s = time.monotonic() + _GIVE_UP_S
    while time.monotonic() < until_s:
        client.port = ports[len(statuses) % len(ports)]
        answering, took_s = await _timed(_asked(client))
        statuses.append(answering.status)
        longest_s = max(longest_s, took_s)
        if answering.status != 503:
            break
        await asyncio.sleep(0.1)
    return statuses[-1], set(statuses), longest_s


async def _timed(work: Awaitable[Any]) -> tuple[Any, float]:
    begun = time.monotonic()
    return await work, time.monotonic() - begun


async def deploy(options: argparse.Namespace) -> None:
    """All three replicas are restarted under load, then replaced by the next version."""
    print("rolling restart of three replicas under load, then the deploy of the next version")
    with tempfile.TemporaryDirectory() as name, postgres_server() as server, pooler_of(server) as pooler:
        fleets: list[Fleet] = []

        @asynccontextmanager
        async def serving(entries: str) -> AsyncIterator[str]:
            async with running_fleet(server, pooler, drain="1s", servers=entries) as fleet:
                fleets.append(fleet)
                yield f"http://127.0.0.1:{fleet.port}"

        async with standing_matrix(Path(name), serving, ("py1", "py2-auto"), [SERVER]) as stage:
            (fleet,) = fleets
            async with Load(stage, fleet) as load:
                for what, program in (("restart", ()), ("deploy", NEXT)):
                    fleet.program = program
                    before, failed_before = load.answered, len(load.failed)
                    for _ in range(len(fleet.replicas)):
                        await fleet.replace_first()
                        await load.more()
                    failed = load.failed[failed_before:]
                    other = [problem for problem in failed if "upstream.replica_lost" not in problem]
                    modern = [problem for problem in failed if "py2-auto" in problem or "modern" in problem]
                    told = f"{what}: {load.answered - before} calls, {len(failed)} under way at an end"
                    expect(not other, f"{told}, {len(other)} failed otherwise {other[:1] or ''}")
                    expect(len(failed) <= 3 * len(load.callers), f"{len(modern)} of those were modern calls")
