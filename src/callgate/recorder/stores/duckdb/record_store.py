"""The record in DuckDB files; implements `ports.RecordStore`.

Which files there are and what is in them is `store`'s; here is when they are opened, and which of them go.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from callgate.model.errors import SetupError
from callgate.ports.record_store import StoreTraits
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.retention import Retention
from callgate.recorder.stores.duckdb.body_columns import load_arrow
from callgate.recorder.stores.duckdb.day_files import Day, remove_passing, today
from callgate.recorder.stores.duckdb.library import duckdb, is_loaded, load
from callgate.recorder.stores.duckdb.stats import EXACT_ROWS
from callgate.recorder.stores.duckdb.store import Store
from callgate.recorder.trouble import store_unopenable, store_unusable

_log = logging.getLogger(__name__)

TRAITS = StoreTraits(
    dialect="duckdb",
    is_shared=False,
    exact_total=None,
    exact_percentiles=EXACT_ROWS,
    percentile_error=0.1,
    text_reach_s=None,
    replaces_nul=False,
    # Large batches cost half of small ones, a round as such 8 ms, and nobody waits for one, since a read asks
    # for its own. What a crash leaves is 0.5 s of work for 10,000 events.
    flush_every_s=5.0,
    retry_s=(1.0, 1.0),
    keeps_segments_s=0.0,
    # Rows of other processes are told when they are stored.
    flush_watched_s=0.5,
)


class DuckdbStore:
    """`opened` is there for readers; everything else is the flush's."""

    traits = TRAITS

    def __init__(self, record_folder: Path, retention: Retention | None = None) -> None:
        self.folder = record_folder / "days"
        self._retention = retention or Retention()
        self._is_tidied = False
        self._has_other_writers = False
        # Whether somebody follows the live stream at this process, the only one that can tell it.
        self.has_listeners: Callable[[], bool] = lambda: False
        self.opened: Store | None = None

    @property
    def is_watched(self) -> bool:
        """Of our own rows alone the feed tells before the store has them."""
        return self._has_other_writers and self.has_listeners()

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        return (duckdb.Error,) if is_loaded() else ()

    @property
    def is_open(self) -> bool:
        return self.opened is not None

    def load(self) -> None:
        load()
        load_arrow()

    def open(self) -> None:
        if self.opened is not None:
            return
        day = today()
        if not self._is_tidied:  # once: later, a reader of ours may have such a file
            self._is_tidied = True
            remove_passing(self.folder)
        try:
            self.opened = Store(self.folder, day)
        except (duckdb.Error, OSError) as problem:
            raise store_unopenable(Day(self.folder, day).path, problem) from problem

    def close(self) -> None:
        store, self.opened = self.opened, None
        try:
            if store is not None:
                store.close()
        except duckdb.Error as problem:
            _log.error("%s", store_unusable(self.folder, problem).message)

    def trouble(self, problem: Exception) -> SetupError:
        return store_unusable(self.opened.path if self.opened is not None else self.folder, problem)

    def watermarks(self, segments: Sequence[str]) -> Mapping[str, int]:
        return self._store.watermarks()

    def write(self, batch: Batch) -> None:
        self._store.write(batch)

    def forget(self, segment: str) -> None:
        self._store.forget_watermark(segment)

    def sweep(self, living: Collection[str]) -> None:
        self._store.sweep(living)

    def note_living(self, writers: Collection[str]) -> None:
        """Whoever drains the folder knows who lives."""
        self._has_other_writers = len(writers) > 1

    def begin_round(self) -> None:
        self._store.turn_to(today())

    def tend(self) -> None:
        store = self._store
        if self._retention.is_too_large(store.days[0]):
            store.begin_part()
        for overdue in self._retention.overdue(store.days, today()):
            store.drop(overdue)
            _log.info("the record of %s was deleted, as [record] keep or max_size says", overdue.path.name)
        store.seal()
        store.give_back()

    @property
    def _store(self) -> Store:
        assert self.opened is not None
        return self.opened
