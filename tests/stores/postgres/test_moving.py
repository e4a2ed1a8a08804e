"""`callgate record copy`, as its user runs it: from the files of a gateway to PostgreSQL, and back."""

import json
from pathlib import Path
from typing import Any

import pytest
from end_to_end.gateway_process import Finished, run_callgate, running_gateway
from stores.kinds import PostgresKind

CALL = ("call", "demo__query", "query=SELECT count(*) AS n FROM shop.orders")
COUNT = "SELECT count(*) AS n FROM rpc_events WHERE method = 'tools/call' AND outcome = 'answered'"


def said(finished: Finished) -> Any:
    assert finished.exit_code == 0, finished
    return json.loads(finished.stdout)


async def test_a_record_moves_to_postgres_and_back(kind: PostgresKind, tmp_path: Path) -> None:
    database = kind.database
    address = f"postgres://callgate@127.0.0.1:{database.port}/{database.database}"
    to_postgres = ("record", "copy", "--to", address)
    password = database.password
    async with running_gateway(tmp_path):
        for _ in range(3):
            said(await run_callgate(tmp_path, *CALL, "--json"))
        meanwhile = await run_callgate(tmp_path, *to_postgres, PGPASSWORD=password)
        assert (meanwhile.exit_code, "left out" in meanwhile.stderr) == (0, True), meanwhile
    for copied in (True, False):  # the second finds nothing to do
        moved = said(await run_callgate(tmp_path, *to_postgres, "--json", PGPASSWORD=password))
        assert (moved["equal"], moved["newest_left_out"]) == (True, False)
        (section,) = moved["sections"]
        assert section["source"] == section["target"]
        assert section["source"]["events"] >= 3
        assert bool(section["copied"]) == copied
    assert database.run(COUNT.replace("FROM rpc", "FROM callgate.rpc")) == "3"
    back = tmp_path / "back"
    from_postgres = ("record", "copy", "--from", address, "--to", f"duckdb:{back}")
    moved = await run_callgate(tmp_path, *from_postgres, PGPASSWORD=password)
    assert (moved.exit_code, "equal" in moved.stderr) == (0, True), moved
    (tmp_path / "callgate.toml").write_text(f'version = 1\n[record]\npath = "{back}"\n')
    assert said(await run_callgate(tmp_path, "query", COUNT, "--json"))["rows"] == [[3]]


@pytest.mark.parametrize(
    "address",
    [
        "postgres://me:hunter2hunter2@host:port/x",
        "mysql://me:hunter2hunter2@host/x",
        "duckdb:",
        "postgres",
        "?",
    ],
)
async def test_an_address_that_cannot_be_read_is_refused_without_its_password(
    tmp_path: Path, address: str
) -> None:
    refused = await run_callgate(tmp_path, "record", "copy", "--to", address)
    assert refused.exit_code == 2, refused
    assert "--to" in refused.stderr
    assert "hunter2" not in refused.stderr + refused.stdout


async def test_a_record_in_clickhouse_is_neither_copied_nor_archived_nor_taken_for_files(
    tmp_path: Path,
) -> None:
    address = "clickhouse://me@127.0.0.1:1/callgate"
    for command in (("copy", "--to", f"duckdb:{tmp_path / 'x'}"), ("archive", "--to", str(tmp_path / "y"))):
        refused = await run_callgate(tmp_path, "record", *command, CALLGATE_RECORD_STORE=address)
        assert (refused.exit_code, refused.stdout) == (2, ""), refused
        assert "[record] store: a record in ClickHouse cannot be copied or archived" in refused.stderr
    for option in ("--from", "--to"):
        other = {"--from": ("--to", "duckdb:x"), "--to": ()}[option]
        refused = await run_callgate(tmp_path, "record", "copy", option, address, *other)
        assert refused.exit_code == 2
        assert f"{option}: a record in ClickHouse" in refused.stderr
