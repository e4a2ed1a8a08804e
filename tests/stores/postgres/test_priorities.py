"""Storing gives way to the relay unless somebody waits for it, and where no relay shares its interpreter."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from recorder.happenings import ROW_REDACTOR, a_session, settled
from stores.kinds import PostgresKind
from stores.test_drain import each_frame_is_a_batch
from waiting import until

from callgate.background import Background
from callgate.recorder.flush import keeper
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.keeper import _NICENESS, Keeper
from callgate.recorder.read.caught_up import caught_up
from callgate.recorder.recorder import Recorder, RecorderSettings
from callgate.recorder.stores.postgres.record_store import TRAITS, PostgresStore

_OURS = os.getpriority(os.PRIO_PROCESS, 0)
_LOW = min(19, max(_OURS, _NICENESS))


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """With which priority each batch was packed, and with which it was sent."""
    found: list[tuple[int, int]] = []
    write = PostgresStore.write

    async def of_connection() -> int:
        return own_priority()

    def write_and_note(store: PostgresStore, batch: Batch) -> None:
        write(store, batch)
        found.append((own_priority(), store.round_loop.run(of_connection())))

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
    assert found == [(expected, expected)]


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


@pytest.mark.parametrize("why", ["somebody asks", "it falls behind", "it ends"])
async def test_a_round_that_gives_way_leaves_the_rest_to_one_that_does_not(
    kind: PostgresKind,
    tmp_path: Path,
    found: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    why: str,
) -> None:
    each_frame_is_a_batch(monkeypatch)
    recorder = recorder_on(kind, tmp_path, is_apart=True)
    write = PostgresStore.write
    closing = threading.Event()

    def write_and_hurry(store: PostgresStore, batch: Batch) -> None:
        write(store, batch)
        if len(found) != 1:
            return
        if why == "somebody asks":
            recorder.keeper.flush(lambda _: None)
        elif why == "it falls behind":
            monkeypatch.setattr(keeper, "_BEHIND_BYTES", -1)
        else:
            closing.set()
            assert isinstance(recorder.keeper, Keeper)
            while not recorder.keeper._stopping:
                closing.wait(0.01)

    monkeypatch.setattr(PostgresStore, "write", write_and_hurry)
    for _ in range(3):
        recorder.emit(settled(a_session()))
        written = recorder.written()
        assert written is not None
        await written
    await until(lambda: recorder.keeper.progress().rows == 3 or closing.is_set())
    await recorder.close()
    assert recorder.keeper.progress().rows == 3
    assert found[0] == (_LOW, _LOW)
    assert set(found[1:]) == {(_OURS, _OURS)}
