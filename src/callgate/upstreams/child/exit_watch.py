"""Learning that a child has exited, without reaping it.

Owns the descriptor or thread that waits. Not asyncio's child watchers: they reap at once, and on Python 3.11
they are a thread for each child.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable


def watch_exit(pid: int, loop: asyncio.AbstractEventLoop, exited: Callable[[], None]) -> None:
    """Calls `exited` on the loop, once. The process is our child, and nobody else reaps it."""
    try:
        pidfd = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or a sandbox that does not know the call
        threading.Thread(target=_wait, args=(pid, loop, exited), name=f"exit-{pid}", daemon=True).start()
        return

    def readable() -> None:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        exited()

    loop.add_reader(pidfd, readable)


def _wait(pid: int, loop: asyncio.AbstractEventLoop, exited: Callable[[], None]) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody asks any more
        loop.call_soon_threadsafe(exited)
