"""A principal's own rows as a DuckDB file by themselves, for stores that are a database.

The SQL of agents does not change with the operator's store, and no agent ever reaches the shared one.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from callgate.model.errors import CallerError
from callgate.ports.record_queries import Excerpt
from callgate.recorder.read import excerpt_limits
from callgate.recorder.stores.duckdb.row_files import excerpt_of, wanted_by_all
from callgate.recorder.stores.duckdb.wanted_rows import Wanted

Dump = Callable[[Path, str, Wanted], Awaitable[int]]


class DumpedExcerpts:
    """Implements `ports.RecordExcerpts`."""

    def __init__(self, folder: Path, dump: Dump) -> None:
        """`folder`: where excerpts lie until whoever took one removes it. `dump`: writes a principal's rows
        that are wanted into a folder, and says how many events there was no room for."""
        self._folder = folder
        self._dump = dump

    async def take(self, principal: str, statements: Sequence[str]) -> Excerpt:
        wanted = wanted_by_all(statements)

        async def dumped(folder: Path) -> int:
            try:
                return await self._dump(folder, principal, wanted)
            except CallerError as problem:
                raise excerpt_limits.out_of_time() from problem

        return await excerpt_of(self._folder, wanted, dumped)


def has_calls(wanted: Wanted) -> bool:
    return bool(wanted.tables - {"sessions"})


def own_events(select: str, size: str, wanted: Wanted) -> str:
    """`select`: the ids of the newest events, at most {most} of them and {most_bytes} of their {size}."""
    most = excerpt_limits.MAX_EVENTS if has_calls(wanted) else 0
    if not wanted.bodies:
        return select.format(size="0", most=most, most_bytes=0)
    return select.format(size=size, most=most, most_bytes=excerpt_limits.MAX_BODY_BYTES)
