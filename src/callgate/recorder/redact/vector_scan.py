"""Vectorscan: many patterns at 0.2 ns a byte where RE2 needs 1.5, and only to say that there is nothing.

The only place that knows the library. Counterpart: `re2_patterns`, asked about whatever is found here.
"""

import logging
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import hyperscan

_log = logging.getLogger(__name__)

# Compiling costs 100 to 140 ms of CPU and 8 MB. RE2 takes as much longer for so many bytes (1.2 ns each where
# rows and small bodies are searched): most processes never get there.
WORTH_BYTES = 96 * 1024 * 1024
# RE2 is as soon done with what is shorter.
_SHORT_BYTES = 512
# What RE2 takes for a "k" or an "s" in a pattern of any case, and this library does not: U+212A and U+017F.
_ODD_LETTERS = rb"\xe2\x84\xaa|\xc5\xbf"


class VectorScan:
    """For any thread. Its working memory is for one scan at a time; a second caller does without."""

    def __init__(self, patterns: Sequence[str], worth_bytes: int = WORTH_BYTES) -> None:
        r"""`patterns`: in ASCII, and such as both libraries read alike (which leaves out `\s`)."""
        self._patterns = [*(pattern.encode("ascii") for pattern in patterns), _ODD_LETTERS]
        self._worth_bytes = worth_bytes
        self._seen_bytes = 0
        self._database: hyperscan.Database | None = None
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Compiles, once that is worth its price. On a thread that nobody waits for."""
        if self._seen_bytes < self._worth_bytes or self._database is not None:
            return
        self._worth_bytes = sys.maxsize  # should it fail, it is not tried again
        try:
            self._database = _compiled(self._patterns)
        except Exception as problem:  # noqa: BLE001 - something is wrong with the library
            kind = type(problem).__name__
            _log.warning("The search for secrets uses RE2, which is slower than Hyperscan: %s", kind)

    def finds_nothing(self, text: bytes) -> bool:
        """Whether it is certain that RE2 would find none of the patterns."""
        if len(text) < _SHORT_BYTES:
            return False
        if self._database is None:
            self._seen_bytes += len(text)
            return False
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._database.scan(text, match_event_handler=_stop)
        except Exception:  # noqa: BLE001 - it was stopped, or something is wrong with the library
            return False
        else:
            return True
        finally:
            self._lock.release()


def _compiled(patterns: Sequence[bytes]) -> "hyperscan.Database":
    import hyperscan  # here and not above, see `WORTH_BYTES`

    database = hyperscan.Database()
    # Each is told once: without that the library makes sure to find every place, and compiles twice as long.
    database.compile(
        expressions=patterns,
        ids=range(len(patterns)),
        elements=len(patterns),
        flags=hyperscan.HS_FLAG_SINGLEMATCH,
    )
    return database


def _stop(*_: object) -> bool:
    return True
