"""What is not ours to change arrives as it was sent, byte for byte, in both directions."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from end_to_end.upstream_stage import Actor, Stage, announce, client_of, staged, text_of
from waiting import until

# Every spelling that a typed model or a JSON library would tidy up.
ODD = (
    rb'{"zeta":1,"alpha":{"b":1.0,"a":1e400},"big":9007199254740993,"huge":123456789012345678901234567890,'
    rb'"neg":-0,"e":1E+2,"escaped":"\u00e9\/\u2028","plain":"\xc3\xa9","pair":"\ud83d\ude00",'
    rb'"empty":{},"list":[ ],"spaced" : [1 ,  2],"null":null,"dup":1.10}'.replace(rb"\xc3\xa9", b"\xc3\xa9")
)
META = (
    b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{"x-odd":1.0},"com.example/own":%b}' % ODD
)
RESULT = (
    b'{"resultType":"complete","content":[{"type":"x-unknown","data":%b},{"text":"\\u00e9","type":"text",'
    b'"x-more":1.0}],"x-unknown":%b,"structuredContent":{"n":1.0},"_meta":{"b":1,"a":1e400}}' % (ODD, ODD)
)
TOOL = (
    b'{"x-unknown":%b,"annotations":{"title":"T\\u00e9","readOnlyHint":true,"x-hint":1.0},'
    b'"inputSchema":{"type":"object","properties":{"z":{"maximum":1e400},"a":{"default":1.0}}},'
    b'"name":"%b","icons":[{"src":"https:\\/\\/x"}],"_meta":{"k":9007199254740993}}'
)
ERAS = ("legacy", "modern")
TRANSPORTS = ("stdio", "http")
PATHS = ("/mcp", "/servers/{}/mcp")
WAYS = [
    pytest.param(era, f"{era}_{transport}", path, id=f"{era}, {transport}, {path.format('one')}")
    for era in ERAS
    for transport in TRANSPORTS
    for path in PATHS
]


def meta_member(era: str) -> bytes:
    return META if era == "modern" else b'{"com.example/own":%b}' % ODD


def odd_list(era: str) -> bytes:
    hints = b'"resultType":"complete","ttlMs":1000,"cacheScope":"public",' if era == "modern" else b""
    return b'{%b"x-page":%b,"tools":[%b]}' % (hints, ODD, TOOL % (ODD, b"odd"))


async def actor(folder: Path, era: str, transport: str, name: str = "one", **offers: Any) -> Actor:
    one = Actor(name, folder, ["--era", era])
    if offers:
        one.offer(**offers)
    if transport == "http":
        await one.start_http()
    return one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A server of each era behind each transport, for tests that only pass something through."""
    async with staged(*await every_actor(tmp_path_factory.mktemp("shared"))) as stage:
        yield stage


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def listing(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """The same, each with one odd tool."""
    async with staged(*await every_actor(tmp_path_factory.mktemp("listing"), is_listing=True)) as stage:
        yield stage


async def every_actor(folder: Path, is_listing: bool = False) -> list[Actor]:
    actors: list[Actor] = []
    for era in ERAS:
        for transport in TRANSPORTS:
            offers = {"tools_raw": odd_list(era).decode()} if is_listing else {}
            actors.append(await actor(folder, era, transport, f"{era}_{transport}", **offers))
    return actors


def result_part(frame: bytes, rpc_id: bytes = b"1") -> bytes:
    head = b'{"jsonrpc":"2.0","id":%b,"result":' % rpc_id
    assert frame.startswith(head), frame
    return frame.removeprefix(head)[:-1]


def named(path: str, server: str, name: str) -> bytes:
    return (f"{server}__{name}" if path == "/mcp" else name).encode()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("era", "server", "path"), WAYS)
