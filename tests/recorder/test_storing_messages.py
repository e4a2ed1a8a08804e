"""A storing process: what its gateway and it say to each other, when it is started again, what it imports."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import msgspec
import pytest

from callgate.recorder.flush.foreign_rows import ForeignGroup
from callgate.recorder.rows import EventRow
from callgate.recorder.storing.keeper_process import pause_s
from callgate.recorder.storing.messages import (
    FlushNow,
    LogLine,
    MessagePipe,
    OthersStored,
    Report,
    StorePlace,
    StoringSettings,
    StoringSetup,
)

_PATIENCE_S = 60.0  # only against a hang


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def reports(end: socket.socket) -> MessagePipe[Report]:
    return MessagePipe(end, msgspec.msgpack.Decoder[Report](Report))


def test_messages_come_whole_and_in_order_whatever_pieces_they_come_in(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    body = b"x" * 3_000_000  # more than a socket takes at once
    row = EventRow("e-1", 1, "s-1", "tools/call", "probe", seq=7, request_json=body)
    sent = [LogLine("a", 20, "one"), OthersStored(ForeignGroup(events=[row])), LogLine("a", 20, "two")]
    sender = threading.Thread(target=lambda: [reports(ends[0]).send(message) for message in sent])
    sender.start()
    pipe, found = reports(ends[1]), list[Report]()
    while len(found) < len(sent):
        came = pipe.receive(_PATIENCE_S)
        assert came is not None
        found += came
    sender.join()
    assert found == sent
    assert pipe.receive(0.0) == []
    ends[0].close()
    assert pipe.receive(_PATIENCE_S) is None


def test_who_does_not_read_is_not_waited_for(ends: tuple[socket.socket, socket.socket]) -> None:
    pipe = reports(ends[0])
    sent = 0
    while pipe.send_at_once(FlushNow()):
        sent += 1
        assert sent < 1_000_000
    assert sent > 0


def test_an_address_is_not_shown() -> None:
    place = StorePlace("postgres", msgspec.Raw(b"pass-word"))
    settings = StoringSettings(1.0, 1, None, None, 1)
    setup = StoringSetup("folder", "writer", place, False, 20, {"PGPASSWORD": "pass-word"}, settings)
    assert "pass-word" not in repr(setup) + repr(place)


def test_pauses_between_starts_become_longer_and_stay_so_for_ever() -> None:
    pauses = [pause_s(failures) for failures in range(20)]
    assert pauses == sorted(pauses)
    assert pauses[0] < 1.0
    assert pause_s(100_000) == pauses[-1] == 15.0


@pytest.mark.parametrize("store", ["postgres", "clickhouse"])
def test_the_process_imports_nothing_of_a_gateway(store: str) -> None:
    modules = f"callgate.recorder.storing.child, callgate.recorder.stores.{store}.record_store"
    program = f"import sys, {modules}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in ran.stdout.split() if name.startswith("callgate.")}
    assert rooms == {
        "background", "config", "model", "ports", "recorder", "this_process",
        *(["postgres_connection"] if store == "postgres" else []),
    }  # fmt: skip
    heavy = {"duckdb", "re2", "hyperscan", "pydantic", "starlette", "sqlglot", "uvloop", "cryptography"}
    assert not heavy & set(ran.stdout.split())
