"""What the operator configured as a secret, repeated by servers in each way: the client gets every byte of
it, and nothing that the gateway keeps, tells or logs has it."""

import asyncio
import html
import json
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote, quote_plus
from urllib.request import urlopen

import pytest
from databases.database import Database
from end_to_end.gateway_process import GatewayProcess, run_callgate, running_gateway
from end_to_end.raw_clients import LegacyClient
from end_to_end.record.test_secrets import Stream, listening
from end_to_end.reload.changing import changing_gateway
from end_to_end.servers.repeating import ENCODINGS, spelled
from waiting import until

REPEATING = Path(__file__).parents[1] / "servers" / "repeating.py"
API = Path(__file__).parents[3] / "docs" / "openapi.json"

# By the name under which a server has it: what is configured. The file names them in different ways.
CHILD = {
    "FIRST": "Zk4Tq9Wm2Xv7Lp3R",
    "FROM_FILE": "file-Gx81/kQ+27==&rest",
    "FROM_VAULT": "vault: correct horse, 42 staples",
    "FROM_PROGRAM": "program-Pw55.Tt66~Uu77",
    "SIGNS": 'pa$$w(rd!*+?[ "x" \\ <&> \'é',
    "SHORT": "q7#x",
    "NUMBER_TOKEN": "8374928374650192",
    "KEY": "-----BEGIN PRIVATE KEY-----\nMIIabcDEF123456ghiJKL7890mno\n-----END PRIVATE KEY-----",
    "LITERAL_API_KEY": "literal-Kk11Ll22",
}
PARTS = {
    "bearer": "Inner9Zx8Yw7Vu6",
    "database": "db/pw@Nn44Mm33",
    "argument": "Arg5Bh6Ck7Dm8En9",
    "query": "Query2Fr3Gs4Ht5",
}
WEB = {"authorization": "Bearer Web1Ab2Cd3Ef4Gh5", "x-api-key": "web key, with blanks 77"}
IN_URL = "Path8Qa9Wb1Ec2Rd3"
TABLE = "table?database=main&table=people"
HONEST = {"LEVEL": "debug", "PORT": "3306", "HOST": "localhost", "REGION": "eu-central-1", "SWITCH": "true"}


def secrets() -> Iterator[str]:
    yield from CHILD.values()
    yield from PARTS.values()
    yield WEB["authorization"].removeprefix("Bearer ")
    yield from (WEB["x-api-key"], IN_URL)


def forms(secret: str) -> Iterator[bytes]:
    """As it may stand somewhere, in whatever way we look."""
    told = [secret, html.escape(secret), quote(secret), quote(secret, safe=""), quote_plus(secret)]
    told += [json.dumps(one)[1:-1] for one in (secret, json.dumps(secret)[1:-1])]
    if len(secret) >= 8:
        told += [encode(secret)[4:-4] for encode in ENCODINGS.values()]
    yield from (one.encode() for one in dict.fromkeys(told))


def held_in(told: bytes, among: Iterable[str]) -> list[str]:
    return [secret for secret in among if any(form in told for form in forms(secret))]


