"""A shared store is kept by a process of its own: killed, stopped or not startable, it loses no call."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from recorder.happenings import NOW_S, a_session, settled
from stores.conftest import kind_of
from stores.kinds import KeptRecord, StoreKind
from stores.test_foreign_rows import hear
from waiting import until

from callgate.model.errors import SetupError
from callgate.ports.record_reader import EventFilter
from callgate.recorder.flush.drain import StoreLock
from callgate.recorder.storing import keeper_process
from callgate.recorder.storing.keeper_process import KeeperProcess

DEADLINE_S = 120.0  # only against a hang


@pytest.fixture(params=["postgres", "clickhouse"])
def kind(request: pytest.FixtureRequest) -> Iterator[StoreKind]:
    made = kind_of(request)
    made.is_apart = True
    yield made
    made.close()


@pytest.fixture
async def record(kind: StoreKind, tmp_path: Path) -> AsyncIterator[KeptRecord]:
    record = kind.record(tmp_path)
    yield record
    await record.close()


@pytest.fixture
def soon_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_process, "_HEAR_S", 0.3)  # a process that lives says so more often than that
    monkeypatch.setattr(keeper_process, "_SILENT_LOOKS", 4)


def keeper(record: KeptRecord) -> KeeperProcess:
    found = record.recorder.keeper
    assert isinstance(found, KeeperProcess)
    return found


async def pid_of(record: KeptRecord) -> int:
    pid = await until(lambda: keeper(record).pid, DEADLINE_S)
    assert pid is not None
    return pid


async def is_well(record: KeptRecord) -> bool:
    try:
        await record.reader.extent()
    except SetupError:
        return False
    return record.reader.problem() is None


async def statements(record: KeptRecord) -> list[str]:
    page = await record.reader.events(EventFilter(), 10_000, order="oldest")
    return [row["sql"] for row in page.rows]


def is_gone(pid: int) -> bool:
    """Or only waits to be asked how it ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_it_is_killed_again_and_again_while_calls_come_and_each_of_them_is_stored_once(
    record: KeptRecord,
) -> None:
    chance = random.Random(5)
    calls = 0

    async def call_on(more: int) -> None:
        nonlocal calls
        for _ in range(more):
            record.emit(settled(a_session(), NOW_S + calls, sql=str(calls)))
            calls += 1
            await asyncio.sleep(0.001)

    for _ in range(6):
        pid = await pid_of(record) if calls else 0
        calling = asyncio.create_task(call_on(200))
        if pid:
            reading = asyncio.create_task(record.reader.extent())  # so that a batch is under way
            await asyncio.sleep(chance.uniform(0.0, 0.15))
            os.kill(pid, signal.SIGKILL)
            await asyncio.gather(reading, return_exceptions=True)
            await until(lambda pid=pid: keeper(record).pid != pid, DEADLINE_S)
        await calling
    await until(lambda: is_well(record), DEADLINE_S)
    assert await statements(record) == [str(number) for number in range(calls)]


async def test_that_it_was_killed_is_told_until_another_stores(record: KeptRecord) -> None:
    record.emit(settled(a_session(), sql="1"))
    os.kill(await pid_of(record), signal.SIGKILL)
    told = await until(lambda: record.reader.problem() or "", DEADLINE_S)
    assert "was ended by signal 9" in told
    assert "none is lost" in told
    assert "MiB wait in the journal" in told
    await until(lambda: record.reader.problem() is None, DEADLINE_S)
    assert await statements(record) == ["1"]


async def test_who_reads_from_a_stopped_process_is_told_and_it_goes_on_when_it_is_continued(
    record: KeptRecord, soon_told: None
) -> None:
    record.emit(settled(a_session(), sql="1"))
    assert await statements(record) == ["1"]
    pid = await pid_of(record)
    os.kill(pid, signal.SIGSTOP)
    record.emit(settled(a_session(), NOW_S + 1, sql="2"))
    with pytest.raises(SetupError, match=rf"\(pid {pid}\) does not answer"):
        await asyncio.wait_for(statements(record), DEADLINE_S)
    assert "Look whether it was stopped" in (record.reader.problem() or "")
    assert record.recorder.backlog().store is not None
    os.kill(pid, signal.SIGCONT)
    await until(lambda: is_well(record), DEADLINE_S)
    assert await statements(record) == ["1", "2"]
    assert keeper(record).pid == pid


async def test_one_that_hangs_for_long_is_replaced(
    record: KeptRecord, soon_told: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_process, "_HUNG_LOOKS", 6)
    record.emit(settled(a_session(), sql="1"))
    pid = await pid_of(record)
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: keeper(record).pid not in (pid, None), DEADLINE_S)
    await until(lambda: is_well(record), DEADLINE_S)
    assert await statements(record) == ["1"]


