"""One process group and its three pipes, from spawn to reaping.

Owns signals, stages and the moment when all is over. Must not know frames, errors or the protocol: bytes go
to its owner, and `gone` is said once. Counterpart: `child.py`.

An end goes the same way whoever wants it; `_settle` cuts it short once process and pipes are gone:

    _end: stdin closed > stdin_wait_s > _terminate: SIGTERM > term_wait_s > kill: SIGKILL > drain_s > _cut

Signals go to the group, not the process: `npx`, `uv run` and `sh -c` put the real server one generation
below. That one gets its time after SIGTERM although the launcher above it dies at once. The process is reaped
last: as long as it is a zombie, its number, which is the group's, cannot come to belong to somebody else.

Not `loop.subprocess_exec`: uvloop (0.23) leaves copies of the child's own pipe ends open in the child, so
that a closed stdout goes unseen; it passes on every inheritable descriptor and cuts arguments at a NUL. Popen
closes and checks, is the same under both loops, and the warden knows of the child before anything else runs.
"""

import asyncio
import contextlib
import io
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, cast

from callgate.fair_reading import FairReading
from callgate.upstreams.child.command import Launch
from callgate.upstreams.child.warden import Warden, signal_group


@dataclass(frozen=True, slots=True)
class ChildPatience:
    # The end of stdin is how a server is told to go (2025-11-25, lifecycle, "Shutdown"). Most need
    # milliseconds; those that never look must not make our own shutdown feel stuck.
    stdin_wait_s: float = 1.0
    # To flush a file or leave a database. All stages together stay far inside the 10 s that Docker gives us.
    term_wait_s: float = 1.0
    # After the exit, for what is still in the pipes. Runs out only if a process left behind holds them.
    drain_s: float = 0.5
    # A burst of ten thousand calls of 400 bytes is normal and must not be called busy; a child that
    # never reads costs this much and no more.
    unsent_high_bytes: int = 4 * 1024 * 1024


OnData = Callable[[bytes], None]
# All it said was delivered: its return code (None: SIGKILL did not help), and whether our SIGTERM ended it.
OnGone = Callable[[int | None, bool], None]


