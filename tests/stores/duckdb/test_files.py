"""The store: days are files, and all of them are one record."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from recorder.happenings import read_back

from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.retention import Retention
from callgate.recorder.journal.frames import EVENTS, OPENED, SESSIONS
from callgate.recorder.rows import EventRow, SessionRow
from callgate.recorder.stores.duckdb.day_files import Day
from callgate.recorder.stores.duckdb.schema import SCHEMA_VERSION
from callgate.recorder.stores.duckdb.store import Store

MONDAY = date(2026, 5, 4)
TUESDAY = MONDAY + timedelta(days=1)
Reopen = Callable[[date], Store]


@pytest.fixture
def reopen(tmp_path: Path) -> Iterator[Reopen]:
    stores: list[Store] = []

    def open_one(day: date) -> Store:
        for store in stores:
            store.close()
        stores[:] = [Store(tmp_path / "days", day)]
        return stores[0]

    yield open_one
    for store in stores:
        store.close()


def event(number: int, **changed: Any) -> EventRow:
    row = EventRow(f"01890000-0000-7000-8000-{number:012}", number, "s-1", "tools/call", "probe/1")
    row.ok, row.outcome, row.ended_by = True, "answered", "upstream"
    return msgspec.structs.replace(row, **changed)


def opened(number: int, writer: str) -> EventRow:
    return event(number, writer=writer, ok=None, outcome=None, ended_by=None)


def write(store: Store, kind: bytes, *rows: msgspec.Struct, segment: str = "a") -> None:
    batch = Batch()
    batch.add(segment, read_back(kind, *rows))
    store.write(batch)


def ask(store: Store, sql: str) -> list[Any]:
    return store.cursor().execute(sql).fetchall()


def test_the_views_hold_all_days(reopen: Reopen) -> None:
    store = reopen(MONDAY)
    write(store, EVENTS, event(1))
    store.turn_to(TUESDAY)
    write(store, EVENTS, event(2), event(3))
    for _ in range(2):
        assert ask(store, "SELECT count(*) FROM rpc_events") == [(3,)]
        assert [day.path.name for day in store.days] == ["2026-05-05.duckdb", "2026-05-04.duckdb"]
        store = reopen(TUESDAY)


def test_a_session_over_midnight_is_one_session_with_one_sum(reopen: Reopen) -> None:
    store = reopen(MONDAY)
    write(store, SESSIONS, SessionRow("s-1", 1, 5, client_name="probe", writer="w"))
    write(store, EVENTS, event(1, request_tokens=3, response_tokens=4), event(2, ok=False))
    store.turn_to(TUESDAY)
    write(store, EVENTS, event(3, request_bytes=9))
    write(store, SESSIONS, SessionRow("s-1", 1, 9, ended_at=9, client_name="probe", writer="w"))
    assert ask(
        store,
        "SELECT session_id, epoch_us(created_at), epoch_us(last_seen_at), epoch_us(ended_at), client_name,"
        " tool_call_count, error_count, total_tokens FROM sessions",
    ) == [("s-1", 1, 9, 9, "probe", 3, 1, 10)]


def test_what_is_still_open_ends_on_another_day_once(reopen: Reopen) -> None:
    store = reopen(MONDAY)
    write(store, OPENED, opened(1, "w"), opened(2, "w"))
    assert ask(store, "SELECT count(*), count(outcome) FROM rpc_events") == [(2, 0)]
    store.turn_to(TUESDAY)
    write(store, EVENTS, event(1, was_open=True))
    assert ask(store, "SELECT ts, outcome FROM rpc_events ORDER BY id")[0][1] == "answered"
    assert ask(store, "SELECT count(*), count(outcome) FROM rpc_events") == [(2, 1)]
    assert ask(reopen(TUESDAY), "SELECT count(*), count(outcome) FROM rpc_events") == [(2, 1)]


def test_a_file_of_an_older_version_is_brought_up_to_date_and_keeps_its_rows(
    reopen: Reopen, tmp_path: Path
) -> None:
    (tmp_path / "days").mkdir()
    with duckdb.connect(str(tmp_path / "days" / "2026-05-04.duckdb")) as old:
        old.execute("CREATE TABLE schema_versions (version INTEGER, applied_at TIMESTAMP)")
        old.execute("INSERT INTO schema_versions VALUES (1, now()::TIMESTAMP)")
        old.execute("CREATE TABLE rpc_events (id UUID, ts TIMESTAMP, session_id VARCHAR, method VARCHAR)")
        old.execute("INSERT INTO rpc_events VALUES (uuid(), '2026-05-04', 's-0', 'tools/list')")
    store = reopen(MONDAY)
    write(store, EVENTS, event(1, tables=["t"], session_id=None, principal="alice"))
    for _ in range(2):
        assert ask(store, "SELECT method, outcome, tables, principal FROM rpc_events ORDER BY method") == [
            ("tools/call", "answered", ["t"], "alice"),
            ("tools/list", None, None, None),
        ]
        store = reopen(TUESDAY)
    assert ask(store, f"SELECT version FROM {store.days[1].name}.schema_versions") == [
        (1,),
        (SCHEMA_VERSION,),
    ]


def test_a_damaged_day_takes_no_other_with_it(
    reopen: Reopen, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(reopen(TUESDAY), EVENTS, event(1))
    (tmp_path / "days" / "2026-05-04.duckdb").write_bytes(b"not a database" * 1000)
    assert ask(reopen(TUESDAY), "SELECT count(*) FROM rpc_events") == [(1,)]
    assert "2026-05-04.duckdb" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_a_dropped_day_is_gone_from_the_views_and_from_the_disk(reopen: Reopen, tmp_path: Path) -> None:
    store = reopen(MONDAY)
    write(store, EVENTS, event(1))
    store.turn_to(TUESDAY)
    write(store, EVENTS, event(2))
    reader = store.cursor()
    store.drop(store.days[1])
    assert reader.execute("SELECT right(id::VARCHAR, 1) FROM rpc_events").fetchall() == [("2",)]
    assert {path.name.partition(".")[0] for path in (tmp_path / "days").iterdir()} == {"2026-05-05"}


def test_a_day_has_a_second_part_when_the_first_is_too_large(reopen: Reopen) -> None:
    store = reopen(MONDAY)
    write(store, OPENED, opened(1, "w"))
    store.begin_part()
    write(store, EVENTS, event(1, was_open=True))
    for _ in range(2):
        assert ask(store, "SELECT outcome FROM rpc_events") == [("answered",)]
        assert [day.path.name for day in store.days] == ["2026-05-04.1.duckdb", "2026-05-04.duckdb"]
        store = reopen(MONDAY)


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        (Retention(2 * 86400, 10**9), [0, 1, 2]),
        (Retention(3600, 10**9), [0]),
        (Retention(30 * 86400, 2500), [0, 1]),
        (Retention(30 * 86400, 1), [0]),
    ],
)
def test_what_is_too_old_or_too_much_goes_oldest_first(
    tmp_path: Path, retention: Retention, kept: list[int]
) -> None:
    days = [Day(tmp_path, TUESDAY - timedelta(days=age)) for age in range(5)]
    for day in days:
        day.path.write_bytes(b"x" * 1000)
    overdue = retention.overdue(days, TUESDAY)
    assert [day for day in days if day not in overdue] == [days[age] for age in kept]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '/tmp/callgate-out.csv'",
        "ATTACH '/tmp/callgate-other.duckdb'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
    ],
)
def test_nothing_reaches_out_of_the_record(reopen: Reopen, sql: str) -> None:
    with pytest.raises(duckdb.Error):
        reopen(MONDAY).cursor().execute(sql)


# ---- files that are no longer written to


def opened_elsewhere(store: Store, tmp_path: Path) -> dict[str, int]:
    """How many events another process counts in each file that it is given."""
    files = {name: str(path) for name, path in store.files_for_others().items()}
    counting = """
