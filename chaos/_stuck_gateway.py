"""`callgate`, only that its store is stuck from SIGUSR1 on until SIGUSR2: what a hanging disk does to it."""

import signal
import sys
import threading

from callgate.cli.start import main
from callgate.recorder.flush.batch import Batch
from callgate.recorder.stores.duckdb.store import Store

_goes_on = threading.Event()
_goes_on.set()
_genuine = Store.write


def _write(self: Store, batch: Batch) -> None:
    _goes_on.wait()
    _genuine(self, batch)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, lambda *_: _goes_on.clear())
    signal.signal(signal.SIGUSR2, lambda *_: _goes_on.set())
    Store.write = _write
    sys.exit(main())