@dataclass
class Told:
    """All that a gateway wrote or said, by where."""

    by_place: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def look_into(self, folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                self.by_place[f"file {path.relative_to(folder)}"] = path.read_bytes()

    def places_of(self, among: Iterable[str]) -> dict[str, list[str]]:
        found = {place: held_in(told, among) for place, told in self.by_place.items()}
        return {place: held for place, held in found.items() if held}


def get(url: str) -> bytes:
    try:
        with urlopen(url, timeout=60) as answer:
            return answer.read()
    except HTTPError as problem:
        with problem:
            return problem.read()


def questions(ids: list[str]) -> Iterator[str]:
    for path, methods in json.loads(API.read_bytes())["paths"].items():
        if "get" not in methods or path.endswith(("/events", "/export")):
            continue
        if path.endswith(("/{call_id}", "/{exchange_id}")):
            yield from (path.partition("{")[0] + one for one in ids)
        else:
            for server in ("child", "web", "shop"):
                yield path.replace("{name}", server).replace("{server}", server)
    yield from (f"/api/v1/servers/shop/schema/{part}" for part in ("tables?database=main", TABLE))
    yield from (f"/api/v1/export?format={form}" for form in ("jsonl", "csv"))
    yield from ("/", "/metrics", "/healthz", "/api/sources", "/api/requests")


async def ask_everything(gateway: GatewayProcess, told: Told) -> None:
    base = gateway.announced["url"]
    ids = [row["id"] for row in (await gateway.get("/api/v1/tool-calls?limit=1000"))["tool_calls"]]
    assert ids
    for path in questions(ids):
        told.by_place[f"GET {path}"] = await asyncio.to_thread(get, base + path)


@asynccontextmanager
async def web_server() -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(REPEATING), "--http", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


async def configure(state: Path, given: Path, port: int) -> dict[str, str]:
    """Writes the file; returns the variables that the gateway needs."""
    (given / "file.txt").write_text(CHILD["FROM_FILE"] + "\n")
    (given / "program.txt").write_text(CHILD["FROM_PROGRAM"])
    (given / "key.pem").write_text(CHILD["KEY"])
    (given / "web.txt").write_text(WEB["x-api-key"])
    with sqlite3.connect(given / "shop.db") as shop:
        shop.execute(f"CREATE TABLE people (name TEXT DEFAULT '{CHILD['FIRST']}')")
    shop.close()
    python, program = json.dumps(sys.executable), json.dumps(str(REPEATING))
    (state / "callgate.toml").write_text(f"""version = 1
[server]
audit_stderr = true
[[sources]]
id = "shop"
dsn = "sqlite:///{given}/shop.db"
[mcpServers.child]
command = {python}
args = ["-I", {program}, "--auth-key", "${{ARGUMENT}}", "https://x.example/?api_key=${{QUERY}}"]
[mcpServers.child.env]
FIRST = "${{FIRST}}"
FROM_FILE = "file:{given}/file.txt"
FROM_VAULT = "secret:vault"
FROM_PROGRAM = "exec:cat {given}/program.txt"
SIGNS = "secret:signs"
SHORT = "secret:short"
NUMBER_TOKEN = "${{NUMBER:-{CHILD["NUMBER_TOKEN"]}}}"
KEY = "file:{given}/key.pem"
LITERAL_API_KEY = "{CHILD["LITERAL_API_KEY"]}"
BEARER = "Bearer ${{secret:inner}}"
DATABASE_URL = "postgres://me:${{secret:database}}@db.example/shop"
LEVEL = "${{LEVEL}}"
PORT = "3306"
HOST = "${{HOST}}"
REGION = "${{REGION}}"
SWITCH = "true"
[mcpServers.web]
url = "http://127.0.0.1:{port}/mcp?at=${{IN_URL}}"
headers = {{ Authorization = "Bearer ${{WEB}}", X-Api-Key = "file:{given}/web.txt" }}
[mcpServers.broken]
command = {python}
args = ["-I", {program}, "--fail"]
env = {{ FIRST = "${{FIRST}}" }}
""")
    stored = {
        "vault": CHILD["FROM_VAULT"],
        "signs": CHILD["SIGNS"],
        "short": CHILD["SHORT"],
        "inner": PARTS["bearer"],
        "database": PARTS["database"],
    }
    for name, value in stored.items():
        kept = await run_callgate(state, "secret", "set", name, stdin=value.encode())
        assert kept.exit_code == 0, kept.stderr
    return {
        "FIRST": CHILD["FIRST"],
        "ARGUMENT": PARTS["argument"],
        "QUERY": PARTS["query"],
        "WEB": WEB["authorization"].removeprefix("Bearer "),
        "IN_URL": IN_URL,
        **{name: HONEST[name] for name in ("LEVEL", "HOST", "REGION")},
    }


async def repeat(
    port: int, server: str, wants: list[str], tool: str = "repeat", *, fails: bool = False
) -> str:
    """All that the client got back."""
    arguments = {"wants": wants, "fails": fails}
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}}
    async with LegacyClient(port, f"/servers/{server}/mcp") as client:
        listed = await client.frames("tools/list")
        return b"\n".join([*listed, *await client.frames("tools/call", params)]).decode()


