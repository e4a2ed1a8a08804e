"""What a gateway and its storing process say to each other: messages, each with its length before it."""

import select
import socket
import struct
import threading
from datetime import date
from typing import Generic, TypeVar

import msgspec

from callgate.model.errors import SetupError, told_by_another
from callgate.ports.record_store import SqlDialect
from callgate.recorder.flush.foreign_rows import ForeignGroup

_LENGTH = struct.Struct(">I")
_READ_BYTES = 256 * 1024


# ---- the gateway's


class StoringSettings(msgspec.Struct, tag="settings", frozen=True):
    """What may change while we run."""

    keep_s: float
    max_size_bytes: int
    keep_bodies_s: float | None
    archived_days: frozenset[date] | None
    journal_max_bytes: int


class StorePlace(msgspec.Struct, frozen=True):
    dialect: SqlDialect
    address: msgspec.Raw  # of the type that the dialect's store has, with its password
    may_migrate: bool = True

    def __repr__(self) -> str:
        return f"StorePlace({self.dialect!r})"


class StoringSetup(msgspec.Struct, tag="setup", frozen=True):
    """The first message."""

    folder: str  # the record's
    own_writer: str
    place: StorePlace
    tells_others: bool  # rows of other processes get numbers of the gateway's live stream
    log_level: int
    variables: dict[str, str]  # of the environment; some are secrets, so they are not in the process's own
    settings: StoringSettings

    def __repr__(self) -> str:
        return f"StoringSetup({self.folder!r}, {self.place!r})"


class FlushNow(msgspec.Struct, tag="flush", frozen=True):
    """All that was journalled before. There is one at a time."""


class NumbersGiven(msgspec.Struct, tag="numbers", frozen=True):
    first: int
    has_listeners: bool


class EndStoring(msgspec.Struct, tag="end", frozen=True):
    """After a last round."""


Order = StoringSetup | StoringSettings | FlushNow | NumbersGiven | EndStoring


# ---- the storing process's


class ToldError(msgspec.Struct, frozen=True):
    code: str
    message: str
    hint: str

    def error(self) -> SetupError:
        error = told_by_another(self.code, self.message, self.hint)
        assert isinstance(error, SetupError)
        return error


class StoringProgress(msgspec.Struct, tag="progress", frozen=True):
    """When it changes, and now and then: it also says that the process lives."""

    lag_s: float
    waiting_bytes: int
    batches: int
    rows: int
    rounds: int
    error: ToldError | None
    since_s: float | None
    thread_problem: str | None


class FlushDone(msgspec.Struct, tag="flushed", frozen=True):
    error: ToldError | None


class LogLine(msgspec.Struct, tag="log", frozen=True):
    name: str
    level: int
    text: str


class NumbersWanted(msgspec.Struct, tag="wanted", frozen=True):
    count: int


class OthersStored(msgspec.Struct, tag="others", frozen=True):
    """After `NumbersWanted`: rows of other processes."""

    group: ForeignGroup | None


Report = StoringProgress | FlushDone | LogLine | NumbersWanted | OthersStored

_Heard = TypeVar("_Heard")


class MessagePipe(Generic[_Heard]):
    """One end. Read by one thread, written by any."""

    def __init__(self, end: socket.socket, decoder: msgspec.msgpack.Decoder[_Heard]) -> None:
        self._end = end
        self._decode = decoder.decode
        self._readable = select.poll()
        self._readable.register(end, select.POLLIN)
        self._lock = threading.Lock()  # of those that write
        self._rest = bytearray()

    def receive(self, timeout_s: float) -> list[_Heard] | None:
        """What came, nothing if nothing did; None: the other end is closed. Raises DecodeError."""
        if not self._readable.poll(timeout_s * 1000):
            return []
        try:
            data = self._end.recv(_READ_BYTES)
        except ConnectionError:
            return None
        if not data:
            return None
        self._rest += data
        found: list[_Heard] = []
        while len(self._rest) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._rest)[0]
            if len(self._rest) < end:
                break
            found.append(self._decode(self._rest[_LENGTH.size : end]))
            del self._rest[:end]
        return found

    def send(self, message: msgspec.Struct) -> None:
        """Waits for room. Raises OSError."""
        with self._lock:
            self._end.sendall(_framed(message))

    def send_at_once(self, message: msgspec.Struct) -> bool:
        """A short one. False: there is no room for it, since the other end does not read. Raises OSError."""
        framed = _framed(message)
        with self._lock:
            try:
                return self._end.send(framed, socket.MSG_DONTWAIT) == len(framed)
            except BlockingIOError:
                return False

    def close(self) -> None:
        self._end.close()


def _framed(message: msgspec.Struct) -> bytes:
    data = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(data)) + data
