"""Upstreams that crash, hang, lie and shout: one outcome for the caller, none for the neighbours."""

import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from end_to_end.upstream_stage import Actor, Stage, client_of, code_of, say, staged, text_of
from kept_port import kept_port
from waiting import until

Steps = list[dict[str, Any]]

FINE = {"answer": "fine"}
MEGABYTE = 1024 * 1024
FLOODS = 30  # of 5 MB each: were they kept, the gateway would take 150 MB more


def lie(**frame: Any) -> dict[str, Any]:
    """A frame; "@ID@" as its id is the number that was asked under."""
    return {"say": json.dumps({"jsonrpc": "2.0", **frame}).replace('"@ID@"', "@ID@")}


def spoken(data: bytes) -> dict[str, Any]:
    return {"say_bytes": base64.b64encode(data).decode()}


GARBAGE: Steps = [
    spoken(b"Starting server on port 3000..."),
    spoken(b"\xff\xfe\x00"),
    spoken(b"[DEBUG] {not json"),
    spoken(b"[]"),
    spoken(b"{}"),
    spoken(b'"just a string"'),
    spoken(b'{"jsonrpc":"1.0","id":1,"result":{}}'),
    spoken(b"[" * 5000),
    FINE,
]
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

# By name: what it does with a call, and the code or the text that the caller gets.
OVER_BOTH: dict[str, tuple[Steps, str]] = {
    "never answers": ([{"hang": 1}], "upstream.timeout"),
    "floods notifications": (
        [
            {
                "many": {
                    "count": 20_000,
                    "text": '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":@N@}}',
                }
            },
            FINE,
        ],
        "fine",
    ),
    "answers a question nobody asked": (
        [lie(id=999_999, result={"content": []}), lie(id="never", result={}), FINE],
        "fine",
    ),
    "answers under an id that is an object": ([lie(id={"a": 1}, result={}), {"hang": 1}], "upstream.timeout"),
    "answers under the id null": ([lie(id=None, result={}), {"hang": 1}], "upstream.timeout"),
    "answers under a fraction": ([lie(id=1.5, result={}), {"hang": 1}], "upstream.timeout"),
    "answers with neither result nor error": ([lie(id="@ID@"), {"hang": 1}], "upstream.timeout"),
    "names a subscription in a text": (
        [lie(method="notifications/message", params={"_meta": SUBSCRIPTION, "data": 1}), FINE],
        "fine",
    ),
    "names a subscription in a list": (
        [lie(method="notifications/message", params={"_meta": {SUBSCRIPTION: [1]}, "data": 1}), FINE],
        "fine",
    ),
    "speaks half a surrogate": (
        [
            spoken(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"\\ud800":1}}'),
            spoken(
                b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"\\ud800"}}'
            ),
            spoken(b'{"jsonrpc":"2.0","method":"notifications/\\ud800","params":{}}'),
            FINE,
        ],
        "fine",
    ),
    "reports progress for somebody else": (
        [say("notifications/progress", {"progressToken": 999_999, "progress": 1}), say("x/y"), FINE],
        "fine",
    ),
}
OVER_STDIO: dict[str, tuple[Steps, str]] = {
    "crashes in the middle of a call": ([{"exit": 7}], "upstream.exited"),
    "closes its stdout in the middle of a call": ([{"close_stdout": 1}], "upstream.exited"),
    "speaks garbage": (GARBAGE, "fine"),
    "sends a frame of 20 MB": ([{"big": 20 * MEGABYTE}], "upstream.too_large"),
    "answers twice": ([FINE, {"answer": "again"}], "fine"),
}
OVER_HTTP: dict[str, tuple[Steps, str]] = {
    "ends its stream without an answer": ([], "upstream.unavailable"),
    "speaks garbage": ([spoken(b"{not json"), spoken(b"\xff\xfe"), FINE], "fine"),
    "sends a frame of 20 MB": ([{"big": 20 * MEGABYTE}], "upstream.too_large"),
    "answers twice": ([FINE, {"answer": "again"}], "fine"),
}
CASES = [
    pytest.param(transport, *case, id=f"{transport}: {name}")
    for transport, cases in (("stdio", OVER_BOTH | OVER_STDIO), ("http", OVER_BOTH | OVER_HTTP))
    for name, case in cases.items()
]


