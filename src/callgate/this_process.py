"""What the kernel and the C library (glibc) are told of the process that we are, where they can be told."""

import ctypes
import signal
import sys
from contextlib import suppress

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4  # linux/prctl.h


def keep_memory_private() -> None:
    """A child of the same user may read `/proc/<parent>/environ` and attach to its parent, and so learn every
    token and password we were given. Linux denies both while a process is not dumpable, and writes no core
    file of it. Elsewhere only the account that a child runs as protects us."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def end_with_parent() -> None:
    """Killed when the thread that started us ends, whatever we do then: also while we are stopped."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def share_one_heap() -> None:
    """Before other threads begin: the C library gives each a heap of its own, and what those keep for later
    took 5 MB. Most of our memory is Python's and DuckDB's, which have allocators of their own."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def trim_heap() -> None:
    """Gives back what is kept for later."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).malloc_trim(0)
