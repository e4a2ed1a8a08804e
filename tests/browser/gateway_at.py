"""`python gateway_at.py SECONDS ARGUMENT…`: callgate, its wall clock set so that it starts at that time.

For pictures that are the same whenever they are made. (Debian's faketime does not go together with Python's
own sleep.)
"""

import importlib
import sys
import time
from datetime import datetime, tzinfo
from typing import Any

# Those that ask `datetime` for the time, in what the page shows; the others ask `time`.
_MODULES = (
    "callgate.api.about_api",
    "callgate.api.recent_past",
    "callgate.api.record.stats_api",
    "callgate.recorder.stores.duckdb.reader",
)


class _MovedDatetime:
    """`datetime` in everything but the time."""

    def now(self, tz: tzinfo | None = None) -> datetime:
        return datetime.fromtimestamp(time.time(), tz)

    def __getattr__(self, name: str) -> Any:
        return getattr(datetime, name)


def main() -> None:
    real, moved_s = time.time, float(sys.argv.pop(1)) - time.time()
    time.time = lambda: real() + moved_s
    for name in _MODULES:
        vars(importlib.import_module(name))["datetime"] = _MovedDatetime()
    from callgate.cli.start import main as callgate

    callgate()


if __name__ == "__main__":
    main()