async def test_params_of_a_call_reach_the_server_as_the_client_wrote_them(
    shared: Stage, era: str, server: str, path: str
) -> None:
    shape = b'{"x-first":%b,"name":"%b","arguments":%b,"_meta":%b,"x-last":1.0}'
    async with client_of(shared, era, path.format(server)) as client:
        sent = shape % (ODD, named(path, server, "echo"), ODD, meta_member(era))
        answer = await client.request("tools/call", sent)
        got = base64.b64decode(answer["result"]["params64"])
        assert got == shape % (ODD, b"echo", ODD, meta_member(era))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("era", "server", "path"), WAYS)
async def test_a_result_reaches_the_client_as_the_server_wrote_it(
    shared: Stage, era: str, server: str, path: str
) -> None:
    async with client_of(shared, era, path.format(server)) as client:
        wanted = base64.b64encode(RESULT).decode()
        params = {"name": named(path, server, "echo").decode(), "arguments": {"result64": wanted}}
        (frame,) = await client.frames("tools/call", params)
        assert result_part(frame) == RESULT


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_method_nobody_knows_passes_with_its_params_and_its_result(
    tmp_path: Path, era: str, transport: str
) -> None:
    """Also at /mcp, where there is one server that it can mean."""
    async with staged(await actor(tmp_path, era, transport)) as stage:
        for path in PATHS:
            async with client_of(stage, era, path.format("one")) as client:
                sent = b'{"name":"x","uri":"y","odd":%b,"_meta":%b}' % (ODD, meta_member(era))
                answer = await client.request("com.example/next-year", sent)
                assert base64.b64decode(answer["result"]["params64"]) == sent
                wanted = b'{"result64":"%b","_meta":%b}' % (base64.b64encode(RESULT), meta_member(era))
                (frame,) = await client.frames("com.example/next-year", wanted)
                assert result_part(frame) == RESULT


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("era", ERAS)
async def test_ids_come_back_as_they_were_written(shared: Stage, era: str, path: str) -> None:
    server = f"{era}_stdio"
    async with client_of(shared, era, path.format(server)) as client:
        for rpc_id in (
            b"0", b"-1", b'"1"', b'""', b'"\\u00e9\\/"', '"é"'.encode(), b"9007199254740993",
            b"123456789012345678901234567890",
        ):  # fmt: skip
            (frame,) = await client.frames("tools/list", b"{}" if era == "legacy" else {}, rpc_id)
            result_part(frame, rpc_id)
            params = {"name": named(path, server, "nothing").decode()}
            (frame,) = await client.frames("tools/call", params, rpc_id)
            assert frame.startswith(b'{"jsonrpc":"2.0","id":%b,' % rpc_id)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("era", "server", "path"), WAYS)
async def test_a_tool_is_listed_as_the_server_defined_it_but_for_its_name(
    listing: Stage, era: str, server: str, path: str
) -> None:
    async with client_of(listing, era, path.format(server)) as client:
        (frame,) = await client.frames("tools/list")
        if path == "/mcp":
            assert TOOL % (ODD, named(path, server, "odd")) in frame
        else:
            assert result_part(frame) == odd_list(era)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("era", ERAS)
async def test_an_error_of_the_server_arrives_as_it_was_said(shared: Stage, era: str, path: str) -> None:
    server = f"{era}_stdio"
    error = b'{"code":-32099,"message":"caf\\u00e9 \\/","x-own":%b,"data":%b}' % (ODD, ODD)
    frame = f'{{"jsonrpc":"2.0","id":@ID@,"error":{error.decode()}}}'
    async with client_of(shared, era, path.format(server)) as client:
        steps = {"steps": [{"say": frame}]}
        params = {"name": named(path, server, "play").decode(), "arguments": steps}
        (got,) = await client.frames("tools/call", params)
        assert b'"data":%b' % ODD in got
        assert json.loads(got)["error"]["message"] == "café /"
        assert json.loads(got)["error"]["code"] == -32099
        assert b'"error":%b' % error in got, "fields nobody knows, and the spelling"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("era", ERAS)
