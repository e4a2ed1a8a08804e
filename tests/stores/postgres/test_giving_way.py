"""The flush leaves the interpreter to the relay, unless somebody waits for it."""

from dataclasses import replace
from pathlib import Path

import pytest
from recorder.happenings import a_session, settled
from stores.kinds import PostgresKind
from waiting import until

from callgate.recorder.flush.batch import Batch
from callgate.recorder.journal.frames import CALLS, EVENTS, Frame
from callgate.recorder.stores.batch_rows import pause_of
from callgate.recorder.stores.postgres.record_store import TRAITS, PostgresStore


def batch(kind: bytes, rows: int, *, gives_way: bool = True) -> Batch:
    made = Batch(gives_way=gives_way)
    made.frames[kind].append(Frame(kind, b"[]", rows))
    return made


def test_a_batch_pauses_only_when_it_gives_way() -> None:
    assert pause_of(batch(CALLS, 500, gives_way=False)) == 0.0
    assert pause_of(batch(CALLS, 500)) > 0.001


def test_a_large_batch_has_shorter_pauses_so_that_it_is_not_put_off_for_long() -> None:
    few, many, whole_rows = (
        pause_of(made) for made in (batch(CALLS, 500), batch(CALLS, 8192), batch(EVENTS, 8192))
    )
    assert few > many > whole_rows > 0
    assert many * 8192 / 64 < 0.2
    assert whole_rows * 8192 / 16 < 0.2


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each batch that was stored: whether it gave way."""
    found: list[bool] = []
    write = PostgresStore.write

    def write_and_note(store: PostgresStore, made: Batch) -> None:
        write(store, made)
        found.append(made.gives_way)

    monkeypatch.setattr(PostgresStore, "write", write_and_note)
    return found


async def test_a_round_that_is_due_gives_way(kind: PostgresKind, tmp_path: Path, stored: list[bool]) -> None:
    record = kind.record(tmp_path)
    record.emit(settled(a_session()))
    await until(lambda: stored)
    await record.close()
    assert stored == [True]


async def test_a_round_for_a_reader_and_the_last_one_do_not(
    kind: PostgresKind, tmp_path: Path, stored: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresStore, "traits", replace(TRAITS, flush_every_s=3600.0))
    record = kind.record(tmp_path)
    record.emit(settled(a_session()))
    assert (await record.reader.extent()).events == 1
    record.emit(settled(a_session()))
    await record.close()
    assert stored == [False, False]
