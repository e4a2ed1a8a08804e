"""How long a tool call may take, with a real server: longer than anything else that is asked."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate.app.mcp_servers import Outward, plan_of
from callgate.config.specs.config import McpServerSpec
from callgate.http_client.client import HttpClient
from callgate.model.envelope import Envelope, Era
from callgate.model.errors import UpstreamError
from callgate.model.exchange import Hop
from callgate.model.identity import LOCAL
from callgate.model.reply import Reply, tell_nobody
from callgate.model.session import Session
from callgate.ports.upstream import Asker, Upstream
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.link.call_limits import CallLimits
from callgate.upstreams.mcp_upstream import McpUpstream
from callgate.upstreams.openers import child_opener
from callgate.upstreams.server_lines import McpUpstreamPlan

ACTOR = Path(__file__).parents[2] / "end_to_end" / "servers" / "actor.py"
ENVELOPE = Envelope(Era.LEGACY, "2025-11-25", "test", "1")
ASKER = Asker(ENVELOPE, Session("s", LOCAL, "stdio", ENVELOPE, 0.0, 0.0), b"1")


@asynccontextmanager
async def server(folder: Path, **plan: Any) -> AsyncIterator[McpUpstream]:
    offers = folder / "offers"
    offers.write_text('{"tools": ["play"], "prompts": [], "silent": "prompts"}')
    args = ("-E", "-S", str(ACTOR), "--log", str(folder / "log"), "--offers", str(offers))
    warden = Warden()
    opener = child_opener(ChildCommand("one", sys.executable, args), warden)
    made = McpUpstream(McpUpstreamPlan("one", opener, isolation="shared", **plan))
    try:
        yield made
    finally:
        await made.close()
        warden.close()


async def ask(upstream: Upstream, method: str, params: dict[str, Any]) -> Reply:
    hop = Hop("one", method, json.dumps(params).encode(), started_mono=time.monotonic())
    return await upstream.ask(hop, ASKER, tell_nobody)


def play(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"name": "play", "arguments": {"steps": list(steps)}}


async def test_a_tool_call_goes_on_when_other_requests_have_run_out_of_time(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with server(tmp_path, timeout_s=2.0) as one:
        await ask(one, "tools/list", {})
        call = asyncio.create_task(ask(one, "tools/call", play({"wait_file": str(gate)}, {"answer": "late"})))
        with pytest.raises(UpstreamError, match="prompts/list within 2 s"):
            await ask(one, "prompts/list", {})
        assert not call.done()
        gate.touch()
        assert b"late" in ((await call).result or b"")


async def test_one_tool_may_have_more_time_than_the_others(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waiting = play({"wait_file": str(gate)}, {"answer": "late"})
    patient, strict = CallLimits(0.5, {"play": 60.0}), CallLimits(0.5, {"other": 60.0})
    async with server(tmp_path, call_limits=patient) as one, server(tmp_path, call_limits=strict) as two:
        await ask(one, "tools/list", {})
        await ask(two, "tools/list", {})
        call = asyncio.create_task(ask(one, "tools/call", waiting))
        with pytest.raises(UpstreamError, match=r"tools/call within 0\.5 s") as caught:
            await ask(two, "tools/call", waiting)
        assert caught.value.hint.startswith("Raise timeout_s for")
        assert not call.done()
        gate.touch()
        assert b"late" in ((await call).result or b"")


async def test_a_call_that_is_over_its_tools_own_limit_names_that_key(tmp_path: Path) -> None:
    waiting = play({"wait_file": str(tmp_path / "gate")})
    async with server(tmp_path, call_limits=CallLimits(60.0, {"play": 0.5})) as one:
        await ask(one, "tools/list", {})
        with pytest.raises(UpstreamError, match=r"tools/call within 0\.5 s") as caught:
            await ask(one, "tools/call", waiting)
        assert caught.value.hint.startswith("Raise tools.timeout_s.play for this server")


@pytest.mark.parametrize(("written", "call_s", "other_s"), [({}, 300.0, 30.0), ({"timeout_s": 7}, 7.0, 7.0)])
async def test_a_call_has_five_minutes_unless_the_file_says_otherwise(
    written: dict[str, Any], call_s: float, other_s: float
) -> None:
    spec = McpServerSpec.read({"url": "http://127.0.0.1:9/mcp", **written})
    outward = Outward(Warden(), HttpClient(), str)
    try:
        plan = plan_of("one", spec, outward)
        assert (plan.call_limits.timeout_s, plan.timeout_s) == (call_s, other_s)
    finally:
        await outward.close()
