"""The numbers by which a live stream reads on, over all gateways of a store. Who reads gives them.

A writer cannot: numbers that are taken before COMMIT become visible in another order than they were taken,
and a reader that saw the higher one would never come back for the lower one. So batches are stored without,
and a reader numbers those that it sees, one reader at a time. Only committed batches are seen, and numberings
follow one another, so no lower number ever appears later. A row's number is its batch's and its place in it.

Rules
1. Nobody reads: nothing is numbered.
2. A batch that nobody wanted to read for an hour stays without a number: the first reader after a long
   silence must not number all of the record.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from callgate.ports.record_reader import Row, UnknownSeqError
from callgate.postgres_connection import Connection
from callgate.recorder.read.read_limits import ReadKind
from callgate.recorder.stores.postgres import leases
from callgate.recorder.stores.postgres.events import NUMBERED
from callgate.recorder.stores.postgres.reads import PostgresReads
from callgate.recorder.stores.postgres.schema import NUMBERING_LOCK, SESSIONS, STORE

# More rows than a batch ever has (see flush.batch).
_PLACE_BITS = 16
_LAST_PLACE = (1 << _PLACE_BITS) - 1
_REACH_S = 3600
_AT_ONCE = 10_000
_DUE = f"""
SELECT batch FROM {STORE}.batches
WHERE number IS NULL AND stored_at > now() - make_interval(secs => {_REACH_S}) ORDER BY batch LIMIT {_AT_ONCE}
"""  # noqa: S608
_NUMBER = f"""
UPDATE {STORE}.batches AS b SET number = due.number
FROM (SELECT unnest($1::bigint[]) AS batch, nextval('{STORE}.batch_order') AS number) AS due
WHERE b.batch = due.batch
"""  # noqa: S608
_LAST = f"SELECT coalesce(max(number), 0) FROM {STORE}.batches"  # noqa: S608
_MOST_BATCHES = 256
_BATCHES = f"""
SELECT batch, number, stored_on, events FROM {STORE}.batches WHERE number >= $1 ORDER BY number
LIMIT {_MOST_BATCHES}
"""  # noqa: S608
_SESSIONS = SESSIONS.replace("GROUP BY", "WHERE session_id = ANY($1::text[]) GROUP BY")


@dataclass(frozen=True, slots=True)
class NumberedPage:
    rows: list[Row]
    reached: int  # where to go on
    has_more: bool


async def number_all(connection: Connection) -> None:
    """What is stored by now. Inside of the caller's transaction, as all of these."""
    # By itself: a statement sees what was committed when it began, and that must be after the lock is ours.
    await connection.execute(f"SELECT pg_advisory_xact_lock({NUMBERING_LOCK})")
    while await _number_some(connection) == _AT_ONCE:
        pass


async def number_if_free(connection: Connection) -> None:
    """Unless somebody else is at it: what it numbers is seen the next time."""
    if await connection.fetchval(f"SELECT pg_try_advisory_xact_lock({NUMBERING_LOCK})"):
        await _number_some(connection)


async def _number_some(connection: Connection) -> int:
    due = [row[0] for row in await connection.fetch(_DUE)]
    if due:
        await connection.execute(_NUMBER, due)
    return len(due)


async def last_seq(connection: Connection) -> int:
    """No row with a higher number was told, and none with a lower one will be."""
    return await connection.fetchval(_LAST) << _PLACE_BITS | _LAST_PLACE


async def page_after(connection: Connection, seq: int, limit: int) -> NumberedPage:
    number, place = seq >> _PLACE_BITS, seq & _LAST_PLACE
    found = await connection.fetch(_BATCHES, number + (place == _LAST_PLACE))
    wanted: list[Row] = []
    events = 0
    for batch in found:
        wanted.append(batch)
        events += batch["events"]
        if events >= limit:
            break
    if not wanted:
        return NumberedPage([], seq, has_more=False)
    batches, numbers, days = ([row[name] for row in wanted] for name in ("batch", "number", "stored_on"))
    rows = await connection.fetch(NUMBERED, batches, numbers, list(set(days)), number, place, limit)
    if len(rows) == limit:
        return NumberedPage([dict(row) for row in rows], rows[-1]["seq"], has_more=True)
    is_cut = len(wanted) < len(found) or len(found) == _MOST_BATCHES
    return NumberedPage([dict(row) for row in rows], numbers[-1] << _PLACE_BITS | _LAST_PLACE, is_cut)


class NumberedRows:
    """Settled rows of all gateways in one order; implements `shared_feed.StoredRows`."""

    def __init__(self, reads: PostgresReads) -> None:
        self._reads = reads

    async def end(self) -> int:
        async def read(connection: Connection) -> int:
            await leases.watch(connection)
            await number_all(connection)
            return await last_seq(connection)

        return await self._reads.run(read, ReadKind.LIVE, read_only=False)

    async def after(self, seq: int, limit: int) -> NumberedPage:
        """For who follows: writers flush sooner from now on, for a while. Raises UnknownSeqError, when a
        standby took over that lacks the last numbers."""

        async def read(connection: Connection) -> NumberedPage:
            await leases.watch(connection)
            await number_if_free(connection)
            page = await page_after(connection, seq, limit)
            if not page.rows and seq > await last_seq(connection):
                raise UnknownSeqError
            return page

        return await self._reads.run(read, ReadKind.LIVE, read_only=False)

    async def all_after(self, seq: int, limit: int) -> list[Row]:
        """For who comes back. Raises UnknownSeqError."""

        async def read(connection: Connection) -> list[Row]:
            await number_all(connection)
            if seq > await last_seq(connection):
                raise UnknownSeqError
            rows: list[Row] = []
            page = NumberedPage([], seq, has_more=True)
            while page.has_more and len(rows) < limit:
                page = await page_after(connection, page.reached, limit - len(rows))
                rows += page.rows
            return rows

        return await self._reads.run(read, ReadKind.PAGE, read_only=False)

    async def sessions(self, session_ids: Sequence[str]) -> list[Row]:
        async def read(connection: Connection) -> list[Row]:
            return [dict(row) for row in await connection.fetch(_SESSIONS, list(session_ids))]

        return await self._reads.run(read, ReadKind.LIVE)
