"""`callgate`, counting the Python functions of ours that its event loop runs between two SIGUSR1.

The second one writes three numbers to the file `count` in the folder in which it was started: functions,
exchanges, and seconds.
"""

import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import callgate
from callgate.cli.start import main
from callgate.model.identity import new_exchange_id

SOURCE = str(Path(callgate.__file__).parent)
FILE = Path("count")


class Counter:
    def __init__(self) -> None:
        self._functions = self._exchanges = 0
        self._is_on = False
        self._begun_mono = 0.0

    def toggle(self, *_: Any) -> None:
        self._is_on = not self._is_on
        if self._is_on:
            self._functions = self._exchanges = 0
            self._begun_mono = time.monotonic()
            sys.setprofile(self._note)
            return
        sys.setprofile(None)
        fresh = FILE.with_suffix(".new")
        seconds = time.monotonic() - self._begun_mono
        fresh.write_text(f"{self._functions} {self._exchanges} {seconds}")
        fresh.rename(FILE)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE):
            self._functions += 1
            if code is new_exchange_id.__code__:
                self._exchanges += 1


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, Counter().toggle)
    main()
