"""A plain call is answered and recorded exactly as any other (`relay.plain_calls`, `edge.plain_http`).

Each conversation is held twice with one gateway: with heads of which a plain call is begun, and with heads
that announce a trailer, which are for the general path. Answers and rows must be the same but for times and
ids. CALLGATE_CONVERSATIONS sets how many there are.
"""

import asyncio
import gc
import json
import os
import random
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pytest
from edge.http_probe import INITIALIZE, JSON_HEADERS, MODERN_META, Answer, HttpProbe
from end_to_end.upstream_stage import Actor, say
from waiting import until

from callgate.app.build import build_gateway
from callgate.config.load import load_config
from callgate.config.sources.flags import Flags
from callgate.edge.plain_http import LegacyAnswer, ModernAnswer
from callgate.model.envelope import Envelope
from callgate.relay.lists import known_lists
from callgate.upstreams.link.line import Line
from callgate.upstreams.mcp_upstream import McpUpstream

CONVERSATIONS = int(os.environ.get("CALLGATE_CONVERSATIONS", "35"))
AT_ONCE = 8
TEXTS = ["hi", "", "ä€😀", "\\", '"', "line\nbreak", "\u2028", "x" * 20_000, "name", "_meta", "isError true"]
LEGACY, MODERN = "legacy", "modern"
SERVERS = ("old", "new", "pipe")

Json = dict[str, Any]
Step = Callable[["Speaker"], Awaitable[list[Any]]]
T = TypeVar("T")