@dataclass
class Hostile:
    """One gateway for all cases whose outcome leaves it as it was. Names say how an actor is reached."""

    stage: Stage
    good: Actor  # legacy

    @staticmethod
    def bad(era: str, transport: str, expected: str) -> str:
        """Impatient only where the time-out is the outcome: elsewhere a slow machine must not cause one."""
        return f"{era}_{transport}_{'impatient' if expected == 'upstream.timeout' else 'patient'}"

    def check_log(self) -> None:
        said = self.stage.stderr.read_text()
        assert "Traceback" not in said, said


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hostile(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hostile]:
    folder = tmp_path_factory.mktemp("hostile")
    good = Actor("good_legacy", folder, isolation="shared")
    actors = [good, Actor("good_modern", folder, ["--era", "modern"])]
    for era in ("legacy", "modern"):
        for transport in ("stdio", "http"):
            for expected, timeout_s in (("upstream.timeout", 1), ("fine", 20)):
                actor = Actor(
                    Hostile.bad(era, transport, expected), folder, ["--era", era], timeout_s=timeout_s
                )
                if transport == "http":
                    await actor.start_http()
                actors.append(actor)
    async with staged(*actors) as stage:
        yield Hostile(stage, good)


async def comes_back(stage: Stage, era: str, tool: str = "bad__play") -> None:
    """A later call succeeds, without anybody's doing."""
    async with client_of(stage, era) as client, asyncio.timeout(45):
        answer = await client.play(tool, FINE)
        while "error" in answer:
            assert code_of(answer).startswith("upstream."), answer
            await asyncio.sleep(0.1)
            answer = await client.play(tool, FINE)
        assert text_of(answer) == "fine"


async def outcome_beside_a_neighbour(
    stage: Stage, era: str, steps: Steps, gate: Path, bad: str = "bad", good: str = "good"
) -> dict[str, Any]:
    """The bad call's one answer; two calls of the good neighbour were open all the while."""
    async with client_of(stage, era) as client, client_of(stage, era) as other:
        neighbours = [
            asyncio.create_task(client.play(f"{good}__play", {"wait_file": str(gate)}, FINE, rpc_id=b"7")),
            asyncio.create_task(other.play(f"{good}__play", {"wait_file": str(gate)}, {"answer": "@NAME@"})),
        ]
        params = {"name": f"{bad}__play", "arguments": {"steps": steps}}
        frames = [json.loads(frame) for frame in await client.frames("tools/call", params, b'"mine"')]
        gate.touch()
        mine, theirs = await asyncio.gather(*neighbours)
        assert (mine["id"], text_of(mine)) == (7, "fine")
        assert (theirs["id"], text_of(theirs)) == (1, good)
    answers = [frame for frame in frames if "id" in frame]
    assert answers == frames[-1:], "exactly one, and it is the last"
    assert answers[0]["id"] == "mine"
    return answers[0]


def check(answer: dict[str, Any], expected: str) -> None:
    if expected.startswith("upstream."):
        assert code_of(answer) == expected
    else:
        assert text_of(answer) == expected


async def check_outcome(
    hostile: Hostile, era: str, transport: str, steps: Steps, expected: str, gate: Path
) -> None:
    bad = hostile.bad(era, transport, expected)
    answer = await outcome_beside_a_neighbour(hostile.stage, era, steps, gate, bad, f"good_{era}")
    check(answer, expected)
    await comes_back(hostile.stage, era, f"{bad}__play")
    hostile.check_log()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("transport", "steps", "expected"), CASES)
