"""The child process: one database, a thread for each job. Started by `engine_process` with `python -m`.

Rules
1. It reads orders from stdin and writes reports to stdout; at the end of stdin it is gone at once, whatever
   runs. So nothing is left behind when the gateway is killed.
2. Each job has a connection of its own, closed with the job: no variable, temporary table or open transaction
   outlives a call.
3. An idle child lets go of the file, because a program that wants to write to it must wait for its readers.
4. Its memory is limited by the kernel. RLIMIT_DATA and not RLIMIT_AS: the latter also counts address space
   that is only reserved (measured: 780 MB after opening an empty database, 60 MB of them in use).
"""

import os
import resource
import select
import sys
import threading
from contextlib import suppress
from pathlib import PurePath

import duckdb

from callgate.model.data_files import reader_of
from callgate.model.wording import clip
from callgate.sql.engines.duckdb.driver.check_file import MEMORY_PATH
from callgate.sql.engines.duckdb.driver.statement_run import TypeRefused, run_statement
from callgate.sql.engines.duckdb.frames import (
    OPENING,
    REFUSED,
    STOPPED,
    Attached,
    Done,
    Failed,
    Report,
    Run,
    Setup,
    StatementRows,
    Stop,
    Unframer,
    frame,
    read_order,
)

# Long enough for a conversation's next question, short enough for an import that waits.
_IDLE_S = 5.0
# An interrupt that comes before the statement has begun does nothing: it is repeated.
_INTERRUPT_EVERY_S = 0.02
_READ_BYTES = 65_536
_MOST_LINES, _MOST_LINE_CHARS = 40, 500  # of a message
# What all queries of a source share for sorting, joining and grouping; the limit of the process
# (`driver.DATA_BYTES`) leaves room for values, for Python and for DuckDB itself above it.
MEMORY_LIMIT = "768MiB"
# The gateway is a guest on its machine: one query must not take all cores of it.
_THREADS = 2
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    # No spilling: a query that does not fit the memory says so instead of filling the disk.
    "temp_directory": "",
    "memory_limit": MEMORY_LIMIT,
    "threads": _THREADS,
    # SELECT * FROM name must never find a Python variable of that name.
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
}


class _Job:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.is_stopped = threading.Event()
        self.is_over = threading.Event()
        self.connection: duckdb.DuckDBPyConnection | None = None

    def stop(self) -> None:
        """In a thread of its own, until the job is over."""
        self.is_stopped.set()
        while not self.is_over.wait(_INTERRUPT_EVERY_S):
            if self.connection is not None:
                with suppress(duckdb.Error):
                    self.connection.interrupt()


class _Child:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._lock = threading.Lock()  # over the database, the jobs and stdout
        self._database: duckdb.DuckDBPyConnection | None = None
        self._identity: tuple[int, int] | None = None
        self._attached = _AttachedFiles()
        self._jobs: dict[int, _Job] = {}

    def obey(self, order: Run | Stop) -> None:
        if isinstance(order, Stop):
            with self._lock:
                job = self._jobs.get(order.job_id)
            if job is not None:
                threading.Thread(target=job.stop, daemon=True).start()
            return
        job = _Job(order)
        with self._lock:
            self._jobs[order.job_id] = job
        threading.Thread(target=self._serve, args=(job,), daemon=True).start()

    def rest(self) -> None:
        """Nothing was said for a while."""
        with self._lock:
            if not self._jobs and self._setup.path != MEMORY_PATH:
                self._close_database()

    def _serve(self, job: _Job) -> None:
        report = self._report(job)
        job.is_over.set()
        with self._lock:
            del self._jobs[job.run.job_id]
            _say(report)

    def _report(self, job: _Job) -> Report:
        results: list[StatementRows] = []

        def failed(kind: str, message: str) -> Failed:
            # DuckDB may quote a whole line of a file, however long.
            told = "\n".join(clip(line, _MOST_LINE_CHARS) for line in message.split("\n", _MOST_LINES))
            return Failed(job.run.job_id, STOPPED if job.is_stopped.is_set() else kind, told, len(results))

        try:
            job.connection = self._connect(job.run)
        except (duckdb.Error, OSError, MemoryError) as error:
            return failed(OPENING, str(error))
        try:
            for order in job.run.statements:
                if job.is_stopped.is_set():
                    return failed(STOPPED, "")
                results.append(run_statement(job.connection, order, self._setup.statement_types))
        except TypeRefused as refused:
            return failed(REFUSED, str(refused))
        except MemoryError:
            return failed("OutOfMemoryException", "")
        except Exception as error:  # noqa: BLE001 - DuckDB's errors and Python's about values, all for the caller
            return failed(type(error).__name__, str(error))
        finally:
            job.is_over.set()
            with suppress(duckdb.Error):
                job.connection.close()
        return Done(job.run.job_id, tuple(results))

    def _connect(self, run: Run) -> duckdb.DuckDBPyConnection:
        with self._lock:
            # A file that was put in the old one's place is opened as soon as nobody reads the old one.
            if len(self._jobs) == 1 and identity_of(self._setup.path) != self._identity:
                self._close_database()
            if self._database is None:
                self._identity = identity_of(self._setup.path)
                setup = self._setup
                self._database = _open_database(setup.path, read_only=setup.read_only, folder=setup.folder)
            if run.attached is not None:
                self._attached.become(run.attached, self._database)
            return self._database.cursor()

    def _close_database(self) -> None:
        if self._database is not None:
            with suppress(duckdb.Error):
                self._database.close()
        self._database = None