class Speaker:
    """A client on one connection that it keeps."""

    def __init__(self, port: int, name: str, era: str, path: str, *, is_general: bool) -> None:
        self._port = port
        self._era = era
        self.path = path
        self._name = name
        self._is_general = is_general
        self._session: dict[str, str] = {}
        self._sent = 0
        self.last_id = 0
        self.probe = HttpProbe(port)

    async def open(self) -> None:
        await self.probe.__aenter__()
        if self._era == LEGACY and not self._session:
            hello = INITIALIZE | {"protocolVersion": "2025-03-26"}
            answer = await self.ask("initialize", hello)
            self._session = {"mcp-session-id": answer.headers["mcp-session-id"]}
            await self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', "")
            assert (await self.probe.answer()).status == 202

    @property
    def next_call(self) -> str:
        """A text for the call that comes next, and for no other; see ROWS."""
        return f"{self._name}-{self.last_id + 1}"

    def tool(self, native: str, server: str) -> str:
        return native if self.path != "/mcp" else f"{server}__{native}"

    def request(self, method: str, params: Any, rpc_id: Any = None) -> bytes:
        if rpc_id is None:
            self.last_id += 1
            rpc_id = self.last_id
        if self._era == MODERN and isinstance(params, dict):
            meta = params.get("_meta", {})
            params = {**params, "_meta": MODERN_META | meta if isinstance(meta, dict) else meta}
        return json.dumps({"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params}).encode()

    def head(self, body: bytes, method: str, name: str | None = None, **headers: str) -> bytes:
        sent = {"host": f"localhost:{self._port}", "x-callgate-client-id": self._name}
        sent["x-callgate-workspace"] = self._name  # a session of its own in the modern era too
        sent |= JSON_HEADERS | self._session
        if self._era == MODERN:
            sent |= {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
            sent |= {} if name is None else {"mcp-name": name}
        self._sent += 1
        if self._is_general:
            sent["trailer"] = "x-none"
        elif self._sent % 4 == 0:  # another head than before
            sent["x-request"] = str(self._sent)
        sent |= {key.replace("_", "-"): value for key, value in headers.items()}
        lines = "".join(f"{key}: {value}\r\n" for key, value in sent.items())
        lines += f"content-length: {len(body)}\r\n"
        return f"POST {self.path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body

    async def send(self, body: bytes, method: str, name: str | None = None, **headers: str) -> None:
        await self.probe.send(self.head(body, method, name, **headers))

    async def ask(self, method: str, params: Any, name: str | None = None, rpc_id: Any = None) -> Answer:
        await self.send(self.request(method, params, rpc_id), method, name)
        return await self.probe.answer()

    async def call(self, tool: str, arguments: Any, rpc_id: Any = None, **more: Any) -> Answer:
        params = {"name": tool, "arguments": arguments, **more}
        return await self.ask("tools/call", params, tool, rpc_id)


def seen(answer: Answer) -> Any:
    headers = {key: value for key, value in answer.headers.items() if key not in ("mcp-session-id", "date")}
    return answer.status, headers, answer.body


# ---- what a conversation may consist of


def play(server: str, *steps: Json, times: int = 1, **more: Any) -> Step:
    async def do(speaker: Speaker) -> list[Any]:
        tool = speaker.tool("play", server)
        return [seen(await speaker.call(tool, {"steps": list(steps)}, **more)) for _ in range(times)]

    return do


def echo(server: str, text: str, times: int, **more: Any) -> Step:
    async def do(speaker: Speaker) -> list[Any]:
        tool = speaker.tool("echo", server)
        return [seen(await speaker.call(tool, {"text": text, "n": n}, **more)) for n in range(times)]

    return do


def any_request(method: str, params: Any, rpc_id: Any = None) -> Step:
    async def do(speaker: Speaker) -> list[Any]:
        return [seen(await speaker.ask(method, params, None, rpc_id))]

    return do


def raw_body(body: bytes, **headers: str) -> Step:
    async def do(speaker: Speaker) -> list[Any]:
        await speaker.send(body, "tools/call", **headers)
        return [seen(await speaker.probe.answer())]

    return do


def pipelined(server: str, count: int) -> Step:
    """Several in one piece: the answers come in the order of asking."""

    async def do(speaker: Speaker) -> list[Any]:
        tool = speaker.tool("echo", server)
        bodies = [speaker.request("tools/call", {"name": tool, "arguments": {"n": n}}) for n in range(count)]
        await speaker.probe.send(b"".join(speaker.head(body, "tools/call", tool) for body in bodies))
        return [seen(await speaker.probe.answer()) for _ in range(count)]

    return do


def in_pieces(server: str, at: float) -> Step:
    async def do(speaker: Speaker) -> list[Any]:
        tool = speaker.tool("echo", server)
        body = speaker.request("tools/call", {"name": tool, "arguments": {"text": "in pieces"}})
        whole = speaker.head(body, "tools/call", tool)
        cut = int(len(whole) * at)
        await speaker.probe.send(whole[:cut])
        await asyncio.sleep(0.001)
        await speaker.probe.send(whole[cut:])
        return [seen(await speaker.probe.answer())]

    return do


def read_from(file: Path, offset: int) -> str:
    with file.open("rb") as opened:
        opened.seek(offset)
        return opened.read().decode(errors="replace")


def cancelled(server: str, folder: Path, **more: Any) -> Step:
    """The client gives a call up: over a second connection in the legacy era, by hanging up in the modern.
    `folder`: where the server writes down what it heard."""

    async def do(speaker: Speaker) -> list[Any]:
        tool = speaker.tool("play", server)
        warm = await speaker.call(tool, {"steps": [{"answer": "warm"}]})
        name = speaker.next_call
        arguments = {"steps": [{"wait_cancelled": None}], "call": name}
        body = speaker.request("tools/call", {"name": tool, "arguments": arguments, **more})
        heard = folder / f"{server}.log"
        offset = heard.stat().st_size
        await speaker.send(body, "tools/call", tool)
        if b"warm" in warm.body:  # else it is refused, and its server hears nothing
            await until(lambda: f'{name}\\"' in read_from(heard, offset))
        if not speaker._session:
            await speaker.probe.hang_up()
            await speaker.open()
            return []
        notice = {"method": "notifications/cancelled", "params": {"requestId": speaker.last_id}}
        async with HttpProbe(speaker._port) as other:
            await other.send(speaker.head(json.dumps({"jsonrpc": "2.0", **notice}).encode(), ""))
            assert (await other.answer()).status == 202
        return [seen(await speaker.probe.answer())]

    return do


_PROGRESS = '"notifications/progress","params":{"progressToken":@TOKEN@,"progress":1}'
PROGRESS = {"say": f'{{"jsonrpc":"2.0","method":{_PROGRESS}}}'}
LOGGED = say("notifications/message", {"level": "error", "data": "half way"})
FAULT = {"say": '{"jsonrpc":"2.0","id":@ID@,"error":{"code":-32050,"message":"no","data":{"x":1}}}'}
TOOL_ERROR = {
    "say": '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"bad"}],"isError":true}}'
}
_ODD = '{ "x" : 1e3, "content" : [], "isError" : false , "y":"\\u00e4"}'
ODD = {"say": f'{{"jsonrpc":"2.0","id":@ID@,"result":{_ODD} }}'}
NO_OBJECT = {"say": '{"jsonrpc":"2.0","id":@ID@,"result":[1]}'}
STRING_ID = {"say": '{"jsonrpc":"2.0","id":"@ID@","result":{"content":[]}}'}
QUESTION = {"ask": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}}
FINE = {"answer": "fine"}
LEVELS = ("debug", "info", "warning", "error", "emergency", "no such level")
TOKENS = ("t", "", "ä\ud83d\ude00", 0, 7, -1, 1.5, 10**30, True, None, [], {"a": 1}, "x" * 60_000)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ODD_METAS: tuple[Any, ...] = (None, [], [{"progressToken": "t"}], 5, "progressToken")
METAS: tuple[Json, ...] = (
    *({"progressToken": token} for token in TOKENS),
    *({"progressToken": "t", "traceparent": trace} for trace in (TRACE, "nonsense", 5)),
    {"traceparent": TRACE},
    {"x": "y" * 70_000},
    {"progressToken": "t", "x": "y" * 70_000},
    {"\ud800": 1, "progressToken": "t"},
    {"io.modelcontextprotocol/protocolVersion": "2025-03-26", "progressToken": "t"},
    {"io.modelcontextprotocol/protocolVersion": 5},
    {"io.modelcontextprotocol/logLevel": "debug"},
    MODERN_META,
    MODERN_META | {"progressToken": "t"},
)


def logged(level: str) -> Json:
    return say("notifications/message", {"level": level, "data": "half way"})


def leveled(server: str, level: str, *said: str) -> Step:
    """A level is set between two calls of one tool, and there are messages above and below it."""

    async def do(speaker: Speaker) -> list[Any]:
        calls = play(server, *map(logged, said), FINE, times=2)
        first = await calls(speaker)
        answer = await speaker.ask("logging/setLevel", {"level": level})
        return [*first, seen(answer), *await calls(speaker)]

    return do


def one_id(server: str, rpc_id: Any, **more: Any) -> Step:
    """An id that is used again, once its call is over."""

    async def do(speaker: Speaker) -> list[Any]:
        calls = [play(server, *steps, FINE, rpc_id=rpc_id, **more) for steps in ([], [PROGRESS], [])]
        return [said for call in calls for said in await call(speaker)]

    return do


def step_of(choose: random.Random, path: str, folder: Path) -> Step:
    server = path.split("/")[2] if path != "/mcp" else choose.choice(SERVERS)
    tool = "echo" if path != "/mcp" else f"{server}__echo"
    twice = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{},"name":"%b"}}'
    half = b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"%b","\\ud800":1}}'
    fine = b'"name":"%b","arguments":{"steps":[{"answer":"fine"}]}' % tool.replace("echo", "play").encode()
    two_metas = fine + b',"_meta":{"progressToken":1},"_meta":{"progressToken":2}'
    spelled = fine + b',"\\u005fmeta":{"progress\\u0054oken":"t"}'
    meta = {"progressToken": choose.choice(TOKENS)}
    makers: list[Callable[[], Step]] = [
        lambda: echo(server, choose.choice(TEXTS), choose.randint(2, 6)),
        lambda: echo(server, choose.choice(TEXTS), 3),
        lambda: play(server, FINE, times=3),
        lambda: play(server, choose.choice([FAULT, TOOL_ERROR, ODD, NO_OBJECT, STRING_ID]), times=2),
        lambda: play(server, choose.choice([LOGGED, PROGRESS]), FINE, times=2),
        lambda: play(server, PROGRESS, PROGRESS, FINE, _meta={"progressToken": "t"}),
        lambda: play(server, QUESTION, FINE, times=2),
        lambda: echo(server, "meta", 2, _meta=choose.choice([{}, {"x": 1}])),
        lambda: echo(server, "meta", 3, _meta=choose.choice(ODD_METAS)),
        # Not `echo`: it tells what it got, which is a token of ours.
        lambda: play(server, FINE, times=3, _meta=choose.choice(METAS)),
        lambda: play(server, FINE, times=3, _meta={"progressToken": choose.choice(TOKENS)}),
        lambda: play(server, *choose.choices([PROGRESS, logged("info")], k=3), FINE, times=2, _meta=meta),
        lambda: play(server, PROGRESS, choose.choice([FAULT, TOOL_ERROR, NO_OBJECT]), times=2, _meta=meta),
        lambda: play(server, PROGRESS, QUESTION, FINE, times=2, _meta=meta),
        lambda: leveled(server, choose.choice(LEVELS), *choose.choices(LEVELS, k=2)),
        lambda: one_id(server, choose.choice([5, "again"]), _meta=meta),
        lambda: cancelled(server, folder, _meta=meta),
        lambda: raw_body(b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{%b}}' % two_metas),
        lambda: raw_body(b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{%b}}' % spelled),
        lambda: any_request("tools/call", {"name": f"{tool}x", "arguments": {}}),
        lambda: any_request("tools/call", {"arguments": {}}),
        lambda: any_request("tools/call", {"name": 5}),
        lambda: any_request("tools/call", [tool]),
        lambda: any_request("ping", {}),
        lambda: any_request("tools/list", {}),
        lambda: any_request("no/such/method", {"x": 1}),
        lambda: any_request("tools/call", {"name": tool}, choose.choice(["a", -3, 10**30, 1.5, None])),
        lambda: raw_body(choose.choice([b"", b"{", b"[]", b"null", b"\xff", b"7" * 30, b"{}"])),
        lambda: raw_body(twice % tool.encode()),
        lambda: raw_body(half % tool.encode()),
        lambda: raw_body(half % tool.encode(), mcp_name="=?base64?\xe9?="),
        lambda: raw_body(b"{}", content_type="text/plain"),
        lambda: raw_body(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', accept="application/json"),
        lambda: raw_body(twice % tool.encode(), accept="text/event-stream, application/json"),
        lambda: raw_body(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'),
        lambda: raw_body(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', mcp_session_id="nobody"),
        lambda: pipelined(server, choose.randint(2, 4)),
        lambda: in_pieces(server, choose.random()),
        lambda: cancelled(server, folder),
    ]
    return choose.choice(makers)()


async def hold(port: int, folder: Path, seed: int, *, is_general: bool) -> list[Any]:
    choose = random.Random(seed)
    era = choose.choice([LEGACY, LEGACY, MODERN])
    path = choose.choice(["/mcp", "/mcp", *(f"/servers/{name}/mcp" for name in SERVERS)])
    speaker = Speaker(
        port, f"c{seed}-{'general' if is_general else 'plain'}", era, path, is_general=is_general
    )
    said: list[Any] = []
    try:
        await speaker.open()
        for _ in range(choose.randint(3, 8)):
            said += await asyncio.wait_for(step_of(choose, path, folder)(speaker), 60)
    finally:
        await speaker.probe.hang_up()
    return said


async def compare(port: int, folder: Path) -> list[Any]:
    """The answers that differ."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> list[Any]:
        async with gate:
            plain, general = await asyncio.gather(
                hold(port, folder, seed, is_general=False),
                hold(port, folder, seed, is_general=True),
                return_exceptions=True,
            )
        if isinstance(plain, BaseException) or isinstance(general, BaseException):
            return [(seed, repr(plain), repr(general))]
        differ = [(seed, *pair) for pair in zip(plain, general, strict=False) if pair[0] != pair[1]]
        return differ or ([] if len(plain) == len(general) else [(seed, plain, general)])

    found = await asyncio.gather(*(one(seed) for seed in range(CONVERSATIONS)))
    return [pair for pairs in found for pair in pairs]


# Lists are asked at times of their own, and of refusals at the door only so many are rows. What tells calls
# apart (`Speaker.next_call`) is not compared.
ROWS = """
    SELECT e.id, split_part(e.client, '-', 1), e.client LIKE '%-plain', e.method, e.kind, e.sender, e.rpc_id,
        e.server_name, e.server_version, e.server_protocol, e.tool_name, e.ok, e.error, e.error_code,
        e.outcome, e.ended_by, regexp_replace(e.request_json, '-(plain|general)', ''), e.response_json,
        e.annotations, e.response_bytes,
        e.is_redacted, e.is_cut, e.principal, e.via, e.trace_id,
        list([u.server_name, u.ok::VARCHAR, u.same_request::VARCHAR, u.same_response::VARCHAR,
              regexp_replace(u.request_json, '-(plain|general)', ''),
              u.response_json] ORDER BY u.server_name)
    FROM rpc_events e LEFT JOIN rpc_event_upstreams u ON u.event_id = e.id
    WHERE e.method <> 'tools/list' AND e.client LIKE 'c%-%'
        AND NOT (e.outcome = 'refused' AND e.error_code LIKE 'caller.%')
    GROUP BY ALL
"""


def compare_rows(folder: Path) -> None:
    rows: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for day in (folder / "record" / "days").glob("*.duckdb"):
        with duckdb.connect(str(day), read_only=True) as store:
            for _, conversation, is_plain, *row in store.execute(ROWS).fetchall():
                rows[is_plain][repr((conversation, row))] += 1
    only_plain, only_general = rows[True] - rows[False], rows[False] - rows[True]
    told = ["plain:", *only_plain, "general:", *only_general]
    assert not only_plain | only_general, "\n".join(told)
    assert rows[True].total() > CONVERSATIONS


# What may be called, who finds it, and what is left out.
RULES = '[policy]\ndestructive = "deny"\n[server]\ntool_search = true\n'
LEFT_OUT = 'tools = { leave_out = ["echo"] }\n'
HARMLESS = [
    {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    for name in ("play", "echo")
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("other", "has_rules"),
    [
        ("looking for the tool", False),
        ("looking for the tool", True),
        ("as the tool is known", False),
    ],
)
async def test_a_plain_call_is_answered_and_recorded_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, has_rules: bool
) -> None:
    # With a policy a call waits for a new list once the old one is a minute old: one that is given up
    # meanwhile would not have reached its server, on either path.
    monkeypatch.setattr(known_lists, "DEFAULT_TTL_S", 3600.0)
    old = Actor("old", tmp_path, isolation="shared")
    new = Actor("new", tmp_path, ["--era", "modern"], isolation="shared")
    pipe = Actor("pipe", tmp_path)
    old.offer(tools=HARMLESS)
    new.offer(tools=[HARMLESS[0], "echo"] if has_rules else ["play", "echo"])
    pipe.offer(tools=HARMLESS)
    await old.start_http()
    await new.start_http()
    config = "version = 1\n" + RULES * has_rules + new.toml() + pipe.toml()
    config += old.toml() + LEFT_OUT * has_rules
    (tmp_path / "callgate.toml").write_text(config)
    state = tmp_path / "state"
    loaded = load_config(Flags(config=tmp_path / "callgate.toml"), {"CALLGATE_STATE_DIR": str(state)})
    gateway = await build_gateway(loaded, keeps_store=True)
    begun: list[str] = []
    looks = other == "looking for the tool"

    def count(arrival: Any, tool_name: str, receiver: Any) -> Any:
        is_general = "-general" in arrival.client
        is_left_out = is_general and (looks or isinstance(receiver, LegacyAnswer | ModernAnswer))
        call = None if is_left_out else begin(arrival, tool_name, receiver)
        if call is not None:
            begun.append(arrival.client)
        return call

    begin, gateway.relay.begin = gateway.relay.begin, count
    try:
        port = await gateway.listener.start("127.0.0.1", 0)
        await until(
            lambda: all(
                entry.state.value == "up" for entry in gateway.relay.health() if entry.name in SERVERS
            )
        )
        differing = await compare(port, tmp_path)
    finally:
        await gateway.close()
        await old.stop_http()
        await new.stop_http()
    assert not differing, "\n".join(map(str, differing))
    assert len([client for client in begun if "-plain" in client]) > CONVERSATIONS
    compare_rows(state)


async def test_a_tool_for_clients_that_declare_more_stays_theirs(tmp_path: Path) -> None:
    """Two modern clients of one name are one session; what each request declares decides what it may call."""
    new = Actor("new", tmp_path, ["--era", "modern"], isolation="shared")
    new.offer(tools=["echo"], tools_if={"elicitation": ["confirm"]})
    await new.start_http()
    (tmp_path / "callgate.toml").write_text("version = 1\n" + new.toml())
    environment = {"CALLGATE_STATE_DIR": str(tmp_path / "state")}
    loaded = load_config(Flags(config=tmp_path / "callgate.toml"), environment)
    gateway = await build_gateway(loaded, keeps_store=True)
    try:
        port = await gateway.listener.start("127.0.0.1", 0)
        await until(lambda: "up" in [entry.state.value for entry in gateway.relay.health()])
        more = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}}
        speakers = [Speaker(port, "one", MODERN, "/mcp", is_general=False) for _ in range(2)]
        for speaker in speakers:
            await speaker.open()
        for _ in range(3):
            declaring = (await speakers[0].call("new__confirm", {}, **more)).json()
            silent = (await speakers[1].call("new__confirm", {})).json()
            assert "result" in declaring, declaring
            assert silent["error"]["data"]["code"] == "caller.missing_capability"
        for speaker in speakers:
            await speaker.probe.hang_up()
    finally:
        await gateway.close()
        await new.stop_http()


def all_of(kind: type[T], but: Iterable[Any] = ()) -> list[T]:
    """Also what other tests of this process left behind: `but` names that."""
    gc.collect()
    known = {id(one) for one in but}
    return [found for found in gc.get_objects() if isinstance(found, kind) and id(found) not in known]


async def test_what_is_remembered_for_a_sessions_calls_keeps_no_ended_connection_and_no_token(
    tmp_path: Path,
) -> None:
    """A session may be silent for a day, its own process ends after minutes."""
    pipe = Actor("pipe", tmp_path)
    (tmp_path / "callgate.toml").write_text("version = 1\n" + pipe.toml())
    environment = {"CALLGATE_STATE_DIR": str(tmp_path / "state")}
    loaded = load_config(Flags(config=tmp_path / "callgate.toml"), environment)
    older = [*all_of(Line), *all_of(McpUpstream)]
    gateway = await build_gateway(loaded, keeps_store=True)
    try:
        port = await gateway.listener.start("127.0.0.1", 0)
        await until(lambda: "up" in [entry.state.value for entry in gateway.relay.health()])
        shared = [line for line in all_of(Line, older) if line.link.is_shared]
        speaker = Speaker(port, "one", LEGACY, "/mcp", is_general=False)
        await speaker.open()
        for number in range(4):
            meta = {"progressToken": f"of call {number}"}
            assert "result" in (await speaker.call("pipe__echo", {}, _meta=meta)).json()
        own = [weakref.ref(line) for line in all_of(Line, [*older, *shared])]
        assert own
        await until(
            lambda: not [one for one in all_of(Envelope) if b"of call" in (one.progress_token or b"")]
        )
        (upstream,) = all_of(McpUpstream, older)

        def has_left() -> bool:
            for idle in upstream.expendable():
                idle.end()
            return gc.collect() >= 0 and not [line for line in own if line() is not None]

        await until(has_left)
        assert "result" in (await speaker.call("pipe__echo", {})).json(), "on the next connection"
        await speaker.probe.hang_up()
    finally:
        await gateway.close()
