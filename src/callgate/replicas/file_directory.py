"""The directory of the workers of one machine: a SQLite file, and a locked file for each of them.

A worker holds a lock (flock) on a file of its name, which ends with the process. So nobody who lives is taken
for dead, and who is dead is known to be so at once, without waiting for a heartbeat. SQLite because two
workers must not both adopt a session, and because a write that `kill -9` cut off never happened. All work is
done on one thread: a worker that was stopped while it wrote must not stop the others' event loops.
"""

import asyncio
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from callgate.replicas.directory import Announcement, DirectoryAwayError, HomeRow, Member

_FILE = "directory.db"
_LOCK_SUFFIX = ".alive"
_LEAD = "lead"
_LIMIT_S = 2.0
_BUSY_S = 1.0  # how long one write waits for another
_TABLES = """
CREATE TABLE IF NOT EXISTS replicas (
    gateway TEXT PRIMARY KEY, said BLOB NOT NULL, started_at REAL NOT NULL, has_left INTEGER NOT NULL,
    report TEXT);
CREATE TABLE IF NOT EXISTS homes (
    key TEXT PRIMARY KEY, session_id TEXT NOT NULL, home TEXT NOT NULL, principal TEXT NOT NULL,
    envelope TEXT NOT NULL DEFAULT '', is_plain INTEGER NOT NULL DEFAULT 1,
    is_ended INTEGER NOT NULL DEFAULT 0, seen_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS homes_seen_at ON homes (seen_at);
CREATE TABLE IF NOT EXISTS leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL);
"""
_BEAT = """
INSERT INTO replicas (gateway, said, started_at, has_left) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (gateway) DO UPDATE SET said = excluded.said, has_left = excluded.has_left
"""
_PUT = """
INSERT INTO homes (key, session_id, home, principal, envelope, is_plain, is_ended, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (key) DO UPDATE SET is_plain = is_plain AND excluded.is_plain, seen_at = excluded.seen_at,
    is_ended = is_ended OR excluded.is_ended
WHERE home = excluded.home
"""
_CLAIM = """
INSERT INTO homes (key, session_id, home, principal, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at,
    session_id = CASE WHEN seen_at > ?6 THEN session_id ELSE excluded.session_id END,
    home = CASE WHEN seen_at > ?6 THEN home ELSE excluded.home END
"""
_HOME = "SELECT key, session_id, home, principal, envelope, is_plain, is_ended FROM homes WHERE key = ?"
_MOVE = "UPDATE homes SET home = ?3, seen_at = ?4 WHERE key = ?1 AND home = ?2 AND is_plain AND NOT is_ended"
_LEASE = """
INSERT INTO leases (name, holder, until) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE holder = excluded.holder OR until < ?4
"""
_TAKE = "INSERT OR REPLACE INTO leases (name, holder, until) VALUES (?, ?, 0)"
_HOLDER = "SELECT holder FROM leases WHERE name = ?"
_Found = TypeVar("_Found")


