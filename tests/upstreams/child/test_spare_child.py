"""Processes that are started before they are needed, with real ones, under asyncio and uvloop."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from upstreams.heard import DEADLINE_S, Heard
from upstreams.processes import exists, open_pipes, wait_gone, with_argument
from waiting import until

from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.process import ChildPatience
from callgate.upstreams.child.spare import SpareChild, SparePatience
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.openers import OwnChildOpener
from callgate.upstreams.transport import Transport

SERVERS = Path(__file__).parents[1] / "servers"
BRIEF = ChildPatience(stdin_wait_s=0.3, term_wait_s=0.3, drain_s=0.3)
QUICK = SparePatience(first_pause_s=0.01)

Keeping = Callable[..., AbstractAsyncContextManager[SpareChild]]


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """By this argument the processes of one test are found."""
    return str(tmp_path / "mark")


def command_of(program: str, *args: str) -> ChildCommand:
    return ChildCommand("files", sys.executable, ("-I", "-S", str(SERVERS / program), *args))


def request(rpc_id: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"echo","params":{}}' % rpc_id


@pytest.fixture
def keeping(warden: Warden, mark: str) -> Keeping:
    @asynccontextmanager
    async def keep(program: str, *args: str, patience: SparePatience = QUICK) -> AsyncIterator[SpareChild]:
        command = command_of(program, *args, mark)
        pipes = open_pipes()

        def make() -> ChildTransport:
            return ChildTransport(command, None, warden=warden, patience=BRIEF)

        spare = SpareChild("files", make, patience)
        try:
            yield spare
        finally:
            async with asyncio.timeout(DEADLINE_S):
                await spare.close()
            assert not with_argument(mark)
            warden.close()
            await until(lambda: open_pipes() == pipes)
            assert not asyncio.all_tasks() - {asyncio.current_task()}

    return keep


def want(spare: SpareChild) -> None:
    """Two clients within a minute: more will come."""
    for _ in range(2):
        assert spare.take() is None


async def waiting_in(spare: SpareChild, other_than: int | None = None) -> int:
    await until(lambda: spare.pid not in (None, other_than))
    assert spare.pid is not None
    return spare.pid


async def taken_from(spare: SpareChild, heard: Heard) -> ChildTransport:
    child = spare.take()
    assert child is not None
    child.serve(heard)
    await child.start()
    return child


# --- connections of single clients


async def test_the_first_two_connections_start_their_own_child_and_each_later_one_gets_the_spare(
    warden: Warden, mark: str
) -> None:
    opener = OwnChildOpener(command_of("echo.py", mark), warden)
    used: list[Transport] = []
    pids: set[int] = set()
    assert not with_argument(mark)
    for number in range(4):
        waiting = opener.spare.pid
        heard = Heard()
        opened = await opener(heard, None)
        used.append(opened.transport)
        assert opened.is_pipe
        await opened.transport.start()
        assert isinstance(opened.transport, ChildTransport)
        pid = opened.transport.pid
        assert pid is not None
        assert waiting in (None, pid)
        pids.add(pid)
        opened.transport.send(request(7))
        assert json.loads(await heard.frame())["id"] == 7, "nobody spoke to it before"
        if number == 0:
            assert with_argument(mark) == pids, "one client alone needs no spare"
        else:
            await waiting_in(opener.spare)
            assert with_argument(mark) == {*pids, opener.spare.pid}
    for transport in used:
        await transport.close()
    assert len(pids) == 4
    (spare,) = with_argument(mark)
    await opener.close()
    assert not with_argument(mark)
    assert not any(map(exists, {spare, *pids}))
    assert not asyncio.all_tasks() - {asyncio.current_task()}


async def test_a_wrong_command_fails_for_the_connection_and_not_for_the_spare(warden: Warden) -> None:
    opener = OwnChildOpener(ChildCommand("files", "/no/such/program"), warden)
    for _ in range(2):
        opened = await opener(Heard(), None)
        with pytest.raises(Exception, match="files could not be started"):
            await opened.transport.start()
        await opened.transport.close()
    await opener.close()


# --- what a spare says


async def test_what_a_spare_said_before_it_was_taken_is_received_first(
    keeping: Keeping, heard: Heard
) -> None:
    async with keeping("garbage.py") as spare:
        want(spare)
        await waiting_in(spare)
        child = await taken_from(spare, heard)
        assert [await heard.frame(number) for number in (0, 3)] == [b"Starting server...", b'{"id": 1}']
        await child.close()


async def test_a_chunk_read_before_the_spare_was_paused_is_received_too(warden: Warden, heard: Heard) -> None:
    child = ChildTransport(command_of("garbage.py"), None, warden=warden)
    child.stdout_data(b'"early"\n"Now: ')  # under uvloop the pause comes a moment late
    await child.warm_up()
    child.serve(heard)
    await child.start()
    await heard.frame(4)
    assert heard.frames[:2] == [b'"early"', b'"Now: Starting server...']
    await child.close()


async def test_a_spare_that_says_more_than_a_pipe_holds_waits_to_be_heard(
    keeping: Keeping, heard: Heard
) -> None:
    async with keeping("flood.py", "300000", "stay") as spare:
        want(spare)
        await waiting_in(spare)
        child = spare.take()
        assert child is not None
        await until(lambda: "nobody reads" in child.stderr_tail)
        child.serve(heard)
        await child.start()
        await heard.frame(299_999)
        assert heard.frames == [b'{"number": %d}' % number for number in range(300_000)]
        await child.close()


async def test_a_spare_that_dies_after_it_was_taken_is_lost_as_any_child(
    keeping: Keeping, heard: Heard
) -> None:
    async with keeping("hanger.py") as spare:
        want(spare)
        pid = await waiting_in(spare)
        child = await taken_from(spare, heard)
        os.kill(pid, signal.SIGKILL)
        assert (await heard.loss()).message == "files was killed by SIGKILL"
        await child.close()


# --- its life


async def test_nothing_is_started_before_somebody_asked(keeping: Keeping, mark: str, warden: Warden) -> None:
    async with keeping("echo.py") as spare:
        await asyncio.sleep(0)
        assert (spare.pid, with_argument(mark), warden.pid) == (None, set(), None)


async def test_a_dead_spare_is_noticed_and_replaced(keeping: Keeping, heard: Heard) -> None:
    async with keeping("echo.py") as spare:
        want(spare)
        first = await waiting_in(spare)
        os.kill(first, signal.SIGKILL)
        second = await waiting_in(spare, other_than=first)
        assert not exists(first)
        child = await taken_from(spare, heard)
        assert child.pid == second
        await child.close()


async def test_a_spare_that_keeps_dying_is_started_ever_more_seldom(keeping: Keeping, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with keeping("short_lived.py", str(starts), patience=SparePatience(first_pause_s=0.05)) as spare:
        want(spare)
        await until(lambda: starts.exists() and len(starts.read_text().splitlines()) >= 5)
    times = [float(line) for line in starts.read_text().splitlines()][:5]
    # A pause begins after the end of one and ends before the start of the next: load only adds to it.
    for (earlier, later), pause_s in zip(pairwise(times), (0.05, 0.1, 0.2, 0.4), strict=True):
        assert later - earlier > pause_s - 0.01  # the loop's clock is not that exact


async def test_a_spare_that_nobody_came_for_is_ended_and_the_next_need_begins_anew(
    keeping: Keeping, mark: str
) -> None:
    async with keeping("echo.py", patience=SparePatience(idle_s=2)) as spare:
        want(spare)
        first = await waiting_in(spare)
        await until(lambda: not exists(first))
        await until(lambda: spare.pid is None)
        assert not with_argument(mark)
        want(spare)
        await waiting_in(spare, other_than=first)


async def test_a_stubborn_spare_does_not_survive_a_close(keeping: Keeping, mark: str) -> None:
    async with keeping("stubborn.py") as spare:
        want(spare)
        await waiting_in(spare)
        await until(lambda: len(with_argument(mark)) == 1)
        pids = with_argument(mark)
        await spare.close()
        wait_gone(pids)


async def test_after_a_close_nothing_is_taken_or_started(keeping: Keeping, mark: str) -> None:
    async with keeping("echo.py") as spare:
        want(spare)
        await waiting_in(spare)
        await spare.close()
        await spare.close()
        assert spare.take() is None
        await asyncio.sleep(0)
        assert not with_argument(mark)


async def test_a_close_while_the_spare_starts_leaves_no_process(keeping: Keeping, mark: str) -> None:
    async with keeping("stubborn.py") as spare:
        want(spare)
        await asyncio.sleep(0)
        await spare.close()
        assert not with_argument(mark)


async def test_a_spare_is_ended_when_no_client_is_left(keeping: Keeping, mark: str) -> None:
    async with keeping("echo.py") as spare:
        want(spare)
        first = await waiting_in(spare)
        spare.rest()
        await until(lambda: not exists(first))
        assert spare.take() is None, "and one client alone starts no other"
        await asyncio.sleep(0)
        assert not with_argument(mark)
