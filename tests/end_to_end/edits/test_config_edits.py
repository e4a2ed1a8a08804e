"""Changes of callgate.toml through the API of a real gateway."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from difflib import ndiff
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from end_to_end.gateway_process import GatewayProcess, running_gateway
from waiting import until

from callgate.config.local_reach import newly_reaching

ODD = """\
# ours
version=1   # the first
server.max_body = "8MiB"  # dotted

[record]
  keep = "30d"    # a month
[mcpServers.files]
disabled = true # not now
command = "cat"
args = [ "-u",   # unbuffered
]
env = {A="1",  "B b" = '2'}

# two databases
[[sources]]
id = "shop"
dsn = "sqlite:///shop.db"
max_rows = 10
[[ "sources" ]]
id = 'other'
dsn = "sqlite:///other.db"
[policy]
"""
SECRET = "hunter2-swordfish"


def edited(text: str, line_end: str = "\r\n") -> bytes:
    return text.replace("\n", line_end).encode()


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    (tmp_path / "callgate.toml").write_bytes(edited(ODD))
    async with running_gateway(tmp_path) as running:
        yield running


def _send(url: str, method: str, headers: dict[str, str], body: Any) -> tuple[int, Any]:
    sent = None if body is None else json.dumps(body).encode()
    all_headers = {"content-type": "application/json", **headers}
    try:
        with urlopen(Request(url, sent, all_headers, method=method), timeout=30) as answer:
            return answer.status, json.load(answer)
    except HTTPError as problem:
        with problem:
            return problem.code, json.load(problem)


async def get(gateway: GatewayProcess) -> Any:
    return (await asyncio.to_thread(_send, f"{gateway.announced['url']}/api/v1/config", "GET", {}, None))[1]


async def patch(
    gateway: GatewayProcess, body: Any, digest: str | None = None, query: str = "", **headers: str
) -> tuple[int, Any]:
    if digest is None:
        digest = (await get(gateway))["digest"]
    url = f"{gateway.announced['url']}/api/v1/config{query}"
    return await asyncio.to_thread(_send, url, "PATCH", {"if-match": f'"{digest}"', **headers}, body)


def changes(before: str, after: str) -> list[str]:
    lines = ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


async def test_after_thirty_changes_only_the_touched_lines_differ(gateway: GatewayProcess) -> None:
    file = gateway.state / "callgate.toml"
    digest = (await get(gateway))["digest"]
    steps: list[dict[str, Any]] = []
    for at in range(5):
        steps += [
            {"set": {"record.keep": f"{at + 7}d"}},
            {"set": {"sources.other.max_rows": at + 1}},
            {
                "set": {"mcpServers.files.env.C": str(at)},
                "unset": ["mcpServers.files.timeout_s"] if at else [],
            },
            {"set": {"mcpServers.files.timeout_s": at + 1}},
            {"set": {'mcpServers."a b"': {"url": f"http://127.0.0.1:{at + 1}/mcp", "disabled": True}}},
            {"set": {"server.max_offers": at + 100, "policy.destructive": "deny"}},
        ]
    assert len(steps) == 30
    for step in steps:
        status, told = await patch(gateway, step, digest)
        assert status == 200, told
        digest = told["digest"]
    after = file.read_bytes().decode()
    assert changes(edited(ODD).decode(), after) == [
        "+ server.max_offers = 104\r\n",
        '-   keep = "30d"    # a month\r\n',
        '+   keep = "11d"    # a month\r\n',
        '- env = {A="1",  "B b" = \'2\'}\r\n',
        '+ env = {A="1",  "B b" = \'2\', C = "4"}\r\n',
        "+ timeout_s = 5\r\n",
        "+ \r\n",
        '+ [mcpServers."a b"]\r\n',
        '+ url = "http://127.0.0.1:5/mcp"\r\n',
        "+ disabled = true\r\n",
        "+ max_rows = 5\r\n",
        '+ destructive = "deny"\r\n',
    ]
    assert digest == (await get(gateway))["digest"]
    status, told = await patch(
        gateway,
        {
            "set": {"record.keep": "30d"},
            "unset": [
                "server.max_offers",
                "mcpServers.files.env.C",
                "mcpServers.files.timeout_s",
                'mcpServers."a b"',
                "sources.other.max_rows",
                "policy.destructive",
            ],
        },
    )
    assert status == 200, told
    assert file.read_bytes() == edited(ODD), "taken back, no byte differs"
    assert (gateway.state / "callgate.toml.bak").read_bytes().decode() == after


async def test_of_two_editors_one_is_told_that_it_comes_too_late(gateway: GatewayProcess) -> None:
    digest = (await get(gateway))["digest"]
    answers = await asyncio.gather(
        *(patch(gateway, {"set": {"record.keep": f"{at + 1}d"}}, digest) for at in range(4))
    )
    assert sorted(status for status, _ in answers) == [200, 412, 412, 412]
    assert {told["code"] for status, told in answers if status == 412} == {"caller.stale"}
    status, told = await patch(gateway, {"set": {"record.keep": "9d"}}, "")
    assert (status, told["code"]) == (428, "caller.no_precondition")


async def test_each_value_has_its_origin(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(ODD)
    async with running_gateway(tmp_path, CALLGATE_RECORD_MAX_SIZE="3GiB") as gateway:
        view = await get(gateway)
        values = {one["key_path"]: one for one in view["values"]}
        told = {
            path: (values[path]["value"], values[path]["origin"], values[path]["where"])
            for path in (
                "record.keep",
                "record.max_size",
                "server.listen",
                "record.max_body",
                "sources.other.dsn",
            )
        }
        assert told == {
            "record.keep": ("30d", "file", "line 6"),
            "record.max_size": ("3GiB", "environment", "CALLGATE_RECORD_MAX_SIZE"),
            "server.listen": ("127.0.0.1:0", "flag", "--port"),
            "record.max_body": ("256KiB", "default", ""),
            "sources.other.dsn": (f"sqlite:///{tmp_path}/other.db", "file", "line 21"),
        }
        assert values["record.on_failure"]["choices"] == ["continue", "refuse"]
        assert view["file"] == str(tmp_path / "callgate.toml")


async def test_a_dry_run_tells_the_difference_and_writes_nothing(gateway: GatewayProcess) -> None:
    status, told = await patch(gateway, {"set": {"record.keep": "1d"}}, query="?dry_run=true")
    assert (status, told["diff"]) == (
        200,
        ['-  keep = "30d"    # a month', '+  keep = "1d"    # a month'],
    )
    assert (gateway.state / "callgate.toml").read_bytes() == edited(ODD)


async def test_all_problems_are_told_with_their_keys_and_nothing_is_written(gateway: GatewayProcess) -> None:
    change = {"set": {"record.keep": "soon", "server.tokns": ["x"], "sources.shop.mode": "admin"}}
    status, told = await patch(gateway, change)
    assert (status, told["code"]) == (422, "caller.bad_config")
    assert {one["key_path"] for one in told["problems"]} == {"record.keep", "server.tokns", "sources[0].mode"}
    for bad in (
        {"set": {"record..keep": 1}},
        {"set": {"a": None}},
        {"unset": ["server.listen"]},
        {"sets": {}},
    ):
        status, told = await patch(gateway, bad)
        assert (status, told["code"]) == (400, "caller.bad_params"), bad
    for nowhere in (
        "server.max_body.x",
        "mcpServers.files.args[7]",
        "sources[9].dsn",
        "server.tokens[3].token",
    ):
        status, told = await patch(gateway, {"set": {nowhere: "x"}})
        assert (status, told["code"]) == (409, "setup.config_locked"), nowhere
    assert (gateway.state / "callgate.toml").read_bytes() == edited(ODD)


async def test_a_change_that_makes_the_file_too_large_to_be_read_is_not_written(
    gateway: GatewayProcess,
) -> None:
    status, told = await patch(gateway, {"set": {"mcpServers.files.env.LONG": "x" * 2 * 1024**2}})
    assert (status, told["code"]) == (422, "caller.bad_config"), told
    assert "larger than 2 MiB" in str(told)
    assert (gateway.state / "callgate.toml").read_bytes() == edited(ODD)


@pytest.mark.parametrize("broken", ["[record\n", "\x00", "version = 1\nversion = 1\n"])
async def test_a_file_that_cannot_be_read_is_not_changed_and_its_problem_is_told(
    gateway: GatewayProcess, broken: str
) -> None:
    file, digest = gateway.state / "callgate.toml", (await get(gateway))["digest"]
    file.write_text(broken)
    told = await get(gateway)
    assert told["problem"]
    for known in (digest, told["digest"]):
        status, answer = await patch(gateway, {"set": {"record.keep": "9d"}}, known)
        assert (status, answer["code"]) == (422, "caller.bad_config")
        assert answer["problems"][0]["key_path"] == "callgate.toml"
    assert file.read_text() == broken


async def test_no_secret_is_in_an_answer_the_record_or_the_log(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text(ODD.replace('A="1"', f'A_TOKEN="{SECRET}"'))
    log = tmp_path / "log"
    with log.open("wb") as file:
        async with running_gateway(tmp_path, stderr=file.fileno()) as gateway:
            pasted = (
                f'{{"x": {{"url": "http://127.0.0.1:9/m?key={SECRET}", "headers": {{"X-Key": "{SECRET}"}}}}}}'
            )
            answers: list[Any] = [await get(gateway)]
            for body in (
                {"add": {"text": pasted}},
                {"set": {"sources.shop.dsn": f"mysql://a:{SECRET}@127.0.0.1:9/x"}},
                {"set": {"mcpServers.files.args": ["--token", SECRET]}},
                {"set": {"mcpServers.files.env.A_TOKEN": f"{SECRET}2"}},
                {"set": {"principals.p.token": SECRET}},
                {"unset": ["mcpServers.files.env.A_TOKEN"]},
            ):
                answers += [await patch(gateway, body, query=query) for query in ("?dry_run=true", "")]
            answers.append(await get(gateway))
            rows: list[dict[str, Any]] = []

            async def are_recorded() -> bool:
                rows[:] = (await gateway.get("/api/v1/exchanges?method=operator/changeConfig"))["exchanges"]
                return len(rows) == 12

            await until(are_recorded)
            whole = [await gateway.get(f"/api/v1/exchanges/{row['id']}") for row in rows]
    assert SECRET not in json.dumps(answers)
    assert SECRET not in json.dumps(whole)
    assert SECRET.encode() not in log.read_bytes()
    assert {"sources.shop.dsn"} in [set(json.loads(one["request_json"])["set"]) for one in whole]
    assert {answer[0] for answer in answers[1:-1]} == {200}


# What the reading of addresses makes of a file or a socket, however it is written.
DSNS_OF_FILES = (
    "sqlite:////etc/x.db",
    " sqlite:////etc/x.db",
    "${NOT_SET:-sqlite:////etc/x.db}",
    "${NOT_SET:-sqlite}:////etc/x.db",
    "${HOME}qlite:////etc/x.db",
    "postgres://a@db.internal/x?${NOT_SET:-ssl_ca}=/etc/passwd",
    "postgres://a@db.internal/x?service=mine",
    "postgres://a@/x?host=/run/postgresql",
    "postgres://a@%2Frun%2Fpostgresql/x",
    "postgres://a@..%2F..%2F..%2Frun%2Fpostgresql:5432/x",
    "mysql://mysqld.sock%2f@run%2fmysqld.sock",
    "mysql://a@db.internal/x?serverRSAPublicKeyFile=/etc/passwd",
)


async def test_from_elsewhere_no_program_and_no_file_can_be_named(gateway: GatewayProcess) -> None:
    """Also not in another client's words, and no sandbox or argument can be taken away."""
    elsewhere = {"x-forwarded-for": "203.0.113.7"}
    for body in (
        {"set": {"mcpServers.x.command": "sh"}},
        {"set": {"mcpServers.x.cmd": "sh"}},
        {"set": {"mcp_servers.x.command": "sh"}},
        {"set": {"servers.x": {"command": "sh"}}},
        {"set": {"mcpServers.files.args": ["-c"]}},
        {"unset": ["mcpServers.files.args"]},
        {"set": {"mcpServers.y": {"url": "http://127.0.0.1:9", "headers": {"a": "file:/etc/passwd"}}}},
        *({"set": {"sources.new.dsn": dsn}} for dsn in DSNS_OF_FILES),
        {"set": {"sources.shop.password_command": ["sh"]}},
        {"set": {"server.state_dir": "/tmp/x"}},
        {"add": {"text": "npx -y x"}},
        # What is secret here would go to an address of theirs.
        {"set": {"mcpServers.y": {"url": "http://127.0.0.1:9", "headers": {"a": "${HOME}"}}}},
        {"set": {"mcpServers.y": {"url": "http://127.0.0.1:9", "headers": {"a": "secret:x"}}}},
        {"set": {"mcpServers.y": {"url": "http://127.0.0.1:9/$HOME"}}},
        {"set": {"mcpServers.files.disabled": False}},
        {"unset": ["mcpServers.files.disabled"]},
    ):
        status, told = await patch(gateway, body, **elsewhere)
        assert (status, told["code"]) == (403, "refused.not_local"), body
    assert (gateway.state / "callgate.toml").read_bytes() == edited(ODD)
    for header in ("Via", "X-Real-IP", "X-Forwarded-Proto", "X-Forwarded-Host", "CF-Connecting-IP"):
        status, told = await patch(gateway, {"set": {"mcpServers.x.command": "sh"}}, **{header: "1.1 proxy"})
        assert (status, told["code"]) == (403, "refused.not_local"), header
    server = {"add": {"text": "postgres://a:b%2Fc@db.internal:5432/x?ssl=verify", "name": "far"}}
    _, told = await patch(gateway, server, query="?dry_run=true", **elsewhere)
    assert told.get("changed") == ["sources.far"], told
    status, _ = await patch(
        gateway, {"set": {"record.keep": "9d"}, "unset": ["mcpServers.files"]}, **elsewhere
    )
    assert status == 200