class FileDirectory:
    clock_offset_s: float | None = 0.0  # there is one clock

    def __init__(self, folder: Path, gateway: str) -> None:
        """Raises OSError. `gateway`: who we are, and are seen to be alive as."""
        self._folder = folder
        self._gateway = gateway
        self._lock: int | None = _locked(self._lock_of(gateway))
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(1, "workers' directory")

    async def beat(self, me: Announcement) -> Sequence[Member]:
        def work(found: sqlite3.Connection) -> Sequence[Member]:
            with found:
                found.execute(_BEAT, (me.gateway, msgspec.json.encode(me), time.time(), me.state == "left"))
            return self._members(found)

        return await self._run(work)

    async def members(self) -> Sequence[Member]:
        return await self._run(self._members)

    async def report(self, gateway: str, text: str) -> None:
        await self._run(_statement("UPDATE replicas SET report = ?2 WHERE gateway = ?1", gateway, text))

    async def reports(self) -> Mapping[str, str]:
        def work(found: sqlite3.Connection) -> Mapping[str, str]:
            living = {member.said.gateway for member in self._members(found) if member.said.state != "left"}
            rows = found.execute("SELECT gateway, report FROM replicas WHERE report IS NOT NULL")
            return {gateway: text for gateway, text in rows if gateway in living}

        return await self._run(work)

    async def put(self, rows: Sequence[HomeRow]) -> None:
        now = time.time()
        values = [
            (row.key, row.session_id, row.home, row.principal, row.envelope, row.is_plain, row.is_ended, now)
            for row in rows
        ]

        def work(found: sqlite3.Connection) -> None:
            with found:
                found.executemany(_PUT, values)

        await self._run(work)

    async def saw(self, keys: Collection[str]) -> Sequence[tuple[str, str]]:
        def work(found: sqlite3.Connection) -> Sequence[tuple[str, str]]:
            now = time.time()
            with found:
                found.executemany("UPDATE homes SET seen_at = ? WHERE key = ?", [(now, key) for key in keys])
                rows = [found.execute(_HOME, (key,)).fetchone() for key in keys]
            return [(row[0], row[2]) for row in rows if row is not None]

        return await self._run(work)

    async def claim(self, row: HomeRow, gap_s: float, limit_s: float) -> tuple[str, str]:
        def work(found: sqlite3.Connection) -> tuple[str, str]:
            now = time.time()
            with found:
                found.execute(_CLAIM, (row.key, row.session_id, row.home, row.principal, now, now - gap_s))
                claimed = found.execute(_HOME, (row.key,)).fetchone()
            return claimed[1], claimed[2]

        # A file answers. Where it takes long the machine is busy, and a second home would help nobody.
        return await self._run(work, max(limit_s, _LIMIT_S))

    async def home_of(self, key: str) -> HomeRow | None:
        return await self._run(lambda found: _home(found, key))

    async def move(self, key: str, gone: str, to: str) -> HomeRow | None:
        def work(found: sqlite3.Connection) -> HomeRow | None:
            with found:
                found.execute(_MOVE, (key, gone, to, time.time()))
                return _home(found, key)

        return await self._run(work)

    async def lease(self, name: str, holder: str, seconds: float) -> bool:
        def work(found: sqlite3.Connection) -> bool:
            now = time.time()
            with found:
                found.execute(_LEASE, (name, holder, now + seconds, now))
                return found.execute(_HOLDER, (name,)).fetchone()[0] == holder

        return await self._run(work)

    async def forget(self, older_than_s: float) -> None:
        def work(found: sqlite3.Connection) -> None:
            before = time.time() - older_than_s
            with found:
                found.execute("DELETE FROM homes WHERE seen_at < ?", (before,))
                found.execute("DELETE FROM replicas WHERE has_left AND started_at < ?", (before,))

        await self._run(work)

    async def close(self) -> None:
        """Whoever looks for us finds nobody from now on."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        self._thread.shutdown(wait=False)

    # ---- who has the store

    async def take_lead(self) -> None:
        """There is one worker of this number at a time, so nobody is asked."""
        await self._run(_statement(_TAKE, _LEAD, self._gateway))

    async def lead(self) -> str | None:
        def work(found: sqlite3.Connection) -> str | None:
            row = found.execute(_HOLDER, (_LEAD,)).fetchone()
            return None if row is None else str(row[0])

        return await self._run(work)

    # ---- the thread

    async def _run(self, work: Callable[[sqlite3.Connection], _Found], limit_s: float = _LIMIT_S) -> _Found:
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.get_running_loop().run_in_executor(self._thread, self._work, work)
        except TimeoutError as problem:
            raise DirectoryAwayError("it does not answer in time") from problem
        except (sqlite3.Error, OSError, RuntimeError) as problem:  # RuntimeError: it was closed
            raise DirectoryAwayError(str(problem)) from problem

    def _work(self, work: Callable[[sqlite3.Connection], _Found]) -> _Found:
        if self._connection is None:
            self._connection = _opened(self._folder / _FILE)
        return work(self._connection)

    def _members(self, found: sqlite3.Connection) -> Sequence[Member]:
        members: list[Member] = []
        rows: list[Any] = found.execute("SELECT said, started_at, has_left FROM replicas").fetchall()
        for raw, started_at, has_left in rows:
            said = msgspec.json.decode(raw, type=Announcement)
            if not has_left and said.gateway != self._gateway and not _is_locked(self._lock_of(said.gateway)):
                has_left = True
                with found:
                    found.execute("UPDATE replicas SET has_left = 1 WHERE gateway = ?", (said.gateway,))
                self._lock_of(said.gateway).unlink(missing_ok=True)
            members.append(Member(replace(said, state="left") if has_left else said, started_at, 0.0))
        return members

    def _lock_of(self, gateway: str) -> Path:
        return self._folder / f"{gateway}{_LOCK_SUFFIX}"

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            self._lock_of(self._gateway).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None


def prepare(folder: Path) -> None:
    """Before the first worker: the folder and its tables. What cannot be read is begun anew: it only costs
    sessions of before their way to us. Raises OSError and sqlite3.Error."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for left in (*folder.glob(f"*{_LOCK_SUFFIX}"), *folder.glob("*.new")):
        if not _is_locked(left):
            left.unlink(missing_ok=True)
    path = folder / _FILE
    try:
        _make(path)
    except sqlite3.DatabaseError:
        for name in (_FILE, f"{_FILE}-wal", f"{_FILE}-shm"):
            (folder / name).unlink(missing_ok=True)
        _make(path)


def _make(path: Path) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    with closing(_opened(path)) as found:
        found.executescript(_TABLES)


def _opened(path: Path) -> sqlite3.Connection:
    found = sqlite3.connect(path, timeout=_BUSY_S, check_same_thread=False)
    found.execute("PRAGMA journal_mode = WAL")
    found.execute("PRAGMA synchronous = NORMAL")  # whole after a power cut, perhaps without the last rows
    return found


def _locked(path: Path) -> int:
    """Locked before it can be seen: whoever looks finds a living one."""
    unseen = path.with_suffix(".new")
    fd = os.open(unseen, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        unseen.rename(path)
    except BaseException:
        os.close(fd)
        with suppress(OSError):
            unseen.unlink()
        raise
    return fd


def _is_locked(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared: two that look at the same time must not take each other for the living one.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)


def _home(found: sqlite3.Connection, key: str) -> HomeRow | None:
    row: Any = found.execute(_HOME, (key,)).fetchone()
    if row is None:
        return None
    key, session_id, home, principal, envelope, is_plain, is_ended = row
    return HomeRow(key, session_id, home, principal, envelope, bool(is_plain), bool(is_ended))


def _statement(sql: str, *values: str) -> Callable[[sqlite3.Connection], None]:
    def work(found: sqlite3.Connection) -> None:
        with found:
            found.execute(sql, values)

    return work