async def test_a_gateway_ends_although_its_storing_process_hangs_and_the_next_one_stores_the_rest(
    kind: StoreKind, tmp_path: Path, soon_told: None
) -> None:
    first = kind.record(tmp_path)
    pid = await pid_of_first_call(first)
    os.kill(pid, signal.SIGSTOP)
    first.emit(settled(a_session(), NOW_S + 1, sql="2"))
    await asyncio.wait_for(first.close(), DEADLINE_S)
    assert is_gone(pid)
    second = kind.record(tmp_path)
    await until(lambda: is_well(second), DEADLINE_S)
    assert await statements(second) == ["1", "2"]
    await second.close()


async def pid_of_first_call(record: KeptRecord) -> int:
    """Once it is stored."""
    record.emit(settled(a_session(), sql="1"))
    assert await statements(record) == ["1"]
    return await pid_of(record)


async def test_the_last_calls_are_stored_at_the_end_also_if_the_process_just_died(
    kind: StoreKind, tmp_path: Path
) -> None:
    for number, dies in enumerate((False, True), 1):
        record = kind.record(tmp_path)
        record.emit(settled(a_session(), NOW_S + number, sql=str(number)))
        pid = await pid_of(record)
        if dies:
            os.kill(pid, signal.SIGKILL)
        await record.close()
        assert is_gone(pid)
        lock = StoreLock(tmp_path / "store.lock")
        assert lock.try_acquire()
        lock.release()
    asked = "SELECT sql FROM rpc_events ORDER BY sql"
    stored = await asyncio.to_thread(kind.ask, kind.store(tmp_path), asked)
    assert stored == [("1",), ("2",)]


async def test_it_is_in_the_session_of_its_gateway_where_its_low_priority_counts(record: KeptRecord) -> None:
    record.emit(settled(a_session()))
    pid = await pid_of(record)
    assert (os.getsid(pid), os.getpgid(pid)) == (os.getsid(0), pid)


async def test_a_gateway_that_nobody_called_starts_none_and_a_signal_for_all_of_us_does_not_end_it(
    record: KeptRecord, tmp_path: Path
) -> None:
    assert keeper(record).pid is None
    record.emit(settled(a_session(), sql="1"))
    pid = await pid_of(record)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid, number)
    assert await statements(record) == ["1"]
    assert keeper(record).pid == pid
    assert os.getpgid(pid) != os.getpgid(0)


async def test_the_stores_password_is_in_no_argument_and_no_environment(
    kind: StoreKind, record: KeptRecord
) -> None:
    record.emit(settled(a_session(), sql="1"))
    pid = await pid_of(record)
    password = getattr(kind, "database").password.encode()  # noqa: B009 - each kind that can be shared has one
    process = Path(f"/proc/{pid}")
    assert b"callgate" in process.joinpath("cmdline").read_bytes()
    assert password not in process.joinpath("cmdline").read_bytes()
    with suppress(PermissionError):  # nobody but root may read it at all
        assert password not in process.joinpath("environ").read_bytes()


async def test_one_that_cannot_be_started_is_told_and_tried_again(
    record: KeptRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/nowhere/python")
        record.emit(settled(a_session(), sql="1"))
        with pytest.raises(SetupError, match="cannot be started: No such file or directory"):
            await statements(record)
        assert "more processes, open files or memory" in (record.reader.problem() or "")
    await until(lambda: is_well(record), DEADLINE_S)
    assert await statements(record) == ["1"]


async def test_calls_of_another_process_on_the_folder_are_told_live(
    kind: StoreKind, record: KeptRecord, tmp_path: Path
) -> None:
    await record.source_requests()  # it holds the store now
    other = kind.record(tmp_path, keeps_store=False)
    is_listening = asyncio.Event()
    hearing = asyncio.create_task(hear(record, 200, is_listening))
    await is_listening.wait()
    for number in range(100):
        record.emit(settled(a_session("ours"), NOW_S + number))
        other.emit(settled(a_session("theirs"), NOW_S + number, params=b'{"n":%d}' % number))
        if number % 20 == 0:
            await record.source_requests()  # drains both: now theirs come first, now ours
    told = [one for one in await hearing if one.happening == "exchange_settled"]
    seqs = [one.row["seq"] for one in told]
    assert seqs == sorted(set(seqs))
    theirs = [one.row for one in told if one.row["session_id"] == "theirs"]
    assert len(theirs) == 100
    assert {row["request_json"] for row in theirs} == {f'{{"n":{number}}}' for number in range(100)}
    await other.close()


async def test_its_progress_goes_on_where_the_one_before_it_ended(record: KeptRecord) -> None:
    for number in range(1, 4):
        record.emit(settled(a_session(), NOW_S + number, sql=str(number)))
        assert len(await statements(record)) == number
        store = record.recorder.backlog().store
        assert store is not None
        assert (store.rows, store.journal_bytes, store.is_away) == (number, 0, False)
        assert store.batches >= number
        pid = await pid_of(record)
        os.kill(pid, signal.SIGKILL)
        await until(lambda pid=pid: keeper(record).pid not in (pid, None), DEADLINE_S)
        await until(lambda: is_well(record), DEADLINE_S)