async def make_calls(port: int) -> None:
    names = [*CHILD, "BEARER", "DATABASE_URL", "1", "2"]
    told = await repeat(port, "child", names)
    frames = [json.loads(line) for line in told.splitlines()]
    texts = [part["text"] for part in frames[-1]["result"]["content"]]
    address = f"postgres://me:{PARTS['database']}@db.example/shop"
    given = [*CHILD.values(), f"Bearer {PARTS['bearer']}", address, PARTS["argument"]]
    given.append(f"https://x.example/?api_key={PARTS['query']}")
    assert texts == [form for value in given for form in spelled(value).values()], "the client gets each byte"
    assert any("progress" in frame.get("method", "") for frame in frames)
    failed = json.loads((await repeat(port, "child", names, fails=True)).splitlines()[-1])
    assert CHILD["SIGNS"] in failed["error"]["message"]
    headers = json.loads((await repeat(port, "web", list(WEB))).splitlines()[-1])
    assert WEB["authorization"] in json.dumps(headers)
    await repeat(port, "web", [], tool="refuse")
    await repeat(port, "child", [], tool=f"about_{CHILD['FIRST']}")
    async with LegacyClient(port, "/mcp") as client:
        await client.call("child__repeat", {"wants": [*CHILD, "1"]})
        await client.call(f"child__about_{CHILD['FIRST']}")
    honest = await repeat(port, "child", list(HONEST))
    assert all(text in honest for text in HONEST.values())
    info = {"name": CHILD["FIRST"], "version": PARTS["bearer"]}
    async with LegacyClient(port, "/servers/shop/mcp", info=info) as client:
        for secret in secrets():  # of one server, at another
            await client.call("query", {"query": "SELECT 1"}, rpc_id=json.dumps(secret).encode())
            await client.request(secret, {"uri": secret})
            await client.request("resources/read", {"uri": f"sqlite://shop/{quote(secret)}"})
            await client.http("GET", {"host": "localhost"})
            client.path = f"/servers/{quote(secret, safe='')}/mcp"
            await client.http("POST", client.headers, b"{}")
            client.path = "/servers/shop/mcp"
            literal = "'" + secret.replace("'", "''") + "'"
            answered = await client.call("query", {"query": f"SELECT {literal} AS note"})
            assert answered["result"]["structuredContent"]["rows"] == [[secret]]
            await client.call("query", {"query": f"SELECT * FROM {literal}"})
            await client.call(secret, {"note": secret})
        await client.call("query", {"query": "SELECT 'the last call'"})


