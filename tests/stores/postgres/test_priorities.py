"""Storing gives way to the relay unless somebody waits for it, and where no relay shares its interpreter."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from recorder.happenings import ROW_REDACTOR, a_session, settled
from stores.kinds import PostgresKind
from waiting import until

from callgate.background import Background
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.keeper import _NICENESS, Keeper
from callgate.recorder.read.caught_up import caught_up
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.stores.postgres.record_store import TRAITS, PostgresStore

_OURS = os.getpriority(os.PRIO_PROCESS, 0)
_LOW = min(19, max(_OURS, _NICENESS))


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """With which priority each batch was packed, and which the connection's thread had."""
    found: list[tuple[int, int]] = []
    write = PostgresStore.write

    async def of_connection() -> int:
        return own_priority()

    def write_and_note(store: PostgresStore, batch: Batch) -> None:
        write(store, batch)
        found.append((own_priority(), store.thread.run(of_connection())))

    monkeypatch.setattr(PostgresStore, "write", write_and_note)
    return found


def own_priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def recorder_on(kind: PostgresKind, folder: Path, *, is_apart: bool) -> Recorder:
    store = kind.store(folder)
    return Recorder(
        RecorderSettings(folder, keeps_store=True),
        ROW_REDACTOR,
        store,
        keep_apart=lambda kept: Keeper(kept, store, True, Background(), is_apart=is_apart),
    )


@pytest.mark.parametrize(("is_apart", "expected"), [(True, _LOW), (False, _OURS)], ids=["apart", "beside"])
async def test_a_round_that_is_due_gives_way_where_no_relay_is(
    kind: PostgresKind, tmp_path: Path, found: list[tuple[int, int]], is_apart: bool, expected: int
) -> None:
    recorder = recorder_on(kind, tmp_path, is_apart=is_apart)
    recorder.emit(settled(a_session()))
    await until(lambda: found)
    await recorder.close()
    assert found == [(expected, _OURS)]


async def test_a_round_for_a_reader_and_the_last_one_do_not(
    kind: PostgresKind, tmp_path: Path, found: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresStore, "traits", replace(TRAITS, flush_every_s=3600.0))
    recorder = recorder_on(kind, tmp_path, is_apart=True)
    recorder.emit(settled(a_session()))
    await caught_up(recorder)
    recorder.emit(settled(a_session()))
    await recorder.close()
    assert found == [(_OURS, _OURS)] * 2