async def test_one_outcome_for_the_caller_no_effect_on_the_neighbour_and_a_recovery(
    hostile: Hostile, tmp_path: Path, transport: str, steps: Steps, expected: str
) -> None:
    await check_outcome(hostile, "legacy", transport, steps, expected, tmp_path / "gate")
    await until(lambda: len(hostile.good.pids()) == 1)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([{"hang": 1}], "upstream.timeout", id="never answers"),
        pytest.param([{"big": 20 * MEGABYTE}], "upstream.too_large", id="sends 20 MB"),
        pytest.param(
            [lie(id="@ID@", result=[1, 2])], "upstream.failed", id="answers with a list for a result"
        ),
        pytest.param([lie(id="@ID@", result="text")], "upstream.failed", id="answers with a text"),
        pytest.param(
            [lie(method="notifications/message", params={"_meta": SUBSCRIPTION}), FINE],
            "fine",
            id="names a subscription in a text",
        ),
    ],
)
async def test_the_same_of_a_modern_upstream(
    hostile: Hostile, tmp_path: Path, transport: str, steps: Steps, expected: str
) -> None:
    await check_outcome(hostile, "modern", transport, steps, expected, tmp_path / "gate")


async def test_an_answer_that_comes_after_the_time_out_is_nobody_s(tmp_path: Path) -> None:
    bad, gate = Actor("bad", tmp_path, timeout_s=1), tmp_path / "gate"
    async with staged(bad) as stage, stage.client() as client:
        assert code_of(await client.play("bad__play", {"wait_file": str(gate)}, {"answer": "late"})) == (
            "upstream.timeout"
        )
        (cancelled,) = await until(lambda: bad.heard("notifications/cancelled"))
        (call,) = bad.heard("tools/call")
        assert cancelled["params"]["requestId"] == call["id"]
        gate.touch()
        assert text_of(await client.play("bad__play", FINE)) == "fine"


async def test_all_calls_of_a_crashed_server_end_each_with_its_own_error(tmp_path: Path) -> None:
    bad, gate = Actor("bad", tmp_path, isolation="shared"), tmp_path / "gate"
    async with staged(bad) as stage, stage.client() as client, stage.client() as other:
        waiting = [
            asyncio.create_task(one.play("bad__play", {"wait_file": str(gate)}, rpc_id=b"%d" % number))
            for one in (client, other)
            for number in range(10)
        ]
        await until(lambda: len(bad.heard("tools/call")) == 20)
        os.kill(bad.pids()[0], signal.SIGKILL)
        answers = await asyncio.gather(*waiting)
        assert [code_of(answer) for answer in answers] == ["upstream.exited"] * 20
        assert [answer["id"] for answer in answers] == [*range(10)] * 2
        assert all("SIGKILL" in answer["error"]["message"] for answer in answers)
        await comes_back(stage, "legacy")
        assert len(bad.heard("tools/call")) == 21, "nothing was sent a second time"


async def test_a_server_that_exits_at_once_is_told_of_and_comes_up_when_its_cause_is_gone(
    tmp_path: Path,
) -> None:
    needed = tmp_path / "licence"
    bad = Actor("bad", tmp_path, ["--needs", str(needed)])
    async with staged(bad, Actor("good", tmp_path)) as stage, stage.client() as client:
        down = await stage.until_state("bad", "down")
        assert (down["code"], "code 3" in down["detail"]) == ("upstream.exited", True)
        assert text_of(await client.play("good__play", FINE)) == "fine"
        assert code_of(await client.call("bad__play")).startswith("upstream."), "not: no such tool"
        async with stage.modern("/servers/bad/mcp") as direct:
            assert code_of(await direct.call("play")).startswith("upstream.")
        needed.touch()
        await stage.until_state("bad", "up")
        await comes_back(stage, "legacy")


async def test_a_command_that_does_not_exist_is_told_of(tmp_path: Path) -> None:
    extra = '[mcpServers.bad]\ncommand = "/nowhere/at-all"\n'
    async with staged(Actor("good", tmp_path), extra=extra) as stage, stage.client() as client:
        down = await stage.until_state("bad", "down")
        assert "/nowhere/at-all" in down["detail"]
        assert text_of(await client.play("good__play", FINE)) == "fine"