def test_headers_that_are_there_are_sent_to_no_new_address_from_elsewhere() -> None:
    entry = {"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer x"}}
    moved = {"mcpServers": {"a": {**entry, "url": "https://b.example/mcp"}}}
    place = ("mcpServers", "a", "url")
    assert newly_reaching({"mcpServers": {"a": entry}}, moved) == [place]
    assert newly_reaching({"mcpServers": {"a": {"url": "https://a.example/mcp"}}}, moved) == []
    assert newly_reaching({}, moved) == []


def test_the_password_of_a_program_is_sent_to_no_new_database_from_elsewhere() -> None:
    entry = {"id": "a", "dsn": "postgres://a@db.internal/x", "password_command": ["print-password"]}
    moved = {"sources": [{**entry, "dsn": "postgres://a@db.example/x"}]}
    assert newly_reaching({"sources": [entry]}, moved) == [("sources", "a", "dsn")]
    collector = {"endpoint": "https://a.example", "headers": {"Api-Key": "x"}}
    moved = {"otel": {**collector, "endpoint": "https://b.example"}}
    assert newly_reaching({"otel": collector}, moved) == [("otel", "endpoint")]


async def test_exec_comes_from_nobody_but_the_file_itself(gateway: GatewayProcess, tmp_path: Path) -> None:
    before = (tmp_path / "callgate.toml").read_bytes()
    pasted = '{"x": {"url": "http://127.0.0.1:9/", "headers": {"A": "exec:touch ran"}}}'
    bodies: tuple[dict[str, Any], ...] = (
        {"set": {"mcpServers.files.env.A": "exec:touch ran"}},
        {"set": {"mcpServers.new": {"serverUrl": "http://h/", "http_headers": {"A": "exec:touch ran"}}}},
        {"set": {"server.tokens": ["exec:touch ran"]}},
        {"set": {"sources": [{"id": "x", "dsn": "exec:touch ran"}]}},
        {"add": {"text": pasted}},
    )
    for body in bodies:
        for query in ("", "?dry_run=true"):
            status, answer = await patch(gateway, body, query=query)
            assert (status, answer["code"]) == (422, "caller.bad_config"), answer
            assert "touch" not in json.dumps(answer)
    url = f"{gateway.announced['url']}/api/v1/servers/probe"
    status, answer = await asyncio.to_thread(_send, url, "POST", {}, {"text": pasted})
    assert (status, answer["code"]) == (422, "caller.bad_config"), answer
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "callgate.toml").read_bytes() == before


