"""What is wrong with the record at the moment, in words for the operator."""

import logging
from collections.abc import Callable
from pathlib import Path

import duckdb

from callgate.model.error_codes import SETUP_RECORD_ELSEWHERE, SETUP_STATE_FOLDER
from callgate.model.errors import SetupError

_log = logging.getLogger(__name__)

_KEPT = "until then calls are journalled, and none is lost"


class Trouble:
    """One thing that can be wrong: logged when it changes, not each time it is met."""

    def __init__(self) -> None:
        self.error: SetupError | None = None

    def note(self, error: SetupError | None, *, bug: Exception | None = None) -> None:
        """`bug`: where its traceback is of use. None as the error: all is well."""
        before, self.error = self.error, error
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


def journal_unwritable(folder: Path, problem: OSError) -> SetupError:
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


def store_unreadable(path: Path, problem: duckdb.Error) -> SetupError:
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