async def test_an_http_server_that_dies_in_a_call_is_shown_as_down_and_comes_back(tmp_path: Path) -> None:
    bad = Actor("bad", tmp_path)
    with kept_port() as port:
        await bad.start_http(port)
        async with staged(bad, Actor("good", tmp_path)) as stage:
            answer = await outcome_beside_a_neighbour(stage, "legacy", [{"exit": 7}], tmp_path / "gate")
            check(answer, "upstream.unavailable")
            async with stage.client() as client:
                assert code_of(await client.play("bad__play", FINE)) == "upstream.unavailable"
            assert (await stage.until_state("bad", "down"))["code"] == "upstream.unavailable"
            await bad.start_http(port)
            await stage.until_state("bad", "up")
            await comes_back(stage, "legacy")


async def test_a_lost_session_is_renewed_once_and_only_what_is_safe_is_asked_again(tmp_path: Path) -> None:
    bad = Actor("bad", tmp_path)
    await bad.start_http()
    async with staged(bad) as stage, stage.client("/servers/bad/mcp") as client:
        assert text_of(await client.play("play", {"forget_sessions": 1}, FINE)) == "fine"
        answer = await client.request("resources/read", {"uri": "x://y"})
        assert answer["result"]["contents"][0]["text"] == "bad has it"
        assert text_of(await client.play("play", {"forget_sessions": 1}, FINE)) == "fine"
        before = len(bad.heard("tools/call"))
        assert code_of(await client.play("play", FINE)) == "upstream.session_lost"
        assert len(bad.heard("tools/call")) == before
        await comes_back(stage, "legacy")
        assert len(bad.heard("initialize")) == 3


@pytest.mark.parametrize("how", ["exit", "silence"])
async def test_a_legacy_server_that_cannot_bear_the_probe_is_served(tmp_path: Path, how: str) -> None:
    """Servers made with rmcp end when the first request is not `initialize`."""
    bad = Actor("bad", tmp_path, ["--on-discover", how])
    async with staged(bad) as stage:
        await stage.until_state("bad", "up")
        await comes_back(stage, "legacy")


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(("before", "after"), [("legacy", "modern"), ("modern", "legacy")])
async def test_a_server_that_comes_back_in_the_other_era_is_probed_again(
    tmp_path: Path, transport: str, before: str, after: str
) -> None:
    era = tmp_path / "era"
    era.write_text(before)
    bad = Actor("bad", tmp_path, ["--era", f"@{era}"])
    with kept_port() as port:
        if transport == "http":
            await bad.start_http(port)
        async with staged(bad) as stage:
            await comes_back(stage, before)
            era.write_text(after)
            if transport == "http":
                await bad.stop_http()
                await bad.start_http(port)
                async with client_of(stage, before) as client:  # what was believed of it proves wrong
                    assert "error" in await client.play("bad__play", FINE)
            else:
                os.kill(bad.pids()[0], signal.SIGKILL)
            await comes_back(stage, after)


async def test_a_burst_of_progress_arrives_whole_and_in_order(tmp_path: Path) -> None:
    params = '{"progressToken":@TOKEN@,"progress":@N@}'
    text = f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}'
    burst = {"many": {"count": 1000, "text": text}}
    async with staged(Actor("one", tmp_path)) as stage, stage.client() as client:
        params = {
            "name": "one__play",
            "arguments": {"steps": [burst, FINE]},
            "_meta": {"progressToken": "t"},
        }
        frames = [json.loads(frame) for frame in await client.frames("tools/call", params)]
        assert [frame["params"]["progress"] for frame in frames[:-1]] == [*range(1000)]
        assert text_of(frames[-1]) == "fine"


