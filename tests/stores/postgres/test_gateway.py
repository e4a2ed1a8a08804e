"""A real gateway whose record is in PostgreSQL: commands and pages read it, and the password stays hidden."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from end_to_end.gateway_process import run_callgate, running_gateway
from stores.kinds import PostgresKind


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
