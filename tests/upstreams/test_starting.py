"""A server that needs long to start is left alone, and says so; one that died is waited for, once."""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from upstreams.heard import DEADLINE_S
from waiting import until

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import UPSTREAM_EXITED, UPSTREAM_STARTING
from callgate.model.errors import UpstreamError
from callgate.model.exchange import Hop
from callgate.model.health import Health, State
from callgate.model.identity import LOCAL
from callgate.model.reply import tell_nobody
from callgate.model.session import Session
from callgate.ports.upstream import Asker
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.mcp_upstream import McpUpstream
from callgate.upstreams.openers import child_opener
from callgate.upstreams.server_lines import McpUpstreamPlan

SLOW = Path(__file__).parent / "servers" / "slow_start.py"
ENVELOPE = Envelope(Era.LEGACY, "2025-11-25", "test", "1", b'{"name":"test","version":"1"}')

Opening = Callable[..., AbstractAsyncContextManager[McpUpstream]]


class Slow:
    def __init__(self, folder: Path) -> None:
        self.starts, self.gate = folder / "starts", folder / "gate"

    @property
    def command(self) -> ChildCommand:
        args = ("-I", "-S", str(SLOW), str(self.starts), str(self.gate))
        return ChildCommand("slow", sys.executable, args)

    def pids(self) -> list[int]:
        return [int(line) for line in self.starts.read_text().split()] if self.starts.exists() else []


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    return Slow(tmp_path)


@pytest.fixture
def opening(slow: Slow, warden: Warden) -> Opening:
    @asynccontextmanager
    async def opened(**more: Any) -> AsyncIterator[McpUpstream]:
        plan = McpUpstreamPlan("slow", child_opener(slow.command, warden), isolation="shared", **more)
        upstream = McpUpstream(plan)
        try:
            yield upstream
        finally:
            async with asyncio.timeout(DEADLINE_S):
                await upstream.close()

    return opened


async def ask(upstream: McpUpstream, **params: Any) -> dict[str, Any]:
    now = time.time()
    session = Session("s", LOCAL, "http", ENVELOPE, now, now)
    hop = Hop(upstream.name, "tools/call", msgspec.json.encode(params), time.monotonic())
    reply = await upstream.ask(hop, Asker(ENVELOPE, session, b"1"), tell_nobody)
    return msgspec.json.decode(reply.result or b"{}")


async def health_with(upstream: McpUpstream, is_so: Callable[[Health], bool]) -> Health:
    async with asyncio.timeout(DEADLINE_S):
        while not is_so(health := upstream.health()):
            await asyncio.sleep(0.01)
        return health


async def test_a_slow_start_is_one_process_and_shown_with_its_last_words(
    slow: Slow, opening: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    """It answers nothing for longer than the probe of its era waits, and is not started again."""
    caplog.set_level(logging.DEBUG)
    async with opening() as upstream:
        told = await health_with(upstream, lambda health: bool(health.stderr_tail))
        assert told.state is State.STARTING
        assert "120 s" in told.detail
        assert "downloading 12 packages" in told.detail
        assert told.stderr_tail == ("downloading 12 packages",)
        asking = asyncio.create_task(ask(upstream))
        await asyncio.sleep(3.2)  # past the probe: the passing of time is the subject here
        assert upstream.health().state is State.STARTING
        slow.gate.touch()
        assert (await asking)["pid"] == slow.pids()[0]
        assert upstream.health().state is State.UP
        assert len(slow.pids()) == 1
    late = [record.levelname for record in caplog.records if "a reply to server/discover" in record.message]
    assert late == ["DEBUG"]  # every healthy server that starts slowly answers the probe so


async def test_the_time_to_start_is_its_own_and_ends_the_process(slow: Slow, opening: Opening) -> None:
    """Whatever a request may take: here it would be a minute."""
    async with opening(start_timeout_s=0.5, timeout_s=60.0) as upstream:
        down = await health_with(upstream, lambda health: health.state is State.DOWN)
        assert down.error_code == "upstream.timeout"
        await until(lambda: len(slow.pids()) == 2)


async def test_a_request_waits_its_own_limit_and_hears_that_the_server_is_starting(
    slow: Slow, opening: Opening
) -> None:
    async with opening(timeout_s=0.3) as upstream:
        await until(lambda: bool(upstream.health().stderr_tail))
        with pytest.raises(UpstreamError, match="slow is still starting") as caught:
            await ask(upstream)
        assert caught.value.code is UPSTREAM_STARTING
        assert "start_timeout_s" in caught.value.hint
        assert "downloading 12 packages" in caught.value.hint
        slow.gate.touch()
        await health_with(upstream, lambda health: health.state is State.UP)
        assert len(slow.pids()) == 1


async def test_the_first_call_after_a_death_waits_for_the_next_attempt(slow: Slow, opening: Opening) -> None:
    slow.gate.touch()
    async with opening() as upstream:
        first = (await ask(upstream))["pid"]
        with pytest.raises(UpstreamError) as caught:
            await ask(upstream, die=True)
        assert caught.value.code is UPSTREAM_EXITED
        answers = await asyncio.gather(ask(upstream), ask(upstream))
        assert {answer["pid"] for answer in answers} == {slow.pids()[1]} != {first}


async def test_a_server_that_does_not_come_back_is_waited_for_once(slow: Slow, opening: Opening) -> None:
    slow.gate.touch()
    async with opening(start_timeout_s=0.3) as upstream:
        await ask(upstream)
        slow.gate.unlink()
        with pytest.raises(UpstreamError):
            await ask(upstream, die=True)
        with pytest.raises(UpstreamError):  # its attempt fails
            await ask(upstream)
        assert len(slow.pids()) == 2
        with pytest.raises(UpstreamError):  # the next one is further away: at once
            await ask(upstream)
        assert len(slow.pids()) == 2


async def test_the_time_of_the_last_failure_is_that_of_the_last_one(slow: Slow, opening: Opening) -> None:
    async with opening(start_timeout_s=0.3) as upstream:
        failed = await health_with(upstream, lambda health: health.last_failure is not None)
        assert failed.last_failure is not None
        first = failed.last_failure
        again = await health_with(upstream, lambda health: health.last_failure != first)
        assert again.last_failure is not None
        assert again.last_failure.at > first.at
        assert again.last_failure.message == first.message
        slow.gate.touch()