@pytest.mark.parametrize("connection", ["its own", "shared, legacy", "shared, modern"])
async def test_a_flood_to_a_client_that_does_not_read_is_not_piled_up(
    tmp_path: Path, connection: str
) -> None:
    """On a connection of its own it waits in the pipe; on a shared one, where others would have to wait with
    it, what the client cannot take is dropped. The answer comes in either case."""
    era = "modern" if connection == "shared, modern" else "legacy"
    capabilities = {"roots": {}} if connection == "its own" else {}
    padding = "x" * 100_000
    params = f'{{"progressToken":@TOKEN@,"progress":@N@,"message":"{padding}"}}'
    line = f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}'
    flood = {"many": {"count": 50, "text": line}}
    one = Actor("one", tmp_path, ["--era", era], timeout_s=40)
    async with (
        staged(one, extra="[record]\nenabled = false\n") as stage,  # the record has bounds of its own
        stage.modern() if era == "modern" else stage.client(capabilities=capabilities) as client,
    ):
        await client.play("one__play", FINE)
        before = resident_bytes(stage.process.pid)
        params = {
            "name": "one__play",
            "arguments": {"steps": [{"times": [FLOODS, flood]}, {"answer": "all said"}]},
            "_meta": {"progressToken": 1},
        }
        reading = await client.send("tools/call", params)
        await until_quiet(one.pids()[-1])
        assert resident_bytes(stage.process.pid) - before < 100 * MEGABYTE
        await reading.read_head()
        frames = await reading.all()
        assert text_of(json.loads(frames[-1])) == "all said"
        if connection == "its own":
            assert len(frames) == FLOODS * 50 + 1, "nothing was lost by waiting"


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def until_quiet(pid: int) -> None:
    """It waits for the pipe, or has said all: no byte was written for a while."""
    last, same = "", 0
    while same < 25:
        now = said_bytes(pid)
        last, same = now, same + 1 if now == last else 0
        await asyncio.sleep(0.02)


def said_bytes(pid: int) -> str:
    return Path(f"/proc/{pid}/io").read_text().split("wchar: ")[1].split()[0]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", ["/mcp", "/servers/@ONE@/mcp"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", b'"name":"\\ud800"'),
        ("tools/call", b'"name":"@ONE@__echo","\\ud800":1'),
        ("resources/read", b'"uri":"\\udc00"'),
        ("completion/complete", b'"ref":"nothing"'),
        ("completion/complete", b'"ref":["x"]'),
    ],
)
async def test_no_params_of_a_client_are_a_bug_of_ours(
    hostile: Hostile, path: str, era: str, method: str, params: bytes
) -> None:
    one = f"good_{era}"
    path, params = path.replace("@ONE@", one), params.replace(b"@ONE@", one.encode())
    meta = json.dumps(
        {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    ).encode()
    members = b"{%b}" % params if era == "legacy" else b'{"_meta":%b,%b}' % (meta, params)
    async with client_of(hostile.stage, era, path) as client:
        if era == "legacy":
            answering = await client.send(method, members)
        else:
            headers = {
                "content-type": "application/json",
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": method,
                "mcp-name": "?",
            }
            body = b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}' % (method.encode(), members)
            answering = await client.http("POST", headers, body)
        await answering.read_head()
        answer = json.loads((await answering.all())[-1])
        assert answer.get("code") != "bug.internal"
        assert "error" not in answer or answer["error"]["data"].get("code") != "bug.internal"
    hostile.check_log()


async def test_a_key_that_a_server_prints_before_it_dies_reaches_nobody(tmp_path: Path) -> None:
    script = (
        "import os, sys; sys.exit('cannot log in with ' + os.environ['SHOP_API_KEY'] + ' ' + sys.argv[1])"
    )
    entry = (
        f"[mcpServers.shop]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps(['-c', script, '--token=k-51c9f0e2'])}\n"
        'env = { SHOP_API_KEY = "quiet words of ours" }\n'
    )
    async with staged(extra=entry) as stage:
        health = await stage.until_state("shop", "down")
        with pytest.raises(AssertionError, match="exited with code 1") as refused:
            async with stage.client("/servers/shop/mcp"):
                pass
        told = f"{health} {refused.value} {stage.stderr.read_text()}"
    assert "cannot log in with ***" in told
    for secret in ("quiet words", "k-51c9f0e2"):
        assert secret not in told