async def test_a_file_that_cannot_be_written_answers_with_what_to_paste(gateway: GatewayProcess) -> None:
    (gateway.state / "callgate.toml").chmod(0o444)
    assert (await get(gateway))["is_writable"] is False
    status, told = await patch(gateway, {"set": {"record.keep": "9d", "otel.enabled": False}})
    assert (status, told["code"]) == (409, "setup.config_locked")
    assert told["toml"] == ['  keep = "9d"    # a month', "", "[otel]", "enabled = false"]


async def test_without_a_file_the_first_change_makes_one(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as gateway:
        assert (await get(gateway))["file"] is None
        status, told = await patch(gateway, {"set": {"record.keep": "9d"}})
        assert status == 200, told
        made = tmp_path / "callgate" / "callgate.toml"
        assert told["file"] == str(made)
        assert made.read_text() == 'version = 1\n\n[record]\nkeep = "9d"\n'
        assert (await get(gateway))["file"] == str(made)


async def test_a_gateway_of_named_databases_says_where_to_write_them(tmp_path: Path) -> None:
    from callgate.sql.demo.demo import make_demo_shop

    make_demo_shop(tmp_path / "shop.db")
    async with running_gateway(tmp_path, "--port", "0", str(tmp_path / "shop.db")) as gateway:
        status, told = await patch(gateway, {"set": {"record.keep": "9d"}})
        assert (status, told["code"]) == (409, "setup.config_locked")
        assert "callgate init" in told["hint"]


WRITER = """
import sys
from pathlib import Path
from callgate.config.edit_file import edit_file
path = Path(sys.argv[1])
print("ready", flush=True)
for at in range(100_000):
    edit = edit_file(path, {})
    edit.set(("server", "max_offers"), 1_000 + at % 1_000)
    edit.set(("record", "redact_keys"), [f"key{at}" for at in range(5_000)] if at % 2 else [])
    edit.write(lambda file: ())
"""


async def test_killed_while_it_writes_the_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    import tomllib

    path = tmp_path / "callgate.toml"
    path.write_text(ODD)
    seen: set[int] = set()
    for _ in range(25):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(path), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        await process.stdout.readline()
        first = path.read_bytes()
        await until(lambda before=first: path.read_bytes() != before)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        for one in (path, path.with_name("callgate.toml.bak")):
            tree = tomllib.loads(one.read_text())
            assert len(tree["record"].get("redact_keys", [])) in (0, 5_000)
            assert one.read_text().endswith("[policy]\n")
        seen.add(tomllib.loads(path.read_text())["server"]["max_offers"])
    assert len(seen) > 1, "it was killed at different moments"
