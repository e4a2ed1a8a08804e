"""What must hold on every server and through every proxy: one trial for each column of docs/engines.md.

scripts/test-engines runs them on each of its servers. Here they run on PgBouncer, and on MySQL where
scripts/test-engines has unpacked one. A trial says how many cases it had; each of them must hold.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from databases.database import Database
from databases.mariadb import mariadb_server
from databases.mysql import mysql_server
from databases.postgres import postgres_server
from databases.proxies import in_front_of
from edge.http_probe import HttpProbe
from end_to_end.gateway_process import GatewayProcess, running_gateway
from end_to_end.plain.test_plain_path import MODERN, Speaker
from sql.network import accounts
from sql.network.conftest import Source, address_of, open_driver
from sql.network.mysql.test_mysql_types import CASES as MYSQL_VALUES
from sql.network.mysql.test_mysql_types import OF_MARIADB
from sql.network.postgres.test_postgres_types import CASES as POSTGRES_VALUES
from waiting import until

from callgate.model.errors import SourceError
from callgate.sql.settings import Mode
from engines.catalogue import BY_NAME
from engines.packages import is_unpacked, root_of

# mariadb, postgres or pgbouncer; scripts/test-engines says which, and how often.
TARGET = os.environ.get("CALLGATE_TEST_TARGET", "")
TIMES = int(os.environ.get("CALLGATE_TEST_TIMES", "8"))
MYSQL = "mysql-9"

# What the guard lets through and takes for ever.
SLOW = {
    "mysql": "SELECT /* {mark} */ count(*) FROM information_schema.columns a, information_schema.columns b,"
    " information_schema.columns c, information_schema.columns d",
    "postgresql": "SELECT /* {mark} */ count(*) FROM generate_series(1, 100000000000)",
}
PINS = {
    "mysql": "SELECT @@sql_mode LIKE '%ANSI%', @@sql_mode LIKE '%BACKSLASH%', @@autocommit,"
    " @@transaction_read_only, @@character_set_client",
    "postgresql": "SELECT current_setting('standard_conforming_strings'), current_setting('backslash_quote'),"
    " current_setting('transaction_read_only'), current_setting('bytea_output'),"
    " current_setting('client_encoding')",
}
PINNED = {"mysql": (0, 0, 1, 1, "utf8mb4"), "postgresql": ("on", "safe_encoding", "on", "hex", "UTF8")}
LEFT_BEHIND = {
    "mysql": "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'; SET GLOBAL autocommit = 0;"
    "SET GLOBAL character_set_client = latin1",
    "postgresql": "ALTER ROLE callgate SET standard_conforming_strings = off;"
    "ALTER ROLE callgate SET backslash_quote = on; ALTER ROLE callgate SET bytea_output = 'escape';"
    "ALTER ROLE callgate SET default_transaction_read_only = off",
}
PUT_BACK = {
    "mysql": "SET GLOBAL sql_mode = DEFAULT; SET GLOBAL autocommit = 1;"
    "SET GLOBAL character_set_client = DEFAULT",
    "postgresql": "ALTER ROLE callgate RESET ALL",
}

Held = Callable[[int], None]


@pytest.fixture
def held(record_property: Callable[[str, object], None]) -> Held:
    """Says for the report how many cases a trial had."""
    return lambda count: record_property("count", count)


@pytest.fixture(scope="session", params=[TARGET] if TARGET else ["pgbouncer", MYSQL])
def target(request: pytest.FixtureRequest) -> Iterator[Database]:
    if request.param == "pgbouncer":
        server: Database = request.getfixturevalue("postgres")
        yield replace(server, port=request.getfixturevalue("pgbouncer").port)
        return
    if request.param != MYSQL:
        yield request.getfixturevalue(request.param)
        return
    if not is_unpacked(BY_NAME[MYSQL]):
        pytest.skip("scripts/test-engines has unpacked no MySQL")
    with mysql_server(root_of(MYSQL)) as database:
        yield database


@contextmanager
def another(target: Database) -> Iterator[Database]:
    """A server of the same kind, for a trial that ends it."""
    start: AbstractContextManager[Database]
    if target.scheme == "postgresql":
        start = postgres_server()
    elif target.flavour == "mysql" and not TARGET:
        start = mysql_server(root_of(MYSQL))
    else:
        start = mariadb_server()
    with start as server:
        yield server


async def test_login_kinds(target: Database, held: Held) -> None:
    made = accounts.make_each(target, is_pooled=target.port != _port_of_client(target))
    for user, password in made.values():
        async with open_driver(target, user=(user, password)) as source:
            assert await source.cell("SELECT 7") == 7, user
    held(len(made))


def _port_of_client(target: Database) -> int:
    """The server's own port; where it is not the target's, a proxy stands in between."""
    return next(int(word.removeprefix("--port=")) for word in target.client if word.startswith("--port="))


async def test_values(target: Database, held: Held) -> None:
    async with open_driver(target, mode=Mode.WRITE) as source:
        expected, query = _values(source)
        for bound in ((), (1,)):
            last = "1" if not bound else "?" if source.is_mysql else "$1::int"
            ((*cells, _),) = await source.rows(query.replace("LAST", last), *bound)
            assert cells == expected
    held(2 * len(expected))


def _values(source: Source) -> tuple[list[object], str]:
    """One row with a value of every type."""
    if not source.is_mysql:
        return [case[1] for case in POSTGRES_VALUES], (
            f"SELECT {', '.join(case[0] for case in POSTGRES_VALUES)}, LAST"
        )
    cases = [case for case in MYSQL_VALUES if source.server.flavour != "mysql" or case[0] not in OF_MARIADB]
    columns = ", ".join(f"v{at} {case[0]}" for at, case in enumerate(cases))
    table = source.table("values_of_all", columns)
    values = ", ".join(case[1] for case in cases)
    source.server.run(f"SET sql_mode = ''; INSERT INTO {table} VALUES ({values})")
    return [case[2] for case in cases], f"SELECT t.*, LAST FROM {table} t"


async def test_cancel(target: Database, held: Held) -> None:
    async with open_driver(target) as source:
        for n in range(TIMES):
            mark = f"cancelled-{n}"
            task = asyncio.create_task(source.run(f"{source.sleep} /* {mark} */"))
            await source.until_running(mark, 1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await source.until_running(mark, 0)
        assert await source.cell("SELECT 7") == 7
    held(TIMES)


async def test_time_out(target: Database, held: Held) -> None:
    async with open_driver(target, timeout_s=0.3) as source:
        calls = (source.run(f"{source.sleep} /* late-{n} */") for n in range(TIMES))
        for answer in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(answer, SourceError)
            assert answer.code.code == "source.timeout"
        await source.until_running("late-", 0)
    held(TIMES)


@asynccontextmanager
async def gateway_on(target: Database, folder: Path) -> AsyncIterator[tuple[GatewayProcess, Source]]:
    folder.joinpath("callgate.toml").write_text(
        f'version = 1\n[[sources]]\nid = "it"\ndsn = {json.dumps(target.dsn)}\n'
        "timeout_s = 4\npool_size = 8\nrequire_qualified = false\n"
    )
    async with running_gateway(folder) as gateway, open_driver(target) as source:
        yield gateway, source


async def begin(gateway: GatewayProcess, sql: str) -> HttpProbe:
    """A client of its own that has asked, and waits."""
    port = int(gateway.announced["url"].rpartition(":")[2])
    speaker = Speaker(port, sql, MODERN, "/servers/it/mcp", is_general=False)
    await speaker.open()
    body = speaker.request("tools/call", {"name": "query", "arguments": {"query": sql}})
    await speaker.send(body, "tools/call", "query")
    return speaker.probe


async def test_disconnect(target: Database, tmp_path: Path, held: Held) -> None:
    slow = SLOW[target.scheme].format(mark="client-left")
    async with gateway_on(target, tmp_path) as (gateway, source):
        probes = [await begin(gateway, slow) for _ in range(3)]
        await source.until_running("client-left", 3)
        for probe in probes:
            await probe.hang_up()
        await source.until_running("client-left", 0)
    held(3)


async def test_kill_of_the_gateway(target: Database, tmp_path: Path, held: Held) -> None:
    """Nobody is left who could end the statement: the server's own limit does."""
    slow = SLOW[target.scheme].format(mark="gateway-killed")
    async with gateway_on(target, tmp_path) as (gateway, source):
        probes = [await begin(gateway, slow) for _ in range(3)]
        await source.until_running("gateway-killed", 3)
        gateway.process.kill()
        await gateway.process.wait()
        for probe in probes:
            await probe.hang_up()
        await source.until_running("gateway-killed", 0)
    held(3)


