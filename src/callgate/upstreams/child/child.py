"""A stdio server as a transport: one frame a line, and the sentence about its end.

Owns framing in both directions, what is kept of stderr, and the errors. Must not know JSON, requests or
restarts: every line goes to the receiver, which decides what is garbage. Counterpart: `process.py`,
which moves the bytes and ends the process.
"""

import os
import re
import signal
from collections import deque
from typing import Final

from callgate.model.error_codes import (
    UPSTREAM_BUSY,
    UPSTREAM_EXITED,
    UPSTREAM_TOO_LARGE,
    UPSTREAM_UNAVAILABLE,
)
from callgate.model.errors import CallerError, UpstreamError
from callgate.model.stderr_text import telling_line
from callgate.sandbox.confine import failure_of
from callgate.upstreams.child.command import ChildCommand, environment_of, launch_of, start_failure
from callgate.upstreams.child.process import ChildPatience, ChildProcess
from callgate.upstreams.child.slots import ChildSlots
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.hide_secrets import Hide, as_it_is
from callgate.upstreams.transport import OneStream, Receiver
from callgate.wire.framing.lines import MAX_FRAME_BYTES, LineSplitter, flat

# Frames sent in one turn of the loop leave in one write. Measured, 100 small frames a turn through `cat` and
# back: 900,000 a second instead of 250,000 (uvloop) and 200,000 (asyncio); one frame a turn costs the same
# either way. Past this size they leave at once, so that a full pipe is noticed inside a turn too.
_JOINED_BYTES: Final = 256 * 1024
_LF, _CR = b"\n\r"  # as numbers: a search for bytes takes many times as long

# A few lines say what went wrong; the whole tail is in `ChildTransport.stderr_tail`.
_HINT_LINES: Final = 5
_HINT_CHARS: Final = 600
# A Python or Node traceback with its message fits; a page shows it without scrolling for ever.
MAX_LINES: Final = 50
# A sentence, not a dump: some servers write whole requests on one line.
MAX_LINE_CHARS: Final = 500
# By the longest character of UTF-8, so that cutting bytes early never costs a shown character.
_MAX_LINE_BYTES: Final = MAX_LINE_CHARS * 4
_ANSI_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")


