"""Looking at other processes through /proc."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from waiting import until_now


def is_alive(pid: int) -> bool:
    """A zombie is dead: nobody but its parent can clear it away, and in a container that parent may not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def exists(pid: int) -> bool:
    """Zombies too: for our own children, which we must reap."""
    return Path(f"/proc/{pid}").exists()


def with_argument(text: str) -> set[int]:
    """Living processes that were started with this argument, whoever started them."""
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if text.encode() in path.read_bytes().split(b"\0"):
                found.add(int(path.parent.name))
    return set(filter(is_alive, found))


def open_pipes() -> int:
    """Ours to other processes, and what tells us of their end. Other files libuv opens for itself."""
    found = 0
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the one that listed the folder
            found += path.readlink().name.startswith(("pipe:", "anon_inode:[pidfd]"))
    return found


def wait_gone(pids: Iterable[int]) -> None:
    until_now(lambda: not any(map(is_alive, pids)))
