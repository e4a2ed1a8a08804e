"""A ClickHouse that cannot be reached: calls go on, nothing is lost or doubled, no secret is told."""

import select
import threading
from dataclasses import replace
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer

import pytest
from recorder.happenings import NOW_S, a_session, settled
from stores.kinds import ClickhouseKind, KeptRecord
from stores.postgres.way import way_to
from waiting import until

from callgate.model.errors import SetupError
from callgate.ports.record_reader import EventFilter
from callgate.recorder.flush.retention import Retention
from callgate.recorder.stores.clickhouse import connection, record_store
from callgate.recorder.stores.clickhouse.connection import StoreUser

DEADLINE_S = 120.0  # only against a hang


async def statements(record: KeptRecord) -> list[str]:
    page = await record.reader.events(EventFilter(), 1000, order="oldest")
    return [row["sql"] for row in page.rows]


async def test_what_is_recorded_while_the_store_is_away_is_there_once_when_it_is_back(
    kind: ClickhouseKind, tmp_path: Path
) -> None:
    with way_to(kind.database.port) as way:
        kind.address = replace(kind.address, port=way.port)
        record = kind.record(tmp_path)
        record.emit(settled(a_session(), NOW_S, sql="0"))
        assert await statements(record) == ["0"]
        way.cut()
        for number in range(1, 100):
            record.emit(settled(a_session(), NOW_S + number, sql=str(number)))
        with pytest.raises(SetupError) as caught:
            await statements(record)
        assert caught.value.code.code == "setup.store_unreachable"
        told = record.reader.problem() or ""
        assert "MiB wait in the journal" in told
        assert kind.database.password not in told + caught.value.message + str(caught.value.hint)
        way.restore()

        async def is_back() -> bool:
            try:
                return await statements(record) == [str(number) for number in range(100)]
            except SetupError:
                return False

        await until(is_back, DEADLINE_S)
        assert record.reader.problem() is None
        await record.close()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"login": StoreUser("callgate", "not-the-pass-word")}, "Check user and password"),
        ({"database": "nowhere"}, "Create the database"),
        ({"port": 1}, "can be reached from here"),
    ],
)
async def test_what_is_wrong_with_the_address_is_said_without_the_password(
    kind: ClickhouseKind, tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    kind.address = replace(kind.address, **changed)
    record = kind.record(tmp_path)
    with pytest.raises(SetupError) as caught:
        await record.reader.extent()
    assert said in str(caught.value.hint)
    assert "not-the-pass-word" not in repr(caught.value) + repr(kind.address) + str(record.reader.problem())
    await record.close()


def test_the_doctor_hears_which_server_it_is_or_what_is_wrong(kind: ClickhouseKind) -> None:
    assert record_store.server_version(kind.address)[0].isdigit()
    with pytest.raises(SetupError, match="cannot be used"):
        record_store.server_version(replace(kind.address, port=1))


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_HEAD % 5 + b"<html", "it answers with something else than rows"),
        (_HEAD % 8 + b'["a"]\n1\n', "it answers with something else than rows"),
        (_HEAD % 12 + b'["a"]\n[1,2]\n', "it answers with rows of another form"),
        (_HEAD % 9 + b"[]", "the connection was lost (IncompleteRead)"),
        (_HEAD % 9000 + b"a" * 8000, "its answer has more than 0 MiB"),
        (_HEAD % 9000 + b"a", "it does not answer in time"),
    ],
)
def test_what_is_no_clickhouse_keeps_nobody_from_serving_and_fills_no_memory(
    kind: ClickhouseKind,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    answer: bytes,
    said: str,
) -> None:
    monkeypatch.setattr(connection, "_MOST_ANSWER_BYTES", 4000)
    monkeypatch.setattr(connection, "_GRACE_S", 0.2)
    monkeypatch.setattr(record_store, "_CHECK_S", 0.2)

    class Liar(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.request.sendall(answer)
            while answer.endswith(b"\na") and self.request.send(b"a"):  # a byte now and then, for ever
                if self.request in select.select([self.request], [], [], 0.05)[0]:
                    return

    with ThreadingTCPServer(("127.0.0.1", 0), Liar) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = replace(kind.address, port=server.server_address[1])
        record_store.ClickhouseStore(tmp_path, address, Retention()).check()
        server.shutdown()
    assert said in caplog.text
