"""A process that records calls at a steady rate and says which of them it answered, until it is killed.

python _victim.py FOLDER CALLS_A_SECOND
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from _calls import a_call, a_session, open_recorder

_EVERY_S = 0.005


async def main(folder: Path, rate: float) -> None:
    recorder = open_recorder(folder)
    session = a_session()
    loop = asyncio.get_running_loop()
    answering: set[asyncio.Task[None]] = set()

    async def call() -> None:
        event = a_call(session)
        recorder.emit(event)
        written = recorder.written()
        assert written is not None
        await written
        os.write(1, f"{event.exchange.exchange_id}\n".encode())  # the reply: what was said here must be kept

    os.write(1, b"ready\n")
    begun, made = time.monotonic(), 0
    while True:
        due = int((time.monotonic() - begun) * rate)
        for _ in range(due - made):
            task = loop.create_task(call())
            answering.add(task)
            task.add_done_callback(answering.discard)
        made = max(made, due)
        await asyncio.sleep(_EVERY_S)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2])))