def _say(report: Report) -> None:
    left = memoryview(frame(report))
    while left:
        left = left[os.write(sys.stdout.fileno(), left) :]


def _limit(setup: Setup) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (setup.data_bytes, setup.data_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if setup.read_only:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file can grow by a byte


def main() -> None:
    unframer = Unframer()
    child: _Child | None = None
    while True:
        ready, _, _ = select.select([0], [], [], _IDLE_S)
        if not ready:
            if child is not None:
                child.rest()
            continue
        data = os.read(0, _READ_BYTES)
        if not data:
            os._exit(0)  # not sys.exit: a statement that cannot be interrupted would keep us
        for body in unframer.feed(data):
            order = read_order(body)
            if isinstance(order, Setup):
                _limit(order)
                child = _Child(order)
            elif child is not None:
                child.obey(order)


class _AttachedFiles:
    """Several database files read as one, in the child process.

    What stays attached from job to job stays loaded: DuckDB takes 250 ms to find its way around a million
    rows that it sees for the first time. Only for a child that runs one job at a time: a file must not go
    while another job reads it.
    """

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._views: tuple[str, ...] = ()

    def become(self, wanted: Attached, database: duckdb.DuckDBPyConnection) -> None:
        """Raises duckdb.Error; what could be attached until then stays so."""
        for name in [name for name, path in self._files.items() if wanted.files.get(name) != path]:
            database.execute(f"DETACH {name}")
            del self._files[name]
        for name, path in wanted.files.items():
            if name not in self._files:
                spelled = path.replace("'", "''")
                database.execute(f"ATTACH '{spelled}' AS {name} (READ_ONLY)")
                self._files[name] = path
        if wanted.views != self._views:
            self._views = ()
            for statement in wanted.views:
                database.execute(statement)
            self._views = wanted.views


# Opening a DuckDB file so that the session itself holds the policy. In the child process only.
#
# With `lock_configuration` nothing that a caller says can loosen what is set here.
def _open_database(path: str, *, read_only: bool, folder: str = "") -> duckdb.DuckDBPyConnection:
    """`folder`: whose files may be attached; no other."""
    if (reader := reader_of(path)) is not None:
        return _open_data_file(path, reader)
    # DuckDB has no read-only database in memory: it would be empty for ever.
    database = duckdb.connect(path, read_only=read_only and path != MEMORY_PATH, config=dict(_SETTINGS))
    if folder:  # in this order: DuckDB takes it from an open database only, and before access is switched off
        spelled = folder.replace("'", "''")
        database.execute(f"SET allowed_directories = ['{spelled}/']")
    _shut(database)
    return database


def _open_data_file(path: str, reader: str) -> duckdb.DuckDBPyConnection:
    """A database in memory whose only view reads the file, by the name of the file without its suffix."""
    database = duckdb.connect(MEMORY_PATH, config=dict(_SETTINGS))
    spelled = path.replace("'", "''")
    name = PurePath(path).stem.replace('"', '""')
    try:
        database.execute(f"SET allowed_paths = ['{spelled}']")
        view = f"CREATE VIEW main.\"{name}\" AS SELECT * FROM {reader}('{spelled}')"  # noqa: S608 - both quoted
        database.execute(view)
        _shut(database)
    except BaseException:
        database.close()
        raise
    return database


def _shut(database: duckdb.DuckDBPyConnection) -> None:
    """From here on no file, network or extension is reached, but for what was allowed by name before."""
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")


def identity_of(path: str) -> tuple[int, int] | None:
    """Device and inode: a path may lead to another file tomorrow. None when there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - ":memory:" is no path
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


if __name__ == "__main__":
    main()