async def test_notifications_on_the_way_keep_their_bytes(shared: Stage, era: str, path: str) -> None:
    server = f"{era}_stdio"
    message = b'{"level":"info","data":%b,"x-own":1.0}' % ODD
    progress = b'{"x-own":%b,"progressToken":%b,"progress":1.0,"total":1e400}'
    async with client_of(shared, era, path.format(server)) as client:
        steps = [
            notice("notifications/message", message),
            notice("notifications/progress", progress % (ODD, b"@TOKEN@")),
            {"answer": "fine"},
        ]
        params = {
            "name": named(path, server, "play").decode(),
            "arguments": {"steps": steps},
            "_meta": {"progressToken": "mine \u00e9"},
        }
        said, moved, answer = await client.frames("tools/call", params)
        assert said == b'{"jsonrpc":"2.0","method":"notifications/message","params":%b}' % message
        token = json.dumps("mine \u00e9").encode()
        assert moved == b'{"jsonrpc":"2.0","method":"notifications/progress","params":%b}' % (
            progress % (ODD, token)
        )
        assert text_of(json.loads(answer)) == "fine"


def notice(method: str, params: bytes) -> dict[str, str]:
    return {"say": f'{{"jsonrpc":"2.0","method":"{method}","params":{params.decode()}}}'}


async def test_an_announcement_keeps_its_bytes(tmp_path: Path) -> None:
    async with staged(Actor("one", tmp_path)) as stage, stage.client() as client:
        heard = await client.listen()
        await client.play(
            "one__play", announce("notifications/tools/list_changed", {"x": 1}), {"answer": "fine"}
        )
        while (frame := await heard.next())["method"] != "notifications/tools/list_changed" or (
            "params" not in frame
        ):
            pass
        assert frame["params"] == {"x": 1}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_notification_nobody_knows_reaches_the_server_of_a_direct_client(
    tmp_path: Path, transport: str
) -> None:
    one = await actor(tmp_path, "legacy", transport)
    async with staged(one) as stage, stage.client("/servers/one/mcp") as client:
        await client.notify("notifications/com.example/own", ODD)
        (heard,) = await until(lambda: one.heard("notifications/com.example/own"))
        assert heard["line"]["raw"].encode().endswith(b'"params":%b}' % ODD)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_questions_and_answers_of_a_server_keep_their_bytes(tmp_path: Path, transport: str) -> None:
    one = await actor(tmp_path, "legacy", transport)
    question = {"ask": {"method": "elicitation/create", "params": {"message": "?", "x-own": {"b": 1.0}}}}
    async with staged(one) as stage, stage.client(capabilities={"elicitation": {}}) as client:
        answering = await client.send(
            "tools/call", {"name": "one__play", "arguments": {"steps": [question, {"answer": "@ANSWER@"}]}}
        )
        await answering.read_head()
        asked = await answering.next()
        assert asked["params"] == {"message": "?", "x-own": {"b": 1.0}}
        await client.respond(asked, b'{"action":"accept","x-odd":%b}' % ODD)
        answer = await answering.next()
        assert json.loads(text_of(answer))["action"] == "accept"
        assert any(line["raw"].encode().endswith(b'"x-odd":%b}}' % ODD) for line in one.lines())


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_an_operators_secret_goes_up_and_a_clients_own_does_not(
    tmp_path: Path, era: str, transport: str
) -> None:
    one = await actor(tmp_path, era, transport)
    tokens = 'tokens = [{ token = "client-secret-1234567890", principal = "me" }]'
    async with staged(one, server=tokens) as stage:
        client = client_of(stage, era)
        send = client.http

        async def send_with_token(method: str, headers: dict[str, str], body: bytes = b"") -> Any:
            return await send(method, headers | {"authorization": "Bearer client-secret-1234567890"}, body)

        client.http = send_with_token
        async with client:
            assert text_of(await client.play("one__play", {"answer": "fine"})) == "fine"
        assert "client-secret" not in one.log_path.read_text()
