"""`<state>/state.db`: what a gateway must still know after a restart, and what is no part of the record.

Owns the file, its tables and their version. Must not know what a secret is used for, nor how it is sealed,
nor what is accepted of a definition.

Rules
1. The file is for this user alone (0600), in a folder that nobody else may write to.
2. Workers and commands use it at the same time. Each operation opens the file, does one transaction and
   closes it: nothing is carried over a fork, and a killed process holds nothing.
3. Who finds an older version brings it up to date, one process at a time. A newer version is refused: what
   it holds may mean something else.
4. Reading makes no file. Where there is none, there are no rows.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callgate.config.private_folder import check_private_folder
from callgate.config.whole_file import alone_in
from callgate.model.error_codes import SETUP_STATE_DB, SETUP_STATE_NEWER
from callgate.model.errors import SetupError

STATE_DB = "state.db"
_BUSY_S = 10.0  # how long one transaction waits for another: each of them takes milliseconds
# Each entry brings the tables from the version of its position to the next. Entries are only ever appended.
_MIGRATIONS = (
    """
    CREATE TABLE secrets (name TEXT PRIMARY KEY, sealed BLOB NOT NULL, changed_at REAL NOT NULL) STRICT;
    CREATE TABLE definitions (
        server TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
        definition BLOB NOT NULL, seen_at REAL NOT NULL,
        PRIMARY KEY (server, kind, name, digest)) STRICT;
    """,
)
VERSION = len(_MIGRATIONS)
_SEAL_AWAY = """
INSERT INTO secrets (name, sealed, changed_at) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, changed_at = excluded.changed_at
"""
_PUT_DEFINITION = """
INSERT INTO definitions (server, kind, name, digest, definition, seen_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (server, kind, name, digest) DO UPDATE SET seen_at = excluded.seen_at
"""
_ELSEWHERE = "CALLGATE_STATE_DIR or [server] state_dir"


@dataclass(frozen=True, slots=True)
class SealedSecret:
    name: str
    sealed: bytes
    changed_at: float  # seconds since the epoch


@dataclass(frozen=True, slots=True)
class Definition:
    """What a server offered, as it wrote it: one row for each form of it that was seen."""

    server: str
    kind: str  # "tool", "prompt", "instructions"
    name: str
    digest: str
    definition: bytes
    seen_at: float = 0.0  # seconds since the epoch; set when it is written


class StateDb:
    """Every method raises SetupError: the file cannot be used, or is of a newer version."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the state folder. Nothing is opened yet."""
        self.path = folder / STATE_DB

    # ---- secrets

    def put_secret(self, name: str, sealed: bytes) -> None:
        self._write(_SEAL_AWAY, [(name, sealed, time.time())])

    def secret(self, name: str) -> SealedSecret | None:
        rows = self._read("SELECT name, sealed, changed_at FROM secrets WHERE name = ?", name)
        return SealedSecret(*rows[0]) if rows else None

    def secrets(self) -> Sequence[SealedSecret]:
        return [
            SealedSecret(*row)
            for row in self._read("SELECT name, sealed, changed_at FROM secrets ORDER BY name")
        ]

    def remove_secret(self, name: str) -> bool:
        """Whether there was one."""
        return self.path.exists() and self._write("DELETE FROM secrets WHERE name = ?", [(name,)]) > 0

    # ---- definitions

    def put_definitions(self, definitions: Iterable[Definition]) -> None:
        """One that is known gets a new `seen_at` only: the digest says that it is the same."""
        now = time.time()
        rows = [(one.server, one.kind, one.name, one.digest, one.definition, now) for one in definitions]
        if rows:
            self._write(_PUT_DEFINITION, rows)

    def definition(self, server: str, kind: str, name: str, digest: str) -> Definition | None:
        rows = self._read(
            "SELECT * FROM definitions WHERE server = ? AND kind = ? AND name = ? AND digest = ?",
            server,
            kind,
            name,
            digest,
        )
        return Definition(*rows[0]) if rows else None

    def definitions(self, server: str) -> Sequence[Definition]:
        """All of one server, the ones that were seen last first."""
        rows = self._read("SELECT * FROM definitions WHERE server = ? ORDER BY seen_at DESC", server)
        return [Definition(*row) for row in rows]

    def forget_definitions(self, server: str, keep: Iterable[str]) -> None:
        """Of one server, all but those with one of these digests."""
        kept = set(keep)
        gone = [(server, one.digest) for one in self.definitions(server) if one.digest not in kept]
        if gone:
            self._write("DELETE FROM definitions WHERE server = ? AND digest = ?", gone)

    # ---- the file

    def _read(self, sql: str, *values: Any) -> list[Any]:
        if not self.path.exists():
            return []
        with self._opened() as found:
            return found.execute(sql, values).fetchall()

    def _write(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> int:
        """How many rows there were."""
        with self._opened() as found:
            found.execute("BEGIN IMMEDIATE")
            changed = found.executemany(sql, rows).rowcount
            found.execute("COMMIT")
            return changed

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        try:
            self._check_folder()
            self._make()
            with closing(_connected(self.path)) as found:
                if (version := _version(found)) < VERSION:
                    self._migrate(found)
                elif version > VERSION:
                    raise self._newer(version)
                yield found
        except sqlite3.Error as problem:
            raise self._unusable(str(problem)) from problem
        except OSError as problem:
            raise self._unusable(problem.strerror or "it cannot be opened") from problem

    def _check_folder(self) -> None:
        check_private_folder(self.path.parent, "The state folder", _ELSEWHERE)
        if self.path.is_symlink():
            raise self._unusable("it is a symbolic link")

    def _make(self) -> None:
        # Never opened by ourselves once it exists: closing it would drop the locks that SQLite has on it.
        try:
            found = self.path.stat()
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            return
        if not stat.S_ISREG(found.st_mode):
            raise self._unusable("it is not a regular file")
        if found.st_mode & 0o077:
            self.path.chmod(0o600)

    def _migrate(self, found: sqlite3.Connection) -> None:
        with alone_in(self.path.parent):
            # Outside of a transaction, and alone: SQLite does not wait for others when it changes the mode.
            found.execute("PRAGMA journal_mode = WAL")
            found.execute("BEGIN IMMEDIATE")
            version = _version(found)
            if version > VERSION:
                raise self._newer(version)
            for step in _MIGRATIONS[version:]:
                for statement in filter(str.strip, step.split(";")):
                    found.execute(statement)
            found.execute(f"PRAGMA user_version = {VERSION}")
            found.execute("COMMIT")

    def _newer(self, version: int) -> SetupError:
        return SetupError(
            SETUP_STATE_NEWER,
            f"{self.path} was written by a newer Callgate (version {version} of the file, this one reads "
            f"up to {VERSION})",
            hint="Install that version again, restore a backup of before, or choose another state folder "
            f"with {_ELSEWHERE}",
        )

    def _unusable(self, why: str) -> SetupError:
        return SetupError(
            SETUP_STATE_DB,
            f"{self.path} cannot be used: {why}",
            hint="Restore it from a backup, or move it away: a new one is made, and secrets are set again "
            "with callgate secret set",
        )


def _connected(path: Path) -> sqlite3.Connection:
    found = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    found.execute("PRAGMA synchronous = FULL")  # a secret that was set is still there after a power cut
    found.execute("PRAGMA secure_delete = ON")  # what was removed is overwritten
    return found


def _version(found: sqlite3.Connection) -> int:
    return int(found.execute("PRAGMA user_version").fetchone()[0])
