"""A store that cannot be reached: calls go on, nothing is lost, nothing is stored twice, and it is said."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from recorder.happenings import NOW_S, a_session, settled
from recorder.redact.test_secrets import planted
from recorder.secret_samples import found_in
from stores.kinds import KeptRecord, PostgresKind
from stores.postgres.way import Way, way_to
from waiting import until

from callgate.model.errors import SetupError
from callgate.ports.record_reader import EventFilter
from callgate.recorder.stores.postgres import record_store
from callgate.recorder.stores.postgres.connection import StoreAddress

DEADLINE_S = 120.0  # only against a hang


@pytest.fixture
async def way(kind: PostgresKind) -> AsyncIterator[Way]:
    with way_to(kind.database.port) as way:
        database = replace(kind.database, port=way.port)
        kind.address = StoreAddress(database.dsn, f"127.0.0.1:{way.port}/{database.database}")
        yield way


@pytest.fixture
async def record(kind: PostgresKind, way: Way, tmp_path: Path) -> AsyncIterator[KeptRecord]:
    record = kind.record(tmp_path)
    yield record
    await record.close()


async def statements(record: KeptRecord) -> list[str]:
    page = await record.reader.events(EventFilter(), 1000, order="oldest")
    return [row["sql"] for row in page.rows]


async def came_back(record: KeptRecord) -> None:
    """It tries again by itself. Read, too: that it is away may not have been noticed yet."""

    async def is_readable() -> bool:
        try:
            await record.reader.extent()
        except SetupError:
            return False
        return record.reader.problem() is None

    await until(is_readable, DEADLINE_S)


async def test_what_is_recorded_while_the_store_is_away_is_there_once_when_it_is_back(
    record: KeptRecord, kind: PostgresKind, way: Way
) -> None:
    record.emit(settled(a_session(), NOW_S, sql="0"))
    assert await statements(record) == ["0"]
    way.cut()
    for number in range(1, 200):
        record.emit(settled(a_session(), NOW_S + number, sql=str(number)))
    with pytest.raises(SetupError) as caught:
        await statements(record)
    assert caught.value.code.code == "setup.store_unreachable"
    told = record.reader.problem()
    assert told is not None
    assert "UTC" in told
    assert "MiB wait in the journal" in told
    assert kind.database.password not in told + caught.value.message + str(caught.value.hint)
    way.restore()
    await came_back(record)
    assert await statements(record) == [str(number) for number in range(200)]


async def test_no_planted_secret_is_on_the_wire_in_the_tables_or_in_the_log(
    record: KeptRecord, kind: PostgresKind, way: Way
) -> None:
    way.heard = bytearray()
    database = kind.database
    data = Path(database.run("SHOW data_directory"))
    segments = "SELECT name FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'"
    first = database.run("SELECT pg_walfile_name(pg_current_wal_lsn())")
    calls = planted()
    for event, _, _ in calls:
        record.emit(event)
    record.emit(settled(a_session(), NOW_S, params=b'{"note":"a word to be found"}'))
    assert (await record.reader.extent()).events == len(calls) + 1
    database.run("CHECKPOINT")
    oid = database.run("SELECT oid FROM pg_database WHERE datname = current_database()")
    tables = b"".join(path.read_bytes() for path in (data / "base" / oid).iterdir())
    # Bodies are compressed in their tables: what those hold is looked at as text too.
    held = database.run("SELECT * FROM callgate_store.rpc_events; SELECT * FROM callgate_store.rpc_bodies")
    logged = [data / "pg_wal" / name for name in database.run(segments).split() if name >= first]
    log = b"".join(path.read_bytes() for path in logged)
    for where in (bytes(way.heard), held.encode()):
        assert b"a word to be found" in where
    assert log
    everywhere = bytes(way.heard) + tables + log + held.encode()
    assert found_in(everywhere, {secret for _, secret, _ in calls}) == set()


async def test_a_commit_whose_answer_is_lost_stores_its_batch_once(record: KeptRecord, way: Way) -> None:
    record.emit(settled(a_session(), NOW_S, sql="0"))
    assert await statements(record) == ["0"]
    for number in range(1, 6):
        record.emit(settled(a_session(), NOW_S + number, sql=str(number)))
        way.loses_next_commit = True
        await until(lambda number=number: way.lost_commits == number, DEADLINE_S)
        await came_back(record)
    assert await statements(record) == [str(number) for number in range(6)]


async def test_a_gateway_starts_without_its_store(kind: PostgresKind, way: Way, tmp_path: Path) -> None:
    way.cut()
    record = kind.record(tmp_path)
    record.emit(settled(a_session(), NOW_S, sql="0"))
    await until(lambda: record.reader.problem() is not None, DEADLINE_S)
    way.restore()
    await came_back(record)
    assert await statements(record) == ["0"]
    await record.close()


def is_full(record: KeptRecord) -> bool:
    return "the journal is full" in (record.reader.problem() or "")


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_full_journal_is_said_and_counted(
    kind: PostgresKind, way: Way, tmp_path: Path, refuses: bool
) -> None:
    record = kind.record(tmp_path, journal_max_bytes=300_000, refuses_unrecorded=refuses)
    await record.reader.extent()
    way.cut()
    body = b'"%b"' % (b"x" * 10_000)
    for number in range(100):
        record.emit(settled(a_session(), NOW_S + number, sql=str(number), reply=body))
        await until(lambda: not record.reader.backlog().events or is_full(record), DEADLINE_S)
    await until(lambda: is_full(record), DEADLINE_S)
    assert "journal_max" in (record.reader.problem() or "")
    assert record.recorder.is_refusing == refuses
    way.restore()
    await came_back(record)
    extent = await record.reader.extent()
    assert (extent.events, extent.gap_events) == (100, 0)  # what did not fit waited in memory
    assert not record.recorder.is_refusing
    await record.close()


async def test_a_reply_waits_for_the_store_if_the_operator_says_so(
    kind: PostgresKind, way: Way, tmp_path: Path
) -> None:
    record = kind.record(tmp_path, waits_for_store=True, refuses_unrecorded=True)
    for number in range(5):
        record.emit(settled(a_session(), NOW_S + number, sql=str(number)))
        written = record.recorder.written()
        assert written is not None
        await written
        told = kind.database.run("SELECT count(*) FROM callgate.rpc_events")
        assert told == str(number + 1)
    way.cut()
    record.emit(settled(a_session(), NOW_S + 9, sql="9"))
    written = record.recorder.written()
    assert written is not None
    await written  # the call was made, and its answer is due
    assert record.recorder.is_refusing
    way.restore()
    await came_back(record)
    await record.close()


async def test_a_password_that_is_wrong_is_named_without_it(kind: PostgresKind, tmp_path: Path) -> None:
    database = replace(kind.database, password="not-the-pass-word")
    kind.address = StoreAddress(database.dsn, "127.0.0.1/record")
    record = kind.record(tmp_path)
    with pytest.raises(SetupError) as caught:
        await record.reader.extent()
    assert "password authentication failed" in caught.value.message
    assert "Check user, password" in caught.value.hint
    assert "not-the-pass-word" not in repr(caught.value) + repr(kind.address) + (
        record.reader.problem() or ""
    )
    await record.close()


async def test_a_server_that_says_nothing_after_the_login_keeps_nobody_from_serving(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a pooler does whose server is gone."""
    monkeypatch.setattr(record_store, "_CHECK_S", 0.1)
    given_up = asyncio.Event()

    async def let_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(await reader.read(4096)) > 16:  # else it is told to cancel
            version = b"S\0\0\0\x18server_version\x0015.1\0"
            writer.write(b"R\0\0\0\x08\0\0\0\0" + version + b"Z\0\0\0\x05I")  # it is well, and ready
            with suppress(ConnectionError):
                await reader.read()  # until we give up
            given_up.set()
        writer.close()

    async with await asyncio.start_server(let_in, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        address = StoreAddress(f"postgres://me@127.0.0.1:{port}/x?sslmode=disable", "there")
        store = record_store.PostgresStore(tmp_path, address)
        async with asyncio.timeout(DEADLINE_S):
            await store.check()
            await given_up.wait()
        store.end()
    assert "The record's store at there cannot be used: it does not answer in time" in caplog.text
