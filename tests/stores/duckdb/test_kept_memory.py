"""What DuckDB keeps in memory does not grow with what the record holds."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pytest
from recorder.happenings import read_back

from callgate.recorder.flush.batch import ROW_GROUP_ROWS, Batch
from callgate.recorder.journal.frames import EVENTS
from callgate.recorder.rows import EventRow
from callgate.recorder.stores.duckdb import kept_memory
from callgate.recorder.stores.duckdb.store import Store

MONDAY = date(2026, 5, 4)
ROUNDS = 3  # of so many row groups each
GROUPS = 4


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(kept_memory, "_KEPT_ROWS", 2 * ROW_GROUP_ROWS)
    opened = Store(tmp_path / "days", MONDAY)
    yield opened
    opened.close()


def write_row_group(store: Store, first: int) -> None:
    rows = [
        EventRow(f"01890000-0000-7000-8000-{number:012}", number, "s-1", "tools/call", "probe/1")
        for number in range(first, first + ROW_GROUP_ROWS)
    ]
    for row in rows:
        row.request_json = b'{"query":"%032x"}' % (hash(row.id) & (1 << 128) - 1)
    batch = Batch()
    batch.add("a", read_back(EVENTS, *rows))
    store.write(batch)


def count(store: Store) -> int:
    found = (
        store.cursor().execute("SELECT count(DISTINCT id), count(request_json) FROM rpc_events").fetchone()
    )
    assert found is not None
    assert found[0] == found[1]
    return found[0]


def test_three_times_the_rows_keep_no_more(store: Store) -> None:
    most: list[int] = []
    for number in range(ROUNDS):
        kept: list[int] = []
        for group in range(GROUPS):
            write_row_group(store, (number * GROUPS + group) * ROW_GROUP_ROWS)
            kept.append(store.kept_bytes())
        most.append(max(kept))
    assert max(most) < 1.3 * most[0]
    assert count(store) == ROUNDS * GROUPS * ROW_GROUP_ROWS


def test_what_was_read_of_other_days_is_let_go_when_nobody_reads_any_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(GROUPS):
        store.turn_to(MONDAY + timedelta(days=number))
        write_row_group(store, number * ROW_GROUP_ROWS)
    store.give_back()
    with store.reading() as cursor:
        cursor.execute("SELECT sum(hash(COLUMNS(*))) FROM rpc_events").fetchall()
        kept = store.kept_bytes()
        monkeypatch.setattr(kept_memory, "_KEPT_BYTES", kept // 4)
        store.give_back()
        assert store.kept_bytes() == kept  # not while somebody reads
    store.give_back()
    of_others = store.kept_bytes()
    assert of_others > kept // 4  # nor when they just did: only the newest file was opened anew
    write_row_group(store, GROUPS * ROW_GROUP_ROWS)
    assert store.kept_bytes() > of_others  # and it is not opened again for what the others keep
    monkeypatch.setattr(kept_memory, "_KEPT_AFTER_READ_S", 0.0)
    store.give_back()
    assert store.kept_bytes() < 3 * of_others // 4
    assert count(store) == (GROUPS + 1) * ROW_GROUP_ROWS


def test_less_is_kept_once_all_is_stored_unless_somebody_reads(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_memory, "_KEPT_ROWS", GROUPS * ROW_GROUP_ROWS)
    store.give_back()
    empty = store.kept_bytes()
    write_row_group(store, 0)
    staged = store.kept_bytes()
    with store.reading() as cursor:
        cursor.execute("SELECT count(*) FROM rpc_events").fetchall()
    store.give_back()
    written = store.kept_bytes()
    assert empty < written < staged / 2  # who reads will read again, but not what the batch was made of
    store.give_back()
    assert store.kept_bytes() == written
    monkeypatch.setattr(kept_memory, "_KEPT_AFTER_READ_S", 0.0)
    store.give_back()
    assert store.kept_bytes() - empty < (staged - empty) / 4
    write_row_group(store, ROW_GROUP_ROWS)
    assert store.kept_bytes() - empty > (staged - empty) / 4  # between two batches of a round nothing is
    assert count(store) == 2 * ROW_GROUP_ROWS


def test_duckdb_is_begun_anew_after_many_rows_unless_somebody_reads(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_memory, "_ROWS_OF_A_DUCKDB", GROUPS * ROW_GROUP_ROWS)
    monkeypatch.setattr(kept_memory, "_KEPT_AFTER_READ_S", 0.0)
    began = which_duckdb(store)
    for group in range(GROUPS):
        store.turn_to(MONDAY + timedelta(days=group // 2))
        write_row_group(store, group * ROW_GROUP_ROWS)
    with store.reading() as cursor:
        store.give_back()
        assert which_duckdb(store) == began
        assert cursor.execute("SELECT count(*) FROM rpc_events").fetchone() == (GROUPS * ROW_GROUP_ROWS,)
    store.give_back()
    assert which_duckdb(store) != began
    assert count(store) == GROUPS * ROW_GROUP_ROWS
    assert set(store.watermarks()) == {"a"}
    write_row_group(store, GROUPS * ROW_GROUP_ROWS)
    store.give_back()
    assert count(store) == (GROUPS + 1) * ROW_GROUP_ROWS
    with pytest.raises(duckdb.Error):  # it is shut in as the first one was
        store.cursor().execute("FROM read_csv('/etc/passwd')")


def which_duckdb(store: Store) -> int:
    """Which DuckDB it is: the connection that each cursor comes from."""
    return id(store._connection)
