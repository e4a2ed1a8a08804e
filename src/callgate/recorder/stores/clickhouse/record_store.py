"""The record in ClickHouse; implements `ports.RecordStore`.

Rules
1. A batch is one INSERT into one partition: all of it, with how far its segments are stored, or nothing.
2. Before it is sent, its bytes are kept on our own disk (`intents`). They go when its rows were counted.
3. After any doubt the rows are counted first. All there: nothing is sent. Else what is missing is sent, the
   same bytes under the same token: an attempt that is still on its way then counts as the same insert.
4. A token that the server knows drops what comes with it without a word. So rows are counted after an insert
   too, and sent under another token when they are not there.
"""

import logging
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import Path

from callgate.model.errors import SetupError
from callgate.ports.record_store import AlreadyStoredError, StoreTraits
from callgate.recorder.flush.batch import Batch
from callgate.recorder.flush.retention import Retention
from callgate.recorder.stores.clickhouse import upkeep
from callgate.recorder.stores.clickhouse.connection import (
    FAILURES,
    ClickhouseAddress,
    ClickhouseConnection,
    ClickhouseError,
    trouble_of,
)
from callgate.recorder.stores.clickhouse.insert_rows import INSERT, Insert, batch_name, insert_of, rows_of
from callgate.recorder.stores.clickhouse.intents import Intents
from callgate.recorder.stores.clickhouse.schema import RECORD, bring_up_to_date
from callgate.recorder.stores.clickhouse.sweep import lost_rows
from callgate.recorder.stores.database_store import DatabaseStore

_log = logging.getLogger(__name__)

TRAITS = StoreTraits(
    dialect="clickhouse",
    is_shared=True,
    exact_total=None,
    exact_percentiles=1_000_000,
    percentile_error=0.04,
    text_reach_s=86_400.0,
    replaces_nul=False,
    flush_every_s=2.0,
    retry_s=(0.2, 10.0),
    keeps_segments_s=600.0,
)
_STATEMENT_S = 30.0
_CHECK_S = 5.0  # nobody is served meanwhile; what is not made then is made later
_TEND_EVERY_S = 60.0
# One block, so that it is stored whole: whatever the server's own profile says of inserts.
_INSERT_SETTINGS: Mapping[str, object] = {
    "async_insert": 0,
    "insert_deduplicate": 1,
    "max_insert_block_size": 1_048_576,
    "min_insert_block_size_rows": 1_048_576,
    "min_insert_block_size_bytes": 1024**3,
    "input_format_parallel_parsing": 0,
    "input_format_skip_unknown_fields": 0,
    "date_time_input_format": "basic",
}
_MARKS = f"""
SELECT row_key AS segment, max(to_offset) AS reached FROM {RECORD}
WHERE row_kind = 'segment' AND row_key IN $1 GROUP BY row_key
"""  # noqa: S608
_PLACES = f"SELECT place FROM {RECORD} WHERE stored_on = $1 AND batch = $2"  # noqa: S608
_SWEEP = "sweep"  # the writer of what nobody else can say any more


