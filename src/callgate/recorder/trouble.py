"""What is wrong with the record at the moment, in words for the operator."""

import errno
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from callgate.model.error_codes import (
    SETUP_RECORD_ELSEWHERE,
    SETUP_STATE_FOLDER,
    SETUP_STORE_UNREACHABLE,
)
from callgate.model.errors import SetupError

_log = logging.getLogger(__name__)

_KEPT = "until then calls are journalled, and none is lost"
TRIES_AGAIN = f"Callgate tries again; {_KEPT}"


class JournalFullError(OSError):
    """`[record] journal_max` is reached: the store has been away for too long."""

    def __init__(self) -> None:
        super().__init__(errno.EDQUOT, "the store is away, and the journal is full")


class Trouble:
    """One thing that can be wrong: logged when it changes, not each time it is met."""

    def __init__(self) -> None:
        self.error: SetupError | None = None
        self.since_s: float | None = None

    def note(self, error: SetupError | None, *, bug: Exception | None = None) -> None:
        """`bug`: where its traceback is of use. None as the error: all is well."""
        before, self.error = self.error, error
        if before is None or error is None:
            self.since_s = None if error is None else time.time()
        if error is not None and (before is None or before.message != error.message):
            _log.error("✗ %s", describe(error), exc_info=bug)
        elif error is None and before is not None:
            _log.warning("✓ No longer: %s", before.message)


def attempt(step: Callable[[], None], trouble: Trouble) -> None:
    """What goes wrong is kept as the trouble it is: nothing ends the recording for good."""
    try:
        step()
    except SetupError as error:
        trouble.note(error)
    except Exception as bug:  # noqa: BLE001 - see above
        trouble.note(unforeseen(bug), bug=bug)
    else:
        trouble.note(None)


def describe(error: SetupError) -> str:
    return f"{error.message}. {error.hint}" if error.hint else error.message


def waiting_text(since_s: float | None, waiting_bytes: int, max_bytes: int | None = None) -> str:
    """Of a store that is away: since when, how much waits, and how long there is room for more, if calls come
    as they came since then."""
    now_s = time.time()
    since = datetime.fromtimestamp(now_s if since_s is None else since_s, UTC)
    told = f"Since {since:%Y-%m-%d %H:%M:%S} UTC; {waiting_bytes / 1024**2:,.1f} MiB wait in the journal"
    if max_bytes is None:
        return told
    left_bytes = max(0, max_bytes - waiting_bytes)
    away_s = now_s - since.timestamp()
    if waiting_bytes == 0 or away_s < 1.0:
        return f"{told}, with room for {left_bytes / 1024**2:,.0f} MiB more"
    return f"{told}, with room for about {_rounded(left_bytes * away_s / waiting_bytes)} more"


def _rounded(duration_s: float) -> str:
    for unit_s, unit in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if duration_s >= 2 * unit_s:
            return f"{duration_s / unit_s:,.0f} {unit}"
    return f"{duration_s:,.0f} s"


def journal_unwritable(folder: Path, problem: OSError) -> SetupError:
    if isinstance(problem, JournalFullError):
        return SetupError(
            SETUP_STATE_FOLDER,
            f"The record cannot be written in {folder}: {problem.strerror}",
            hint="Bring the database of [record] store back, or raise [record] journal_max",
        )
    return SetupError(
        SETUP_STATE_FOLDER,
        f"The record cannot be written in {folder}: {problem.strerror}",
        hint="Make room there, or choose another place with [record] path or CALLGATE_STATE_DIR",
    )


def journal_unsynced(problem: OSError) -> SetupError:
    return SetupError(
        SETUP_STATE_FOLDER,
        f"The journal cannot be flushed to disk: {problem.strerror}",
        hint="Callgate tries again. Until it succeeds, a crash of the machine may lose the last calls",
    )


def store_unopenable(path: Path, problem: Exception) -> SetupError:
    if "Conflicting lock" in str(problem):  # DuckDB has no type for it
        hint = f"Close the program that has the file open; {_KEPT}"
    else:
        hint = f"If the file is damaged, move it and {path.name}.wal away, and a new one is created; {_KEPT}"
    return SetupError(
        SETUP_STATE_FOLDER, f"The record {path} cannot be opened: {_first_line(problem)}", hint=hint
    )


def store_unusable(path: Path, problem: Exception) -> SetupError:
    return SetupError(
        SETUP_STATE_FOLDER,
        f"The record {path} cannot be brought up to date: {_first_line(problem)}",
        hint=f"Callgate tries again. If the file is damaged, move it and {path.name}.wal away; {_KEPT}",
    )


def store_unreadable(path: Path, problem: Exception) -> SetupError:
    return SetupError(
        SETUP_STATE_FOLDER,
        f"The record {path} cannot be read: {_first_line(problem)}",
        hint=f"If the file is damaged, move it and {path.name}.wal away, and a new one is created",
    )


def store_uncopied(folder: Path, problem: Exception) -> SetupError:
    return SetupError(
        SETUP_STATE_FOLDER,
        f"No copy of the record can be made in {folder}: {_first_line(problem)}",
        hint="SQL over the record reads a copy of its newest file, 64 MiB at most: make room there",
    )


def storing_unstartable(problem: OSError) -> SetupError:
    return SetupError(
        SETUP_STORE_UNREACHABLE,
        f"The process that stores the record cannot be started: {_first_line(problem)}",
        hint=f"Give the gateway more processes, open files or memory. {TRIES_AGAIN}",
    )


def storing_ended(pid: int, status: int) -> SetupError:
    how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
    return SetupError(
        SETUP_STORE_UNREACHABLE,
        f"The process that stores the record (pid {pid}) {how}",
        hint="Look at the gateway's log, and whether the machine has too little memory. Restart the gateway"
        f" if Callgate was upgraded while it runs. It starts another process by itself; {_KEPT}",
    )


def storing_silent(pid: int) -> SetupError:
    return SetupError(
        SETUP_STORE_UNREACHABLE,
        f"The process that stores the record (pid {pid}) does not answer",
        hint="Look whether it was stopped, or the machine has too much to do. After two minutes Callgate ends"
        f" it and starts another; {_KEPT}",
    )


def record_elsewhere() -> SetupError:
    return SetupError(
        SETUP_RECORD_ELSEWHERE,
        "Another process holds the record's store",
        hint="Ask the gateway that was started first on this state folder",
    )


def record_closed() -> SetupError:
    return SetupError(SETUP_STATE_FOLDER, "The record is closed: the gateway is stopping")


def unforeseen(problem: Exception) -> SetupError:
    return SetupError(
        SETUP_STATE_FOLDER,
        f"The record cannot be kept: {type(problem).__name__}: {_first_line(problem)}",
        hint="This is a fault of Callgate: please report it with the log",
    )


def _first_line(problem: Exception) -> str:
    """DuckDB adds advice, statements and stack traces below it."""
    text = problem.strerror if isinstance(problem, OSError) else str(problem)
    return (text or type(problem).__name__).partition("\n")[0][:300]