@pytest.fixture
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What only the operator has."""
    return tmp_path_factory.mktemp("given")


async def test_no_configured_secret_is_in_a_byte_that_is_kept_told_or_logged(
    tmp_path: Path, given: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = Told()
    async with web_server() as web:
        variables = await configure(tmp_path, given, web)
        async with running_gateway(tmp_path, "--port", "0", cwd=None, stderr=None, **variables) as gateway:
            port = int(gateway.announced["url"].rpartition(":")[2])
            async with listening(port) as stream:
                await make_calls(port)
                await stream.until(b"the last call")
                await until_broken(gateway)
                await ask_everything(gateway, told)
                told.by_place["live stream"] = heard(stream)
            told.look_into(tmp_path)
        told.look_into(tmp_path)
    printed = capfd.readouterr()
    told.by_place["log"] = (printed.out + printed.err).encode()
    assert not told.places_of(secrets())
    whole = b"".join(told.by_place.values())
    assert b"about_***" in whole, "a tool with a secret in its name was told at all"
    assert b"cannot start with ***" in whole
    assert b"***" in told.by_place[f"GET /api/v1/servers/shop/schema/{TABLE}"]
    assert b"these headers are wrong" in whole
    kept = told.by_place["GET /api/v1/export?format=jsonl"].decode()
    assert all(text in kept for text in HONEST.values()), "honest words stay"


async def until_broken(gateway: GatewayProcess) -> None:
    async def is_told() -> bool:
        servers = (await gateway.get("/api/v1/servers"))["servers"]
        return any("cannot start" in json.dumps(one) for one in servers if one["name"] == "broken")

    await until(is_told)


def heard(stream: Stream) -> bytes:
    return bytes(stream.heard)


async def test_a_changed_secret_is_known_before_the_first_call_with_it_and_the_old_one_stays_known(
    tmp_path: Path, given: Path
) -> None:
    """Under calls that never pause."""
    values = [f"turn{number}-Aa{number}Bb{number}Cc{number}Dd{number}" for number in range(4)]
    kept = given / "changing.txt"
    kept.write_text(values[0])
    server = (
        f"[mcpServers.child]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps(['-I', str(REPEATING)])}\n"
        f'env = {{ FIRST = "file:{kept}" }}\n'
    )
    source = f'[[sources]]\nid = "shop"\ndsn = "sqlite:///{given}/shop.db"\n'
    with sqlite3.connect(given / "shop.db") as shop:
        shop.execute("CREATE TABLE people (name TEXT)")
    shop.close()
    told, seen, is_over = Told(), set[str](), asyncio.Event()

    async def call(port: int) -> None:
        async with LegacyClient(port, "/servers/child/mcp") as client:
            while not is_over.is_set():
                answered = await client.call("repeat", {"wants": ["FIRST"]})
                seen.add(answered["result"]["content"][0]["text"])

    async with changing_gateway(tmp_path, source + server) as changing:
        port = int(changing.gateway.announced["url"].rpartition(":")[2])
        async with listening(port) as stream:
            calling = [asyncio.create_task(call(port)) for _ in range(3)]
            for value in values:
                kept.write_text(value)
                await changing.reload()
                await until(lambda value=value: value in seen)
            is_over.set()
            await asyncio.gather(*calling)
            await changing.write(source)
            async with LegacyClient(port, "/servers/shop/mcp") as client:
                for value in values:
                    await client.call("query", {"query": f"SELECT '{value}' AS note"})
                await client.call("query", {"query": "SELECT 'the last call'"})
            await stream.until(b"the last call")
            await ask_everything(changing.gateway, told)
            told.by_place["live stream"] = heard(stream)
        told.look_into(tmp_path)
    assert seen == set(values)
    assert not told.places_of(values)


@pytest.mark.parametrize("by", ["dsn", "program"])
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
async def test_an_error_of_a_database_that_repeats_its_password_is_kept_without_it(
    tmp_path: Path, given: Path, request: pytest.FixtureRequest, engine: str, by: str,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    database: Database = request.getfixturevalue(engine)
    password, dsn = database.password, database.dsn
    (given / "password").write_text(f"{password}\n")
    how = f'dsn = "{dsn}"'
    if by == "program":
        how = f'dsn = "{dsn.replace(f":{password}@", "@")}"\npassword_command = ["cat", "{given}/password"]'
    (tmp_path / "callgate.toml").write_text(
        f'version = 1\n[server]\naudit_stderr = true\n[[sources]]\nid = "db"\n{how}\n'
    )
    told = Told()
    async with running_gateway(tmp_path, "--port", "0") as gateway:
        port = int(gateway.announced["url"].rpartition(":")[2])
        async with listening(port) as stream, LegacyClient(port, "/servers/db/mcp") as client:
            ready = await client.call("query", {"query": "SELECT 1 AS n"})
            assert ready["result"]["structuredContent"]["rows"] == [[1]]
            refused = await client.call("query", {"query": f"SELECT * FROM x{password}"})
            assert password in json.dumps(refused), "the database says which table there is not"
            await client.call("query", {"query": f"SELECT * FROM t WHERE a = {password!r}"})
            statement = f"SELECT '{password}' AS note, 'the last call' AS mark"
            row = await client.call("query", {"query": statement})
            assert row["result"]["structuredContent"]["rows"] == [[password, "the last call"]]
            await stream.until(b"the last call")
            await ask_everything(gateway, told)
            told.by_place["live stream"] = heard(stream)
        told.look_into(tmp_path / "record")
    printed = capfd.readouterr()
    told.by_place["log"] = (printed.out + printed.err).encode()
    assert not told.places_of([password])
    assert b"x***" in b"".join(told.by_place.values())
