"""A real gateway whose record is in PostgreSQL: commands and pages read it, and the password stays hidden."""

import asyncio
import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from end_to_end.gateway_process import run_callgate, running_gateway
from end_to_end.reload.changing import Changing
from mcp import Client
from stores.kinds import PostgresKind
from stores.postgres.test_schema import add_day
from waiting import until

from callgate.recorder.flush.drain import StoreLock


async def test_a_gateway_records_into_its_database_and_says_which_sql_it_speaks(
    kind: PostgresKind, tmp_path: Path
) -> None:
    database = kind.database
    (tmp_path / "callgate.toml").write_text(
        "version = 1\n[record]\n"
        f'store = "postgres://callgate:${{PW}}@127.0.0.1:{database.port}/{database.database}"\n'
        'sync = "store"\nkeep_bodies = "7d"\n'
    )
    config = ("--config", str(tmp_path / "callgate.toml"))
    async with running_gateway(tmp_path, *config, "--port", "0", PW=database.password) as gateway:
        about = await gateway.get("/api/v1/about")
        assert (about["record"]["dialect"], about["record"]["problem"]) == ("postgres", None)
        call = ("call", "demo__query", "query=SELECT count(*) AS n FROM shop.orders", *config)
        called = await run_callgate(tmp_path, *call, PW=database.password)
        assert called.exit_code == 0, called
        listed = await gateway.get("/api/v1/tool-calls")
        assert [row["outcome"] for row in listed["tool_calls"]] == ["answered"]
        query = ("query", "SELECT count(*) FILTER (WHERE ok) FROM rpc_events WHERE method = 'tools/call'")
        asked = await run_callgate(tmp_path, *query, "--json", *config, PW=database.password)
        assert (asked.exit_code, json.loads(asked.stdout)["rows"]) == (0, [[1]]), asked
    assert database.run("SELECT count(*) FROM callgate.rpc_events WHERE method = 'tools/call'") == "1"
    shown = await run_callgate(tmp_path, "config", "show", *config, PW=database.password)
    assert shown.exit_code == 0
    assert "postgres://***@" in shown.stdout
    assert database.password not in shown.stdout


