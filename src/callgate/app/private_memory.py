"""Keeps what this process knows from the programs it starts.

A child of the same user may read `/proc/<parent>/environ` and attach to its parent, and so learn every token
and password we were given. Linux denies both while a process is not dumpable, and writes no core file of it.
"""

import ctypes
import sys

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def keep_memory_private() -> None:
    """Does nothing on systems without prctl: there only the account that a child runs as protects us."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
