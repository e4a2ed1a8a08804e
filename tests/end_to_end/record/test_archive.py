"""`callgate record archive`, as its user runs it, and a gateway that archives by itself."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from end_to_end.gateway_process import Finished, run_callgate, running_gateway

CALL = ("call", "demo__query", "query=SELECT count(*) AS n FROM shop.orders")


def said(finished: Finished) -> Any:
    assert finished.exit_code == 0, finished
    return json.loads(finished.stdout)


async def record_of_a_day_before(state: Path) -> None:
    async with running_gateway(state):
        said(await run_callgate(state, *CALL, "--json"))
    days = state / "record" / "days"
    (days / f"{datetime.now(UTC).date()}.duckdb").rename(days / "2025-11-14.duckdb")


async def test_a_closed_day_is_archived_once_and_checked(tmp_path: Path) -> None:
    await record_of_a_day_before(tmp_path)
    target = tmp_path / "archive"
    to_folder = ("record", "archive", "--to", str(target))
    for state in ("archived", "there"):
        (day,) = said(await run_callgate(tmp_path, *to_folder, "--json"))["days"]
        assert (day["day"], day["state"]) == ("2025-11-14", state)
        assert day["events"] >= 1
    checked = await run_callgate(tmp_path, *to_folder, "--check")
    assert (checked.exit_code, "as written" in checked.stdout) == (0, True), checked
    (target / "day=2025-11-14" / "events-0001.parquet").write_bytes(b"other")
    checked = await run_callgate(tmp_path, *to_folder, "--check")
    assert (checked.exit_code, "other bytes" in checked.stdout) == (7, True), checked


async def test_without_an_archive_the_command_says_how_to_name_one(tmp_path: Path) -> None:
    refused = await run_callgate(tmp_path, "record", "archive")
    assert (refused.exit_code, "[record] archive" in refused.stderr) == (2, True), refused
    refused = await run_callgate(tmp_path, "record", "archive", "--to", "s3://me:hunter2hunter2@bucket/x")
    assert (refused.exit_code, "hunter2" in refused.stderr) == (2, False), refused


async def test_a_gateway_without_its_archive_keeps_every_day_and_stops_in_order(tmp_path: Path) -> None:
    await record_of_a_day_before(tmp_path)
    (tmp_path / "callgate.toml").write_text(f'version = 1\n[record]\narchive = "{tmp_path}/a"\nkeep = "1d"\n')
    async with running_gateway(tmp_path) as gateway:
        said(await run_callgate(tmp_path, *CALL, "--json"))
        about = await gateway.get("/api/v1/about")
        assert about["record"]["oldest_day"] == "2025-11-14"
    assert gateway.process.returncode == 0
    # A command deletes nothing either.
    said(await run_callgate(tmp_path, "calls", "--json"))
    assert (tmp_path / "record" / "days" / "2025-11-14.duckdb").exists()
