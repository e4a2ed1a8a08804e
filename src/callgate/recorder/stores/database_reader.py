"""What the readers of stores that are a database have in common; each implements `ports.RecordReader`.

A read has our own journal flushed first, so that a call that settled here is visible to every read at once.
What other processes recorded is seen when they flush it (`StoreTraits.flush_every_s`).
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from callgate.ports.record_reader import (
    Backlog,
    EventFilter,
    ExportFormat,
    FacetCounts,
    Order,
    RecordPage,
    SeenWrite,
    SourceRequest,
)
from callgate.recorder.read.facets import FacetQuery
from callgate.recorder.read.pages import Where
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.read.seen_writes import by_tool
from callgate.recorder.recorder import Recorder
from callgate.recorder.stores.duckdb.row_files import exported, passing_folder

_TEXT_SEARCH_S = 10.0
_FACETS_S = 10.0  # a list is read without its counts too


class DatabaseReader(ABC):
    _source_requests: str  # SQL for the newest calls of each source; $1: of this one only
    _session_ids: str  # SQL for the ids that begin or end with $1, $2 of them
    _find_writes: Callable[..., Any]  # writes_between(connection, since, until) of the store

    def __init__(self, recorder: Recorder, folder: Path) -> None:
        """`folder`: where files may lie that are gone when they were read."""
        self._recorder = recorder
        self._folder = folder

    @abstractmethod
    async def _table(
        self, wanted: Where, kind: ReadKind = ReadKind.PAGE, most_s: float | None = None
    ) -> Sequence[Sequence[Any]]: ...

    @abstractmethod
    def _facet_query(self, which: EventFilter) -> FacetQuery: ...

    @abstractmethod
    def _events(self, which: EventFilter, limit: int, cursor: str | None, order: Order) -> Any:
        """What `read` runs for one page."""

    @abstractmethod
    async def read(self, read: Any, kind: ReadKind = ReadKind.PAGE, most_s: float | None = None) -> Any:
        """With a connection of the store's kind; for the other readers of a store too."""

    @abstractmethod
    async def _dump(self, path: Path, which: EventFilter) -> None:
        """Whole rows as lines of JSON, oldest first."""

    async def source_requests(self, source_id: str | None) -> list[SourceRequest]:
        return [SourceRequest(*row) for row in await self._table(Where(self._source_requests, [source_id]))]

    async def session_ids(self, piece: str, limit: int) -> Sequence[str]:
        return await self._column(Where(self._session_ids, [piece, limit]))

    async def _column(self, wanted: Where) -> list[str]:
        return [row[0] for row in await self._table(wanted)]

    async def events(
        self, which: EventFilter, limit: int, cursor: str | None = None, order: Order = "newest"
    ) -> RecordPage:
        read = self._events(which, limit, cursor, order)
        if which.text is None:
            return await self.read(read)
        return await self.read(read, ReadKind.SCAN, _TEXT_SEARCH_S)

    async def facets(self, which: EventFilter) -> FacetCounts:
        query = self._facet_query(which)
        return query.counts(await self._table(query.asked, ReadKind.SCAN, _FACETS_S))

    async def seen_to_write(self, since: datetime) -> Sequence[SeenWrite]:
        until = datetime.now(UTC).replace(tzinfo=None)
        return by_tool(await self.read(partial(self._find_writes, since=since, until=until)))

    async def export(self, kind: ExportFormat, which: EventFilter) -> AsyncIterator[bytes]:
        async with passing_folder(self._folder) as folder:
            await self._dump(folder / "rows.jsonl", which)
            async for chunk in exported(folder, kind):
                yield chunk

    def problem(self) -> str | None:
        return self._recorder.problem()

    def backlog(self) -> Backlog:
        return self._recorder.backlog()