class ChildTransport(OneStream):
    def __init__(
        self,
        command: ChildCommand,
        receiver: Receiver | None,
        *,
        warden: Warden | None = None,
        patience: ChildPatience | None = None,
        slots: ChildSlots | None = None,
    ) -> None:
        """Without a receiver it is to be a spare: see `warm_up`. Without slots it has one already."""
        self._stderr = StderrTail(command.hide)
        self._process = process = ChildProcess(
            self.stdout_data, self._stderr.feed, self._gone, patience or ChildPatience(), warden
        )
        self.exited = process.exited  # what it said last may still be on its way
        # The pipe fills and the child waits. The chunk read already is still delivered.
        self.pause_reading, self.resume_reading = process.pause_reading, process.resume_reading
        super().__init__(self.pause_reading, self.resume_reading)
        self._command = command
        self._receiver = receiver
        self._slots = slots
        self._has_slot = False
        self._splitter = LineSplitter()
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._started = False
        self._is_warm = False
        self._early = b""  # what a spare said before it was taken
        self._silent = False  # the receiver hears nothing more: we close, or `lost` was said

    async def warm_up(self) -> None:
        """Start the process as a spare: not spoken to, and what it says waits. Raises as `start` does.

        Nothing is ended to make room for it.
        """
        if self._slots is not None:
            if not self._slots.take_free():
                raise UpstreamError(
                    UPSTREAM_BUSY, f"No further process can be started for {self._command.name}"
                )
            self._has_slot = True
        self.pause_reading()
        await self.start()
        self._is_warm = True

    def serve(self, receiver: Receiver) -> None:
        """The spare is taken; `start` is quick from here on."""
        self._receiver = receiver

    async def start(self) -> None:
        if self._is_warm and not self._silent:
            self._is_warm = False
            self.stdout_data(self._early)
            self._early = b""
            self.resume_reading()
            return
        if self._started or self._silent:
            raise UpstreamError(UPSTREAM_UNAVAILABLE, f"{self._command.name} was already started or closed")
        self._started = True
        if self._slots is not None and not self._has_slot:
            await self._slots.take()
            self._has_slot = True
            if self._silent:  # closed while it waited
                self._give_slot_back()
                raise UpstreamError(
                    UPSTREAM_UNAVAILABLE, f"{self._command.name} was closed before it started"
                )
        environment = environment_of(self._command, os.environ)
        try:
            await self._process.spawn(launch_of(self._command, environment))
        except (OSError, ValueError) as failure:
            self._give_slot_back()
            raise start_failure(self._command, failure, environment.get("PATH")) from failure
        except Exception:  # also of a bug: a place that is lost is lost to all servers
            self._give_slot_back()
            raise
        if self._process.is_closing:
            raise UpstreamError(UPSTREAM_UNAVAILABLE, f"{self._command.name} was closed while it started")

    def send(self, frame: bytes, *_: object) -> bool:
        if not self._process.takes_data:
            return False
        if not self._unsent:
            self._process.loop.call_soon(self._flush)
        if _LF in frame or _CR in frame:
            frame = flat(frame)
        self._unsent += (frame, b"\n")
        self._unsent_bytes += len(frame) + 1
        if self._unsent_bytes >= _JOINED_BYTES:
            self._flush()
        return True

    async def close(self) -> None:
        self._silent = True
        self._flush()
        await self._process.close()

    @property
    def stderr_tail(self) -> list[str]:
        return self._stderr.lines()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    # --- what the process reports

    def stdout_data(self, data: bytes) -> None:
        if self._silent:
            return
        receiver = self._receiver
        if receiver is None:  # a spare is paused, but uvloop may read a chunk before it is
            self._early += data
            return
        try:
            frames = self._splitter.feed(data)
        except CallerError:
            self._fail_too_large()
            return
        for frame in frames:
            receiver.received(frame, None)
            if self._silent:  # the receiver closed us over this frame
                return

    def _give_slot_back(self) -> None:
        if self._slots is not None and self._has_slot:
            self._has_slot = False
            self._slots.give_back()

    def _gone(self, returncode: int | None, stopped: bool) -> None:
        self._give_slot_back()
        if self._command.sandbox is not None:
            unconfined = failure_of(self._command.name, returncode, self.stderr_tail)
            if unconfined is not None:
                self._say_lost(unconfined)
                return
        if returncode is None:
            how = "could not be killed"
        elif stopped:
            how = "closed its stdin or stdout without ending, and was stopped"
        elif returncode < 0:
            how = f"was killed by {_signal_name(-returncode)}"
        else:
            how = f"exited with code {returncode}"
        self._say_lost(UpstreamError(UPSTREAM_EXITED, f"{self._command.name} {how}", hint=self._last_words()))

    def _fail_too_large(self) -> None:
        self._splitter = LineSplitter()  # lets go of what it held
        self._say_lost(
            UpstreamError(
                UPSTREAM_TOO_LARGE,
                f"{self._command.name} sent a message of more than {MAX_FRAME_BYTES} bytes and was stopped",
                hint="Ask for less at once: the messages after such a long one cannot be read.",
            )
        )
        self._process.kill()

    def _say_lost(self, error: UpstreamError) -> None:
        if not self._silent:
            self._silent = True
            if self._receiver is not None:
                self._receiver.lost(error)

    def _flush(self) -> None:
        if self._unsent:
            self._process.write(b"".join(self._unsent))
            self._unsent.clear()
            self._unsent_bytes = 0

    def _last_words(self) -> str:
        tail = self.stderr_tail
        text, telling = "\n".join(tail[-_HINT_LINES:]), telling_line(tail)
        text = text if len(text) <= _HINT_CHARS else f"…{text[-_HINT_CHARS:]}"
        return text if telling in text else f"{telling}\n{text}"


def _signal_name(signum: int) -> str:
    try:
        return signal.Signals(signum).name
    except ValueError:  # a real-time signal
        return f"signal {signum}"


class StderrTail:
    """What is kept of a child's stderr: a child may flood it for weeks, and this stays the same size.

    Work is done per chunk, and lines are decoded when somebody looks: a flood must not cost the loop.
    """

    def __init__(self, hide: Hide = as_it_is) -> None:
        self._lines: deque[bytes] = deque(maxlen=MAX_LINES)
        self._unfinished = b""
        self._hide = hide
        self._seen: list[str] | None = None  # as they are shown, until more comes: health asks each second

    def feed(self, data: bytes) -> None:
        # From the right: of a long chunk only its last lines matter, and the head is dropped in one piece.
        self._seen = None
        head, *lines = data.rsplit(b"\n", MAX_LINES + 1)
        if len(lines) <= MAX_LINES:
            self._unfinished += head[: _MAX_LINE_BYTES - len(self._unfinished)]
            if not lines:
                return
            lines.insert(0, self._unfinished)
        self._unfinished = lines.pop()[:_MAX_LINE_BYTES]
        self._lines.extend(line[:_MAX_LINE_BYTES] for line in lines if line.strip())

    @property
    def kept_bytes(self) -> int:
        return sum(map(len, self._lines)) + len(self._unfinished)

    def lines(self) -> list[str]:
        """Oldest first; an unfinished last line counts, since a crash often leaves one."""
        if self._seen is None:
            shown = [line for raw in (*self._lines, self._unfinished) if (line := self._shown(raw))]
            self._seen = [self._hide(line) for line in shown[-MAX_LINES:]]
        return list(self._seen)

    def _shown(self, raw: bytes) -> str:
        """Safe on a terminal and on a page: no colour codes, no control or direction-changing characters."""
        text = _ANSI_SEQUENCE.sub("", raw.decode(errors="replace"))
        printable = (c if c.isprintable() else " " if c.isspace() else "" for c in text)
        return "".join(printable).strip()[:MAX_LINE_CHARS]
