"""One process group and its three pipes, from spawn to reaping.

Owns signals, stages and the moment when all is over. Must not know frames, errors or the protocol: bytes go
to its owner, and `gone` is said once. Counterpart: `child.py`.

An end goes the same way whoever wants it; `connection_lost` cuts it short once process and pipes are gone:

    _end: stdin closed > stdin_wait_s > _terminate: SIGTERM > term_wait_s > kill: SIGKILL > drain_s > _cut

Signals go to the group, not the process: `npx`, `uv run` and `sh -c` put the real server one generation
below. That one gets its time after SIGTERM although the launcher above it dies at once.
"""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from callgate.upstreams.child_command import ChildCommand
from callgate.upstreams.warden import Warden, signal_group

_STDIN, _STDOUT, _STDERR = 0, 1, 2


@dataclass(frozen=True, slots=True)
class ChildPatience:
    # The end of stdin is how a server is told to go (2025-11-25, lifecycle, "Shutdown"). Most need
    # milliseconds; those that never look must not make our own shutdown feel stuck.
    stdin_wait_s: float = 1.0
    # To flush a file or leave a database. All stages together stay far inside the 10 s that Docker gives us.
    term_wait_s: float = 1.0
    # After the exit, for what is still in the pipes. Runs out only if somebody outside the group holds them.
    drain_s: float = 0.5
    # A burst of ten thousand calls of 400 bytes is normal (protocol.md, request tracking, rule 2) and must
    # not be called busy; a child that never reads costs this much and no more.
    unsent_high_bytes: int = 4 * 1024 * 1024


class ChildOwner(Protocol):
    def stdout_data(self, data: bytes) -> None: ...

    def stderr_data(self, data: bytes) -> None: ...

    def gone(self, returncode: int | None, stopped: bool) -> None:
        """All it said was delivered. `stopped`: by SIGTERM of ours. No `returncode`: SIGKILL did not help."""
        ...