class ClickhouseStore(DatabaseStore):
    traits = TRAITS
    is_watched = False  # each gateway tells its own calls, which its feed has before the store has
    failures = FAILURES

    def __init__(
        self, record_folder: Path, address: ClickhouseAddress, retention: Retention | None = None
    ) -> None:
        super().__init__(record_folder, retention)
        self.address = address
        self._intents = Intents(record_folder)
        self._connection: ClickhouseConnection | None = None
        self._today: date | None = None
        self._looked_mono = self._tended_mono = float("-inf")
        self._upkeep: threading.Thread | None = None
        self._bodies_kept_from: date | None = None

    def open(self) -> None:
        if self._connection is not None:
            return
        connection = ClickhouseConnection(self.address, _STATEMENT_S)
        try:
            bring_up_to_date(connection, self.address)
            self._connection = connection
        except FAILURES as problem:
            raise trouble_of(self.address, problem) from problem
        finally:
            if self._connection is None:
                connection.close()

    def check(self) -> None:
        """Raises SetupError for tables that this version cannot use. Of a server that is away it says
        nothing: the record is late then, and that is no reason not to serve. Blocks."""
        connection = ClickhouseConnection(self.address, _CHECK_S)
        try:
            bring_up_to_date(connection, self.address)
        except FAILURES as problem:
            _log.warning("%s", trouble_of(self.address, problem).message)
        finally:
            connection.close()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        self._looked_mono = float("-inf")
        if connection is not None:
            connection.close()

    def trouble(self, problem: Exception) -> SetupError:
        return trouble_of(self.address, problem)

    def watermarks(self, segments: Sequence[str]) -> Mapping[str, int]:
        rows = self._opened.fetch(_MARKS, [list(segments)]) if segments else []
        return {row["segment"]: row["reached"] for row in rows}

    def write(self, batch: Batch) -> None:
        writer = next(iter(batch.reached)).partition(".")[0]
        rows = rows_of(batch, writer, self._folder_id)
        name = batch_name(batch.reached, batch.began)
        with self._intents.locked():
            self._settle()
            stored = self.watermarks(list(batch.reached))
            if any(stored.get(segment, 0) > start for segment, start in batch.began.items()):
                raise AlreadyStoredError
            self._store(insert_of(name, writer, rows, self._stored_on))

    def forget(self, segment: str) -> None:
        """Its rows go with their day."""

    def sweep(self, living: Collection[str]) -> None:
        with self._intents.locked():
            self._settle()
            if rows := lost_rows(self._opened, self._folder_id, sorted(living)):
                self._store(insert_of(_SWEEP, _SWEEP, rows, self._stored_on))

    def note_living(self, writers: Collection[str]) -> None:
        """Whoever drains a folder knows who lives of it, and ends nothing of others."""

    def begin_round(self) -> None:
        """The server's day, which its clock says: those of the gateways may differ."""
        if time.monotonic() - self._looked_mono >= _TEND_EVERY_S:
            self._today = upkeep.today_of(self._opened)
            self._looked_mono = time.monotonic()

    def tend(self) -> None:
        """In the background, with a connection of its own: a mutation may take a while."""
        self._forget_stored()
        if time.monotonic() - self._tended_mono < _TEND_EVERY_S:
            return
        if self._upkeep is None or not self._upkeep.is_alive():
            self._tended_mono = time.monotonic()
            self._upkeep = threading.Thread(target=self._tended, name="record upkeep", daemon=True)
            self._upkeep.start()

    def tended(self) -> None:
        """Waits until the upkeep that began last is over."""
        if self._upkeep is not None:
            self._upkeep.join()

    @property
    def _opened(self) -> ClickhouseConnection:
        assert self._connection is not None
        return self._connection

    @property
    def _stored_on(self) -> date:
        self.begin_round()
        assert self._today is not None
        return self._today

    # ---- one insert, exactly once

    def _settle(self) -> None:
        """What this process or another was about to send."""
        for insert in self._intents.found():
            if missing := self._missing(insert):
                self._send(insert, missing)
            self._intents.drop(insert)

    def _forget_stored(self) -> None:
        """What an answer was missing for, and is there: nobody sends it again."""
        if not self._intents.are_there:
            return
        with self._intents.locked():
            for insert in self._intents.found():
                if not self._missing(insert):
                    self._intents.drop(insert)

    def _store(self, insert: Insert) -> None:
        self._intents.keep(insert)
        self._send(insert, range(insert.rows))
        self._intents.drop(insert)

    def _send(self, insert: Insert, places: Sequence[int]) -> None:
        """Until all of it is there. Raises FAILURES: then the intent says what is in doubt. Of what the
        server refused nothing is, and the rows are made anew the next time."""
        for attempt in ("", "again"):
            whole = len(places) == insert.rows
            body = insert.body if whole else insert.only(places)
            # Of some of the rows it is another insert, and of those that a known token dropped.
            token = ":".join(filter(None, (insert.batch, "" if whole else str(len(places)), attempt)))
            settings = {**_INSERT_SETTINGS, "insert_deduplication_token": token}
            try:
                self._opened.run(INSERT, body=body, **settings)
            except ClickhouseError:
                places = self._missing(insert)
                if len(places) == insert.rows:
                    self._intents.drop(insert)
                if places:
                    raise
                return
            if not (places := self._missing(insert)):
                return
            _log.warning(
                "ClickHouse took %d rows for a second copy and dropped them; they are sent again", len(places)
            )
        raise ClickhouseError(0, f"{len(places)} rows of a batch were taken, and are not there")

    def _missing(self, insert: Insert) -> Sequence[int]:
        rows = self._opened.fetch(_PLACES, [insert.stored_on, insert.batch])
        stored = {row["place"] for row in rows}
        return [place for place in range(insert.rows) if place not in stored]

    def _tended(self) -> None:
        connection = ClickhouseConnection(self.address, upkeep.LIMIT_S)
        try:
            self._bodies_kept_from = upkeep.tend(connection, self._retention, self._bodies_kept_from)
        except FAILURES as problem:
            _log.warning("the record's upkeep was put off: %s", trouble_of(self.address, problem).message)
        finally:
            connection.close()


def server_version(address: ClickhouseAddress) -> str:
    """Of a server that lets us in and has the database; changes nothing. Blocks. Raises SetupError."""
    connection = ClickhouseConnection(address, _CHECK_S)
    try:
        (found,) = connection.fetch("SELECT version() AS version")
    except FAILURES as problem:
        raise trouble_of(address, problem) from problem
    finally:
        connection.close()
    return str(found["version"])