async def test_restart(target: Database, tmp_path: Path, held: Held) -> None:
    """Of the server: calls fail while it is away, and all are answered when it is back."""
    with another(target) as server, in_front_of(server) as seen:
        async with open_driver(seen) as source:
            assert await source.cell("SELECT 7") == 7
            process = _process_of(server)
            command = _command_of(process)
            await _end(process, target)
            # It names the killed process, which is there until its parent has looked: MySQL would not start.
            server.socket.with_name(f"{server.socket.name}.lock").unlink(missing_ok=True)
            with pytest.raises(SourceError):
                await source.run("SELECT 7")
            with (tmp_path / "log").open("wb") as log:
                again = await asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
                )
            try:
                await until(lambda: _is_up(server))
                await until(lambda: _answers(source))
                answers = await asyncio.gather(*(source.cell(f"SELECT {n}") for n in range(TIMES)))
                assert answers == list(range(TIMES))
            finally:
                assert again.returncode is None, (tmp_path / "log").read_text()
                await _end(again.pid, target)
                await again.wait()
    held(TIMES)


def _is_up(server: Database) -> bool:
    """For the witness, whose login MySQL then remembers: without TLS it takes no other."""
    try:
        return server.run("SELECT 1") == "1"
    except AssertionError:
        return False


async def _answers(source: Source, answer: str = "7") -> bool:
    """Whether a call is answered, and so."""
    try:
        return await source.cell("SELECT name FROM which" if answer != "7" else "SELECT '7'") == answer
    except SourceError:
        return False


