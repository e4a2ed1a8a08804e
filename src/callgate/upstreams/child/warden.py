"""No orphan survives us: a tiny process that outlives the gateway by a moment and kills what it left behind.

Owns that process and the list of living process groups. Must not know what the groups are. Counterpart:
`child.py`, which announces a group right after its spawn and withdraws it once the group is gone.

How it works: `/bin/sh` reads `+ <group>` and `- <group>` from a pipe whose other end only the gateway holds.
However the gateway ends (kill -9 and the OOM killer included), the kernel closes that end, the shell reads
end of file, kills the groups still on its list and exits. Left aside: PR_SET_PDEATHSIG needs code between
fork and exec (unsafe beside threads), reaches no grandchild, and fires when the *thread* that forked ends.
A server that reads its stdin sees its end too, but one that hangs does not read.

Not covered: a descendant that made a session of its own (setsid), as daemons do on purpose; and systems
without /bin/sh, where children run unguarded.
"""

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Final

_SHELL: Final = "/bin/sh"

# POSIX sh, built-ins only: nothing is forked. The list is a string, a space on either side of each number.
_SCRIPT: Final = """
trap '' HUP INT QUIT TERM PIPE
groups=' '
while read -r sign group; do
    case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in
       *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
       esac ;;
    esac
done
for group in $groups; do
    kill -s KILL -- "-$group"
done
"""


def signal_group(group: int, signum: int) -> None:
    """Nobody left in it is no failure, nor is somebody who has become another user (setuid)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signum)


class Warden:
    """One per gateway, shared by all its children; everything happens on the event loop's thread."""

    def __init__(self, shell: str = _SHELL) -> None:
        self._shell = shell
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe_fd = -1

    def start(self) -> None:
        """Idempotent. Called before a spawn, so that announcing the child afterwards is one write."""
        if self._process is not None or not Path(self._shell).exists():
            return
        # Close-on-exec by default (PEP 446), and it must stay so: a child holding the writing end would keep
        # the warden waiting after our death.
        read_fd, write_fd = os.pipe()
        os.set_blocking(write_fd, False)  # a warden somebody stopped must not stop the event loop
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own script, no input in it
                [self._shell, "-c", _SCRIPT],
                stdin=read_fd,
                stdout=subprocess.DEVNULL,  # not ours: `callgate | cat` must end when we end
                stderr=subprocess.DEVNULL,
                cwd="/",  # holds no folder busy
                env={},
                start_new_session=True,  # Ctrl-C reaches our whole process group, and it must outlive that
            )
        except OSError:  # no process to be had: children run unguarded, which beats not running
            os.close(write_fd)
            return
        finally:
            os.close(read_fd)
        self._pipe_fd = write_fd

    def watch(self, group: int) -> None:
        assert group > 1, "0 is our own group, and 1 would mean every process there is"
        self._groups.add(group)
        self._tell(f"+ {group}\n")

    def release(self, group: int) -> None:
        """The group is gone. Without this its number, once reused, would be killed with us."""
        self._groups.discard(group)
        self._tell(f"- {group}\n")

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def close(self) -> None:
        """Does at once what end of file would do, and ends the warden. Idempotent; `watch` starts again."""
        for group in self._groups:
            signal_group(group, signal.SIGKILL)
        self._groups.clear()
        self._stop()

    def _tell(self, line: str) -> None:
        if self._process is None:
            self._restart()
            return
        try:
            os.write(self._pipe_fd, line.encode())  # shorter than PIPE_BUF: whole or not at all
        except OSError:  # somebody killed or stopped the warden: another one learns all groups again
            self._stop()
            self._restart()

    def _restart(self) -> None:
        if not self._groups:
            return
        self.start()
        if self._process is not None:
            with contextlib.suppress(OSError):
                os.write(self._pipe_fd, "".join(f"+ {group}\n" for group in self._groups).encode())

    def _stop(self) -> None:
        """Killed, not asked: end of file makes it kill groups, and a fork of us may hold the pipe open."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        os.close(self._pipe_fd)
        self._process, self._pipe_fd = None, -1