class ChildProcess(asyncio.SubprocessProtocol):
    """Callbacks and one timer, no task of its own: nothing is left to cancel or to await."""

    def __init__(self, owner: ChildOwner, patience: ChildPatience, warden: Warden | None) -> None:
        self._owner = owner
        self._patience = patience
        self._warden = warden
        self._process: asyncio.SubprocessTransport | None = None
        self._group: int | None = None  # None before the start, and once nobody is left in it
        self._stdin: asyncio.WriteTransport | None = None
        self._stdout: asyncio.ReadTransport | None = None
        self._stdin_full = False
        self._reading_paused = False
        self._closing = False
        self._ending = False  # one of the stages above is under way
        self._stopped = False
        self._stage: asyncio.TimerHandle | None = None
        self._over = asyncio.Event()
        self._over.set()

    async def spawn(self, command: ChildCommand, environment: dict[str, str]) -> None:
        """Once. Raises what the system says: OSError, or ValueError for arguments that no program can get."""
        self._loop = asyncio.get_running_loop()
        if self._warden is not None:
            self._warden.start()
        self._over.clear()
        spawning = asyncio.ensure_future(
            self._loop.subprocess_exec(
                lambda: self,
                command.command,
                *command.args,
                env=environment,
                cwd=command.cwd,
                start_new_session=True,
            )
        )
        spawning.add_done_callback(self._spawned)
        try:
            # Shielded: after a cancelled spawn, asyncio and uvloop differ on whether we learn of the process.
            await asyncio.shield(spawning)
        except asyncio.CancelledError:
            self._begin_close()
            raise

    @property
    def pid(self) -> int | None:
        return self._process.get_pid() if self._process else None

    @property
    def is_closing(self) -> bool:
        return self._closing

    @property
    def takes_data(self) -> bool:
        return self._stdin is not None and not self._stdin_full and not self._ending

    def write(self, data: bytes) -> None:
        if self._stdin is not None and not self._ending:
            self._stdin.write(data)

    def pause_reading(self) -> None:
        if not self._reading_paused:
            self._reading_paused = True
            if self._stdout is not None and not self._stdout.is_closing():
                self._stdout.pause_reading()

    def resume_reading(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            if self._stdout is not None and not self._stdout.is_closing():
                self._stdout.resume_reading()

    def kill(self) -> None:
        self._ending = True
        self._drop_stdin()
        self._kill_group()
        self._next(self._patience.drain_s, self._cut)

    async def close(self) -> None:
        self._begin_close()
        await self._over.wait()

    # --- what the event loop reports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast(asyncio.SubprocessTransport, transport)
        self._group = self._process.get_pid()  # a new session: its leader's number is the group's
        if self._warden is not None:
            self._warden.watch(self._group)
        self._stdin = cast(asyncio.WriteTransport, self._process.get_pipe_transport(_STDIN))
        self._stdin.set_write_buffer_limits(high=self._patience.unsent_high_bytes)
        self._stdout = cast(asyncio.ReadTransport, self._process.get_pipe_transport(_STDOUT))
        if self._reading_paused:
            self._stdout.pause_reading()
        if self._closing:  # it was closed while it started
            self._end()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDOUT:
            self._owner.stdout_data(data)
        else:
            self._owner.stderr_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == _STDERR:
            return
        if fd == _STDIN:
            self._stdin = None
        else:
            self._stdout = None
        self._end()  # deaf or dumb, it is of no use; mostly it is about to exit

    def pause_writing(self) -> None:
        self._stdin_full = True

    def resume_writing(self) -> None:
        self._stdin_full = False

    def process_exited(self) -> None:
        self._ending = True
        self._drop_stdin()  # uvloop would notice at the next write only, and keep `connection_lost` back
        if self._group is not None and not signal_group(self._group, 0):
            self._forget_group()
        if self._group is None or not self._closing:
            self._next(self._patience.drain_s, self.kill)
        # else: we closed it, and what is left of the group has what is left of its time.

    def connection_lost(self, exc: Exception | None) -> None:
        """The process is reaped, and its pipes are at their end."""
        assert self._process is not None
        self._kill_group()
        if self._stage is not None:
            self._stage.cancel()
        self._process.close()
        if not self._over.is_set():
            self._over.set()
            self._owner.gone(self._process.get_returncode(), self._stopped)

    # --- the stages of an end

    def _begin_close(self) -> None:
        self._closing = True
        self.resume_reading()  # a child that waits for us to read would not see the end of its stdin
        self._end()

    def _end(self) -> None:
        if self._ending or self._process is None:
            return
        self._ending = True
        if self._stdin is not None:
            self._stdin.close()
        self._next(self._patience.stdin_wait_s, self._terminate)

    def _terminate(self) -> None:
        self._stopped = True
        self._drop_stdin()
        if self._group is not None:
            signal_group(self._group, signal.SIGTERM)
        self._next(self._patience.term_wait_s, self.kill)

    def _cut(self) -> None:
        """Whoever holds the pipes now left the group, or SIGKILL does not end the process (a dead disk)."""
        assert self._process is not None
        if self._reading_paused:  # or only the owner is behind: what is left in the pipe is its due
            self._next(self._patience.drain_s, self._cut)
            return
        self._process.close()
        if self._process.get_returncode() is None:
            self._over.set()
            self._owner.gone(None, stopped=True)

    def _next(self, after_s: float, stage: Callable[[], None]) -> None:
        if self._stage is not None:
            self._stage.cancel()
        self._stage = self._loop.call_later(after_s, stage)

    # --- what the stages are made of

    def _spawned(self, spawning: asyncio.Future[Any]) -> None:
        if spawning.cancelled() or spawning.exception() is not None:
            self._over.set()  # nothing runs, so there is nothing that `close` could wait for

    def _drop_stdin(self) -> None:
        if self._stdin is None:
            return
        if self._stdin.get_write_buffer_size():
            self._stdin.abort()  # only then: after close, asyncio would report the end twice and stumble
        else:
            self._stdin.close()

    def _kill_group(self) -> None:
        if self._group is not None:
            signal_group(self._group, signal.SIGKILL)
            if self._process is not None and self._process.get_returncode() is not None:
                self._forget_group()

    def _forget_group(self) -> None:
        """From here on the number may belong to somebody else: neither we nor the warden may signal it."""
        if self._group is not None and self._warden is not None:
            self._warden.release(self._group)
        self._group = None
