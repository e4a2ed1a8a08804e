"""A real gateway whose record is in ClickHouse: commands and pages read it, and the password stays hidden."""

import json
from pathlib import Path

from end_to_end.gateway_process import run_callgate, running_gateway
from stores.kinds import ClickhouseKind


async def test_a_gateway_records_into_its_database_and_says_which_sql_it_speaks(
    kind: ClickhouseKind, tmp_path: Path
) -> None:
    database = kind.database
    (tmp_path / "callgate.toml").write_text(
        "version = 1\n[record]\n"
        f'store = "clickhouse://callgate:${{PW}}@127.0.0.1:{database.port}/{database.database}'
        '?reader=reader&reader_password=reader-${PW}"\n'
        'sync = "store"\nkeep_bodies = "7d"\n'
    )
    config = ("--config", str(tmp_path / "callgate.toml"))
    async with running_gateway(tmp_path, *config, "--port", "0", PW=database.password) as gateway:
        about = await gateway.get("/api/v1/about")
        assert (about["record"]["dialect"], about["record"]["problem"]) == ("clickhouse", None)
        call = ("call", "demo__query", "query=SELECT count(*) AS n FROM shop.orders", *config)
        called = await run_callgate(tmp_path, *call, PW=database.password)
        assert called.exit_code == 0, called
        listed = await gateway.get("/api/v1/tool-calls")
        assert [row["outcome"] for row in listed["tool_calls"]] == ["answered"]
        query = ("query", "SELECT countIf(ok) FROM rpc_events WHERE method = 'tools/call'")
        asked = await run_callgate(tmp_path, *query, "--json", *config, PW=database.password)
        assert (asked.exit_code, json.loads(asked.stdout)["rows"]) == (0, [[1]]), asked
    assert database.run("SELECT count() FROM rpc_events WHERE method = 'tools/call'") == "1"
    shown = await run_callgate(tmp_path, "config", "show", *config, PW=database.password)
    assert shown.exit_code == 0
    assert "clickhouse://***@" in shown.stdout
    assert database.password not in shown.stdout
