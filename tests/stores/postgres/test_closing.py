"""A record in PostgreSQL that is closed while somebody reads it: they are told, and nothing is logged."""

import asyncio
import gc
from pathlib import Path

import pytest
from stores.kinds import KeptRecord, PostgresKind
from waiting import until

from callgate.model.errors import SetupError
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.postgres.reader import PostgresReader

_READS = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"


def reading(record: KeptRecord) -> "asyncio.Task[object]":
    assert isinstance(record.reader, PostgresReader)
    slow = record.reader.read(lambda connection: connection.fetch("SELECT pg_sleep(600)"), ReadKind.SCAN)
    return asyncio.create_task(slow)


@pytest.mark.parametrize("is_waited_for", [True, False])
async def test_a_live_read_ends_without_a_word_in_the_log(
    kind: PostgresKind, tmp_path: Path, caplog: pytest.LogCaptureFixture, is_waited_for: bool
) -> None:
    record = kind.record(tmp_path)
    read = reading(record)
    mine = f"{_READS} AND datname = '{kind.database.database}'"
    await until(lambda: kind.database.run(mine) == "1")
    if not is_waited_for:
        read.cancel()
    await record.close()
    if is_waited_for:
        with pytest.raises(SetupError, match="The record is closed"):
            await read
    else:
        with pytest.raises(asyncio.CancelledError):
            await read
    del read
    gc.collect()  # a task whose failure nobody heard says so when it goes
    assert [entry.getMessage() for entry in caplog.records] == []
