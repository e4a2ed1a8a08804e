"""How many reads of each kind run at once, and how long each may take: slow ones leave room."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum

from callgate.model.error_codes import CALLER_BAD_PARAMS, CALLER_TOO_MANY_READS
from callgate.model.errors import CallerError


@dataclass(frozen=True, slots=True)
class ReadLimits:
    at_once: int
    most_s: float


class ReadKind(Enum):
    PAGE = ReadLimits(6, 30.0)  # a list, a row: milliseconds, on a large record on a small machine seconds
    SCAN = ReadLimits(4, 30.0)  # looks at much of the record: a search for a text, sums, an agent's excerpt
    EXPORT = ReadLimits(2, 600.0)  # the whole of it, at the disk's pace
    LIVE = ReadLimits(1, 10.0)  # the live stream's, four a second: it waits for none of the others


PATIENCE_S = 10.0


def too_long(limit_s: float) -> CallerError:
    return CallerError(
        CALLER_BAD_PARAMS,
        f"The record could not be read within {limit_s:g} s",
        hint="Ask for a shorter period (since, until), or use fewer words",
    )


def too_many(kind: ReadKind, patience_s: float) -> CallerError:
    return CallerError(
        CALLER_TOO_MANY_READS,
        f"At most {kind.value.at_once} such reads of the record run at once, and this one did not "
        f"start within {patience_s:g} s",
        hint="Try again in a moment",
    )


class ReadTurns:
    """Of the reads of one event loop."""

    def __init__(self) -> None:
        self._turns = {kind: asyncio.Semaphore(kind.value.at_once) for kind in ReadKind}

    @asynccontextmanager
    async def of(self, kind: ReadKind) -> AsyncGenerator[None]:
        """Raises CallerError when none of its kind ends in time."""
        turns = self._turns[kind]
        try:
            async with asyncio.timeout(PATIENCE_S):
                await turns.acquire()
        except TimeoutError:
            raise too_many(kind, PATIENCE_S) from None
        try:
            yield
        finally:
            turns.release()