import duckdb, json, sys
connection = duckdb.connect(":memory:")
counts = {}
for name, path in json.loads(sys.argv[1]).items():
    connection.execute(f"ATTACH '{path}' AS {name} (READ_ONLY)")
    counts[name] = connection.execute(f"SELECT count(*) FROM {name}.rpc_events").fetchone()[0]
print(json.dumps(counts))
"""
    asked = subprocess.run(
        [sys.executable, "-c", counting, json.dumps(files)], check=True, capture_output=True, text=True
    )
    return json.loads(asked.stdout)


def test_another_process_reads_every_file_while_we_write(reopen: Reopen, tmp_path: Path) -> None:
    store = reopen(MONDAY)
    write(store, EVENTS, event(1))
    store.turn_to(TUESDAY)
    write(store, EVENTS, event(2), event(3))
    assert opened_elsewhere(store, tmp_path) == {'"2026-05-05"': 2, '"2026-05-04"': 1}
    write(store, EVENTS, event(4))  # the file is still ours
    assert opened_elsewhere(store, tmp_path) == {'"2026-05-05"': 3, '"2026-05-04"': 1}


def test_a_copy_leaves_duckdbs_lock_on_the_file(reopen: Reopen, tmp_path: Path) -> None:
    store = reopen(MONDAY)
    write(store, EVENTS, event(1))
    store.files_for_others()
    opening = f"import duckdb; duckdb.connect({str(store.path)!r})"
    refused = subprocess.run([sys.executable, "-c", opening], capture_output=True, text=True, check=False)
    assert "Conflicting lock" in refused.stderr


def test_a_file_is_sealed_once_nobody_reads_it(reopen: Reopen, tmp_path: Path) -> None:
    store = reopen(MONDAY)
    write(store, EVENTS, event(1))
    with store.reading() as cursor:
        cursor.execute("SELECT * FROM rpc_events")
        store.turn_to(TUESDAY)
        monday = store.days[1]
        assert store.files_for_others()[monday.name] != monday.path  # a copy
        assert cursor.fetchall()
    store.seal()
    assert store.files_for_others()[monday.name] == monday.path
    assert ask(store, "SELECT count(*) FROM rpc_events") == [(1,)]


def test_a_session_whose_writer_died_on_a_later_day_ends(reopen: Reopen) -> None:
    store = reopen(MONDAY)
    write(store, SESSIONS, SessionRow("s-1", 1, 5, client_name="probe", writer="dead"))
    write(store, SESSIONS, SessionRow("s-2", 1, 7, ended_at=7, writer="dead"))
    store.turn_to(TUESDAY)
    store.sweep([])
    told = "SELECT session_id, client_name, epoch_us(ended_at) FROM sessions ORDER BY 1"
    assert ask(store, told) == [("s-1", "probe", 5), ("s-2", None, 7)]
    assert ask(store, f"SELECT count(*) FROM {store.days[0].name}.sessions") == [(1,)]


def test_an_old_file_without_one_of_our_columns_takes_no_other_with_it(
    reopen: Reopen, caplog: pytest.LogCaptureFixture
) -> None:
    store = reopen(MONDAY)
    write(store, EVENTS, event(1))
    store.cursor().execute(f"ALTER TABLE {store.days[0].name}.rpc_events DROP COLUMN sql")
    store = reopen(TUESDAY)
    assert ask(store, "SELECT count(*) FROM rpc_events") == [(0,)]
    assert "2026-05-04.duckdb cannot be read" in caplog.text