async def test_a_call_at_one_gateway_is_told_live_by_another_and_its_id_is_good_at_the_first(
    kind: PostgresKind, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    async with (
        running_gateway(folders[0], "--port", "0", CALLGATE_RECORD_STORE=kind.database.dsn) as here,
        running_gateway(folders[1], "--port", "0", CALLGATE_RECORD_STORE=kind.database.dsn) as there,
    ):
        with urlopen(there.announced["url"] + "/api/v1/events", timeout=60) as stream:
            assert await asyncio.to_thread(stream.readline) == b"retry: 2000\n"
            call = ("call", "demo__query", "query=SELECT 1 AS first")
            assert (
                await run_callgate(folders[0], *call, CALLGATE_RECORD_STORE=kind.database.dsn)
            ).exit_code == 0
            told = await asyncio.to_thread(_next_settled, stream)
            assert "first" in told["sql"]
        call = ("call", "demo__query", "query=SELECT 2 AS second")
        assert (await run_callgate(folders[1], *call, CALLGATE_RECORD_STORE=kind.database.dsn)).exit_code == 0
        rest = f"/api/v1/events?last_event_id={told['event_id']}"
        with urlopen(here.announced["url"] + rest, timeout=60) as stream:
            assert "second" in (await asyncio.to_thread(_next_settled, stream))["sql"]


def _next_settled(stream: Any) -> dict[str, Any]:
    """With the id of the event."""
    event_id, kind = "", ""
    for line in stream:
        name, _, value = line.decode().strip().partition(": ")
        if name == "id":
            event_id = value
        elif name == "event":
            kind = value
        elif name == "data" and kind == "tool_calls.settled":
            return json.loads(value)["data"] | {"event_id": event_id}
    raise AssertionError("the stream ended")


def storing_processes(gateway: int) -> list[int]:
    """What it started to store its record."""
    listed = "".join(path.read_text() for path in Path(f"/proc/{gateway}/task").glob("*/children"))
    found: list[int] = []
    for pid in map(int, listed.split()):
        with suppress(FileNotFoundError):
            if b"callgate.recorder.storing.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


async def a_call(folder: Path, kind: PostgresKind, name: str) -> None:
    call = ("call", "demo__query", f"query=SELECT 1 AS {name}")
    ran = await run_callgate(folder, *call, CALLGATE_RECORD_STORE=kind.database.dsn)
    assert ran.exit_code == 0, ran


def is_gone(pid: int) -> bool:
    """A container may have nobody who asks how it ended."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("is_stopped", [False, True], ids=["running", "stopped"])
async def test_a_gateway_that_is_killed_leaves_no_storing_process_and_no_lock(
    kind: PostgresKind, tmp_path: Path, is_stopped: bool
) -> None:
    async with running_gateway(tmp_path, "--port", "0", CALLGATE_RECORD_STORE=kind.database.dsn) as gateway:
        pid = gateway.process.pid
        assert storing_processes(pid) == []
        await a_call(tmp_path, kind, "first")
        (storing,) = await until(lambda: storing_processes(pid))
        if is_stopped:
            os.kill(storing, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: is_gone(storing))
    lock = StoreLock(tmp_path / "record" / "store.lock")
    assert lock.try_acquire()
    lock.release()
    async with running_gateway(tmp_path, "--port", "0", CALLGATE_RECORD_STORE=kind.database.dsn) as gateway:
        listed = await gateway.get("/api/v1/tool-calls")
        assert [row["sql"] for row in listed["tool_calls"]] == ["SELECT 1 AS first"]
        (storing,) = await until(lambda: storing_processes(gateway.process.pid))
    assert is_gone(storing)


async def test_healthz_says_that_the_storing_process_was_killed_until_another_stores(
    kind: PostgresKind, tmp_path: Path
) -> None:
    async with running_gateway(tmp_path, "--port", "0", CALLGATE_RECORD_STORE=kind.database.dsn) as gateway:
        await a_call(tmp_path, kind, "first")
        (storing,) = await until(lambda: storing_processes(gateway.process.pid))
        os.kill(storing, signal.SIGKILL)

        async def told() -> str:
            return json.dumps(await gateway.get("/healthz"))

        async def is_told() -> bool:
            return f"(pid {storing}) was ended by signal 9" in await told()

        async def is_over() -> bool:
            return "was ended by" not in await told()

        await until(is_told)
        await until(is_over)
        await a_call(tmp_path, kind, "second")
        listed = await gateway.get("/api/v1/tool-calls")
        assert {row["sql"] for row in listed["tool_calls"]} == {"SELECT 1 AS first", "SELECT 1 AS second"}


_SOON = """
from callgate.recorder.stores.postgres import record_store
record_store._TEND_EVERY_S = 0.1
"""


async def test_a_changed_retention_reaches_the_storing_process_that_runs(
    kind: PostgresKind, tmp_path: Path
) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(_SOON)  # run by the storing process: the gateway is a fork

    def settings(keep: str) -> str:
        return f'[record]\nstore = "{kind.database.dsn}"\nkeep = "{keep}"\n'

    file = tmp_path / "callgate.toml"
    file.write_text(f"version = 1\n{settings('30d')}")
    async with (
        running_gateway(tmp_path, "--port", "0", PYTHONPATH=str(modules)) as gateway,
        Client(gateway.mcp_url) as client,
    ):

        async def upkeep_began() -> str:
            """When last; each round may begin another."""
            await client.call_tool("demo__query", {"query": "SELECT 1"})
            await gateway.get("/api/v1/tool-calls")  # what is read is stored first
            return kind.database.run("SELECT until FROM callgate_store.leases WHERE name = 'upkeep'")

        async def old_calls_after_upkeep() -> str:
            """The second that begins from now on: then the first is over."""
            for _ in range(2):
                before = await upkeep_began()

                async def is_later(before: str = before) -> bool:
                    return await upkeep_began() != before

                await until(is_later)
            return kind.database.run("SELECT count(*) FROM callgate.rpc_events WHERE client = 'x'")

        async def is_dropped() -> bool:
            return await old_calls_after_upkeep() == "1"

        await until(upkeep_began)
        (storing,) = storing_processes(gateway.process.pid)
        for age in (1, 5):
            add_day(kind, age)
        assert await old_calls_after_upkeep() == "2"
        told = await Changing(gateway, file).write(settings("3d"))
        assert (told["problem"], told["needs_restart"]) == (None, [])
        await until(is_dropped)
        assert storing_processes(gateway.process.pid) == [storing]
