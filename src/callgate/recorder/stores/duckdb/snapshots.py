"""The record as files that another process may read; implements `ports.RecordSnapshots`.

Sealed files are read where they lie. Of the file that is written to (64 MiB at most, see `retention`) a copy
is made, in the store's thread, while nothing is written: 50 ms, and none on a file system that can share
blocks. If nothing was written since the last copy, that one is used again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from callgate.model.errors import SetupError
from callgate.ports.record_queries import RecordFiles
from callgate.recorder.recorder import Recorder
from callgate.recorder.stores.duckdb.day_files import remove_passing
from callgate.recorder.stores.duckdb.library import duckdb
from callgate.recorder.stores.duckdb.record_store import DuckdbStore
from callgate.recorder.stores.duckdb.store import Store
from callgate.recorder.trouble import record_elsewhere, store_uncopied


@dataclass(slots=True)
class _Snapshot:
    files: RecordFiles
    copies: list[Path]
    store: Store
    changes: int  # of the store, when it was taken
    holders: int

    def is_current_for(self, store: Store) -> bool:
        return self.store is store and self.changes == store.changes


class Snapshots:
    """Asked on one event loop; the copying is the store's thread's."""

    def __init__(self, recorder: Recorder, store: DuckdbStore) -> None:
        self._recorder = recorder
        self._store = store
        self._folder = store.folder
        self._lock = threading.Lock()  # over the number of holders, and which is the newest
        self._newest: _Snapshot | None = None
        self._is_closed = False

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[RecordFiles]:
        snapshot = await self._taken()
        try:
            yield snapshot.files
        finally:
            self._release(snapshot)

    def close(self) -> None:
        """What is still held goes with its holders."""
        self._is_closed = True
        self._replace_newest(None)

    async def _taken(self) -> _Snapshot:
        loop = asyncio.get_running_loop()
        taken: asyncio.Future[_Snapshot] = loop.create_future()

        def take(_: int, error: SetupError | None) -> None:
            """In the store's thread, once it is up to date; in ours, when the record is closed."""
            found = error if error is not None else self._take()
            loop.call_soon_threadsafe(self._hand_over, taken, found)

        self._recorder.flush(take)
        try:
            return await taken
        except asyncio.CancelledError:
            if taken.done() and not taken.cancelled() and taken.exception() is None:
                self._release(taken.result())
            raise

    def _take(self) -> _Snapshot | SetupError:
        """One more holder of it. Raises nothing: that would be the end of the store's thread."""
        store = self._store.opened
        if store is None:
            return record_elsewhere()
        with self._lock:
            newest = self._newest
            if newest is not None and newest.is_current_for(store):
                newest.holders += 1
                return newest
        try:
            paths = store.files_for_others()
        except (OSError, duckdb.Error) as problem:
            return store_uncopied(self._folder, problem)
        copies = [path for path in paths.values() if path not in {day.path for day in store.days}]
        whole = {name: path.resolve() for name, path in paths.items()}
        files = RecordFiles(self._folder.resolve(), whole, store.view_statements())
        snapshot = _Snapshot(files, copies, store, store.changes, holders=1)
        if not self._is_closed:
            self._replace_newest(snapshot)
        return snapshot

    def _hand_over(self, taken: asyncio.Future[_Snapshot], found: _Snapshot | SetupError) -> None:
        if isinstance(found, SetupError):
            if not taken.done():
                taken.set_exception(found)
        elif taken.done():  # nobody waits for it any more
            self._release(found)
        else:
            taken.set_result(found)

    def _replace_newest(self, newest: _Snapshot | None) -> None:
        with self._lock:
            before, self._newest = self._newest, newest
            if before is not None and not before.holders:
                self._remove(before)

    def _release(self, snapshot: _Snapshot) -> None:
        with self._lock:
            snapshot.holders -= 1
            if not snapshot.holders and snapshot is not self._newest:
                self._remove(snapshot)

    def _remove(self, snapshot: _Snapshot) -> None:
        for copy in snapshot.copies:
            remove_passing(self._folder, copy.name)
