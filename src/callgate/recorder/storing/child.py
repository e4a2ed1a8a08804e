"""The storing process, started by `keeper_process` with `python -m`.

Rules
1. Its only way in and out is a socket, its standard input. When the gateway's end is closed, it is gone at
   once, whatever runs. So nothing is left when the gateway is killed, and nobody holds the store's lock.
2. Signals for a whole group (a terminal's Ctrl-C, a service manager's SIGTERM) are the gateway's to heed: it
   was started with them blocked. Only the gateway ends it.
3. It imports what it needs to store, and nothing of a gateway.
"""

import gc
import logging
import os
import queue
import socket
import threading
from pathlib import Path
from typing import Never

import msgspec

from callgate.background import Background
from callgate.model.errors import SetupError
from callgate.ports.record_store import RecordStore
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.foreign_rows import ForeignGroup
from callgate.recorder.flush.keeper import Keeper
from callgate.recorder.flush.keeping import KeptJournals
from callgate.recorder.flush.retention import Retention
from callgate.recorder.journal.journal import JournalRoom
from callgate.recorder.storing.messages import (
    EndStoring,
    FlushDone,
    FlushNow,
    LogLine,
    MessagePipe,
    NumbersGiven,
    NumbersWanted,
    Order,
    OthersStored,
    StorePlace,
    StoringProgress,
    StoringSettings,
    StoringSetup,
    ToldError,
)
from callgate.this_process import end_with_parent, keep_memory_private, share_one_heap

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.25
_SIGN_OF_LIFE_LOOKS = 4  # a gateway hears of us once a second at least
_STDIN = 0


class _GatewayNumbers:
    """Implements `LiveNumbers` by asking the gateway. `take` waits for its answer."""

    def __init__(self, pipe: MessagePipe[Order]) -> None:
        self._pipe = pipe
        self.given: queue.SimpleQueue[NumbersGiven] = queue.SimpleQueue()

    def take(self, count: int) -> tuple[int, bool]:
        self._pipe.send(NumbersWanted(count))
        numbers = self.given.get()
        return numbers.first, numbers.has_listeners

    def tell(self, group: ForeignGroup | None) -> None:
        self._pipe.send(OthersStored(group))


class _ToGateway(logging.Handler):
    """Our log is the gateway's."""

    def __init__(self, pipe: MessagePipe[Order]) -> None:
        super().__init__()
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._pipe.send(LogLine(record.name, record.levelno, self.format(record)))
        except OSError:  # it is gone, and so are we
            self.handleError(record)


class _Storing:
    def __init__(self, pipe: MessagePipe[Order], setup: StoringSetup) -> None:
        self._pipe = pipe
        self._retention = Retention()
        self._room = JournalRoom(setup.settings.journal_max_bytes)
        self._use(setup.settings)
        self._numbers = _GatewayNumbers(pipe)
        self._background = Background()
        folder = Path(setup.folder)
        numbers = self._numbers if setup.tells_others else None
        kept = KeptJournals(folder, setup.own_writer, numbers, self._room)
        store = _store_of(folder, setup.place, self._retention)
        self._keeper = Keeper(kept, store, True, self._background, is_apart=True)
        self._last: StoringProgress | None = None
        self._looks = 0

    def run(self, orders: list[Order] | None) -> Never:
        """`orders`: that came with the setup."""
        while orders is not None:
            for order in orders:
                self._take(order)
            self._tell_progress()
            orders = self._pipe.receive(_LOOK_EVERY_S)
        os._exit(0)

    def _take(self, order: Order) -> None:
        match order:
            case FlushNow():
                self._keeper.flush(self._tell_flushed)
            case NumbersGiven():
                self._numbers.given.put(order)
            case StoringSettings():
                self._use(order)
            case EndStoring():
                threading.Thread(target=self._end, name="record end").start()
            case StoringSetup():
                raise AssertionError("the setup comes once")

    def _use(self, settings: StoringSettings) -> None:
        days = settings.archived_days
        retention = self._retention
        retention.keep_s, retention.max_size_bytes = settings.keep_s, settings.max_size_bytes
        retention.keep_bodies_s = settings.keep_bodies_s
        retention.archived_days = None if days is None else lambda: days
        self._room.max_bytes = settings.journal_max_bytes

    def _tell_flushed(self, error: SetupError | None) -> None:
        self._pipe.send(self._progress())
        self._pipe.send(FlushDone(_told(error)))

    def _tell_progress(self) -> None:
        progress = self._progress()
        self._looks += 1
        if self._looks >= _SIGN_OF_LIFE_LOOKS or self._last is None or _differ(progress, self._last):
            self._looks, self._last = 0, progress
            self._pipe.send(progress)

    def _progress(self) -> StoringProgress:
        told = self._keeper.progress()
        return StoringProgress(
            told.lag_s,
            told.journal_bytes,
            told.batches,
            told.rows,
            self._keeper.rounds,
            _told(self._keeper.error),
            self._keeper.since_s,
            next(iter(self._background.problems()), None),
        )

    def _end(self) -> None:
        try:
            self._keeper.close()
            self._pipe.send(self._progress())
        finally:
            os._exit(0)


def _differ(one: StoringProgress, other: StoringProgress) -> bool:
    return msgspec.structs.replace(one, lag_s=0.0) != msgspec.structs.replace(other, lag_s=0.0)


def _told(error: SetupError | None) -> ToldError | None:
    return None if error is None else ToldError(error.code.code, error.message, error.hint)


def _store_of(folder: Path, place: StorePlace, retention: Retention) -> RecordStore[Batch]:
    if place.dialect == "postgres":
        from callgate.recorder.stores.postgres.connection import StoreAddress
        from callgate.recorder.stores.postgres.record_store import PostgresStore

        address = msgspec.msgpack.decode(place.address, type=StoreAddress)
        return PostgresStore(folder, address, retention, place.may_migrate)
    from callgate.recorder.stores.clickhouse.connection import ClickhouseAddress
    from callgate.recorder.stores.clickhouse.record_store import ClickhouseStore

    return ClickhouseStore(folder, msgspec.msgpack.decode(place.address, type=ClickhouseAddress), retention)


def main() -> None:
    keep_memory_private()
    end_with_parent()
    share_one_heap()
    orders = msgspec.msgpack.Decoder[Order](Order)
    pipe = MessagePipe(socket.socket(fileno=_STDIN), orders)
    logging.basicConfig(handlers=[_ToGateway(pipe)], format="%(message)s")
    try:
        while (first := pipe.receive(1.0)) == []:
            pass
        if first is None:
            return
        setup, *rest = first
        assert isinstance(setup, StoringSetup)
        logging.getLogger().setLevel(setup.log_level)
        os.environ.update(setup.variables)
        storing = _Storing(pipe, setup)
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 20, 50)  # rows leave next to no cycles behind
        storing.run(rest)
    except Exception:  # noqa: BLE001 - whatever it is, the gateway's log has it
        _log.exception("The process that stores the record failed")
        os._exit(1)


if __name__ == "__main__":
    main()