async def _end(process: int, target: Database) -> None:
    # PostgreSQL's first process would leave its children behind.
    os.kill(process, signal.SIGQUIT if target.scheme == "postgresql" else signal.SIGKILL)
    await until(lambda: not _is_alive(process))


def _process_of(server: Database) -> int:
    """The one that listens at the server's port, or rather the first of its processes."""
    shown = server.run("SELECT @@pid_file" if server.scheme == "mysql" else "SHOW data_directory")
    file = Path(shown) if server.scheme == "mysql" else Path(shown) / "postmaster.pid"
    return int(file.read_text().split()[0])


def _command_of(process: int) -> list[str]:
    words = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")[:-1]
    owner = Path(f"/proc/{process}").stat()
    if owner.st_uid == os.geteuid():
        return words
    return ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", "--", *words]


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_failover(target: Database, held: Held) -> None:
    """The first server of the address dies; the calls go on at the second."""
    with another(target) as first:
        first.run("CREATE TABLE which (name varchar(10)); INSERT INTO which VALUES ('first')")
        target.run(
            "DROP TABLE IF EXISTS which; CREATE TABLE which (name varchar(10));"
            "INSERT INTO which VALUES ('second')"
        )
        # One account for both, as two servers of a cluster have it.
        _set_password(first, target.password)
        address = replace(address_of(target), port=first.port, others=((target.host, target.port),))
        async with open_driver(target, address=address, mode=Mode.WRITE) as source:
            assert await source.cell("SELECT name FROM which") == "first"
            await _end(_process_of(replace(first, password=target.password)), target)
            await until(lambda: _answers(source, "second"))
            calls = (source.cell("SELECT name FROM which") for _ in range(TIMES))
            assert await asyncio.gather(*calls) == ["second"] * TIMES
    held(TIMES)


def _set_password(server: Database, password: str) -> None:
    is_mysql = server.scheme == "mysql"
    user = "USER callgate@'%' IDENTIFIED BY" if is_mysql else "ROLE callgate PASSWORD"
    server.run(f"ALTER {user} '{password}'")
    replace(server, password=password).run("SELECT 1")


async def test_full_server(target: Database, held: Held) -> None:
    """It gives this account two connections; eight would be opened."""
    account = accounts.make_limited(target, connections=2)
    async with open_driver(target, user=account, pool_size=8) as source:
        wait = "SLEEP(0.02)" if source.is_mysql else "pg_sleep(0.02)::text = ''"
        calls = (source.rows(f"SELECT {n}, {wait}") for n in range(32))
        assert [rows[0][0] for rows in await asyncio.gather(*calls)] == list(range(32))
    held(32)


async def test_pins(target: Database, held: Held) -> None:
    """Whatever the server and the account are set to."""
    times = 10 * TIMES
    target.run(LEFT_BEHIND[target.scheme])
    try:
        async with open_driver(target, pool_size=8) as source:
            pins = PINS[target.scheme]
            if target.flavour == "mariadb":
                pins = pins.replace("transaction_read_only", "tx_read_only")
            answers = await asyncio.gather(*(source.rows(pins) for _ in range(times)))
    finally:
        target.run(PUT_BACK[target.scheme])
    assert answers == [[PINNED[target.scheme]]] * times
    held(times)