class ChildProcess:
    """Callbacks and one timer, no task of its own: nothing is left to cancel or to await."""

    def __init__(
        self,
        stdout_data: OnData,
        stderr_data: OnData,
        gone: OnGone,
        patience: ChildPatience,
        warden: Warden | None,
    ) -> None:
        self._gone = gone
        self._patience = patience
        self._warden = warden
        self._process: subprocess.Popen[bytes] | None = None
        self._stdin = _Pipe(self._pipe_lost)
        self._stdout = _Pipe(self._pipe_lost, stdout_data)
        self.pause_reading, self.resume_reading = self._stdout.reading.pause, self._stdout.reading.resume
        self._stderr = _Pipe(self._settle, stderr_data)
        self._connected = False  # all three pipes, so that a stage may begin
        self.exited = asyncio.Event()  # of the process alone: its pipes may hold more
        self.is_closing = False
        self._ending = False  # one of the stages above is under way
        self._stopped = False
        self._stage: asyncio.TimerHandle | None = None
        self._over = asyncio.Event()
        self._over.set()

    async def spawn(self, launch: Launch) -> None:
        """Once. Raises what the system says: OSError, or ValueError for arguments that no program can get."""
        self.loop = asyncio.get_running_loop()  # kept: to ask for it is a system call, in Python 3.11
        if self._warden is not None:
            self._warden.start()
        # Blocks for the millisecond until the program runs, as asyncio's own way to spawn does.
        self._process = subprocess.Popen(  # noqa: S603, ASYNC220  what the operator wrote, without a shell
            launch.argv,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=launch.environment,
            cwd=launch.cwd,
            start_new_session=True,
        )
        if self._warden is not None:
            self._warden.watch(self._process.pid)
        self._over.clear()
        _watch_exit(self._process.pid, self.loop, self._process_exited)
        connecting = asyncio.ensure_future(self._connect(self._process))
        try:
            await asyncio.shield(connecting)  # a pipe half connected belongs to nobody
        except asyncio.CancelledError:
            self._begin_close()
            raise

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def takes_data(self) -> bool:
        return self._connected and not self._ending and not self._stdin.is_full

    def write(self, data: bytes) -> None:
        if (transport := self._stdin.transport) is not None and not self._ending:
            transport.write(data)

    async def close(self) -> None:
        self._begin_close()
        await self._over.wait()

    # --- what the event loop reports

    async def _connect(self, process: subprocess.Popen[bytes]) -> None:
        connect_out, connect_in = self.loop.connect_read_pipe, self.loop.connect_write_pipe
        try:
            await connect_in(lambda: self._stdin, self._hand_over(process.stdin, "wb"))
            assert self._stdin.transport is not None
            self._stdin.transport.set_write_buffer_limits(high=self._patience.unsent_high_bytes)
            await connect_out(lambda: self._stderr, self._hand_over(process.stderr, "rb"))
            await connect_out(lambda: self._stdout, self._hand_over(process.stdout, "rb"))
        except OSError:
            self.is_closing = True
            self.kill()
            raise
        finally:
            self._connected = True
        for pipe in (self._stdout, self._stderr):
            if pipe.transport is not None:  # only now: uvloop undoes a pause in `connection_made`
                pipe.reading.use(pipe.transport)
        if self.is_closing:  # it was closed while it started
            self._end()
        self._settle()

    def _hand_over(self, pipe: IO[bytes] | None, mode: str) -> io.FileIO:
        """The pipe as the loop is to own it.

        uvloop closes the number itself and then the file object: one that closes too would close the number
        twice, and the second time it may be a stranger's.
        """
        assert pipe is not None
        number = os.dup(pipe.fileno())
        pipe.close()
        loop_closes_it = type(self.loop).__module__.partition(".")[0] == "uvloop"
        return io.FileIO(number, mode, closefd=not loop_closes_it)

    def _process_exited(self) -> None:
        self.exited.set()
        self._ending = True
        self._drop_stdin()
        if not self.is_closing:
            self._next(self._patience.drain_s, self.kill)
        # else: we closed it, and what is left of the group has what is left of its time.
        self._settle()

    def _pipe_lost(self) -> None:
        self._end()  # deaf or dumb, it is of no use; mostly it is about to exit
        self._settle()

    def _settle(self) -> None:
        """Exited, and the pipes at their end: everything it said has been delivered."""
        pipes = (self._stdin.transport, self._stdout.transport, self._stderr.transport)
        if not self.exited.is_set() or not self._connected or pipes != (None, None, None):
            return
        if self._stage is not None:
            self._stage.cancel()
        assert self._process is not None
        signal_group(self._process.pid, signal.SIGKILL)  # who holds no pipe of ours was not noticed so far
        if self._warden is not None:
            self._warden.release(self._process.pid)
        returncode = self._process.wait()
        if not self._over.is_set():
            self._over.set()
            self._gone(returncode, self._stopped)

    # --- the stages of an end

    def _begin_close(self) -> None:
        self.is_closing = True
        self.resume_reading()  # a child that waits for us to read would not see the end of its stdin
        self._end()

    def _end(self) -> None:
        if self._ending or not self._connected:
            return
        self._ending = True
        self._stdin.close()
        self._next(self._patience.stdin_wait_s, self._terminate)

    def _terminate(self) -> None:
        assert self._process is not None
        self._stopped = True
        self._drop_stdin()
        signal_group(self._process.pid, signal.SIGTERM)
        self._next(self._patience.term_wait_s, self.kill)

    def kill(self) -> None:
        assert self._process is not None
        self._ending = True
        self._drop_stdin()
        signal_group(self._process.pid, signal.SIGKILL)
        self._next(self._patience.drain_s, self._cut)

    def _cut(self) -> None:
        """Whoever holds the pipes now left the group, or SIGKILL does not end the process (a dead disk)."""
        if self._stdout.reading.is_paused:  # or only the owner is behind: what is left in the pipe is its due
            self._next(self._patience.drain_s, self._cut)
            return
        self._stdout.close()
        self._stderr.close()
        if not self.exited.is_set():
            self._over.set()
            self._gone(None, True)

    def _next(self, after_s: float, stage: Callable[[], None]) -> None:
        if self._stage is not None:
            self._stage.cancel()
        self._stage = self.loop.call_later(after_s, stage)

    def _drop_stdin(self) -> None:
        transport = self._stdin.transport
        if transport is not None and transport.get_write_buffer_size():
            transport.abort()  # only then: after close, asyncio would report the end twice
        else:
            self._stdin.close()


class _Pipe(asyncio.Protocol):
    def __init__(self, lost: Callable[[], None], data: OnData = lambda data: None) -> None:
        self._lost = lost
        self.transport: asyncio.Transport | None = None  # for reading or for writing
        self.reading = FairReading(data)
        self.is_full = False

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.reading.received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.reading.flush()
        self.reading.end()
        self._lost()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False


def _watch_exit(pid: int, loop: asyncio.AbstractEventLoop, exited: Callable[[], None]) -> None:
    """Calls `exited` on the loop, once, and does not reap: asyncio's child watchers do, and are a thread each
    on Python 3.11. The process is our child, and nobody else reaps it."""
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
