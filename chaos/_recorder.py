"""A gateway's recorder as a process: records numbered calls, and prints the number of each that was answered.

    python chaos/_recorder.py FOLDER FIRST_NUMBER CALLS_A_SECOND < dsn

A call is answered when it is journalled, as with `sync = "reply"`. SIGTERM ends it after its last flush.
"""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from _calls import a_call, a_session, open_recorder

from callgate.recorder.stores.postgres.connection import StoreAddress
from callgate.recorder.stores.postgres.record_store import PostgresStore

_EVERY_S = 0.01


async def _record(folder: Path, first: int, rate: float, dsn: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    store = PostgresStore(folder, StoreAddress(dsn, "the trial's database"))
    recorder = open_recorder(folder, store=store)
    session = a_session()
    begun, made = time.monotonic(), 0
    while not stop.is_set():
        due = int((time.monotonic() - begun) * rate)
        if due > made:
            for number in range(first + made, first + due):
                recorder.emit(a_call(session, number=number))
            written = recorder.written()
            assert written is not None
            await written
            os.write(1, b"".join(b"%d\n" % number for number in range(first + made, first + due)))
            made = due
        await asyncio.sleep(_EVERY_S)
    await recorder.close()
    store.end()


if __name__ == "__main__":
    asyncio.run(
        _record(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.stdin.readline().strip())
    )
