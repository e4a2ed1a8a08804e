"""Puts closed days of the record into an archive, and reads them back.

Rules
1. The manifest is written last: a day without one is not there. One that is to be written again loses its
   manifest first.
2. A day is archived once its manifest was read back, names the rows that the store still has, and every file
   has the size that it says.
3. One process at a time archives a record (`ArchiveSource.alone`); others only look.
4. A folder holds the archive of one record.
"""

import asyncio
import logging
import shutil
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path

import callgate
from callgate.model.error_codes import SETUP_ARCHIVE
from callgate.model.errors import SetupError
from callgate.recorder.archive.manifest import MANIFEST, Manifest, decoded, encoded, folder_of
from callgate.recorder.archive.object_folder import ObjectFolder
from callgate.recorder.archive.parquet_day import write_parquet
from callgate.recorder.days.record_days import ArchiveSource, DayCounts

_log = logging.getLogger(__name__)


class DayState(StrEnum):
    ARCHIVED = "archived"  # just now
    THERE = "there"
    ELSEWHERE = "another process archives it"


@dataclass(frozen=True, slots=True)
class ArchivedDay:
    day: date
    state: DayState
    manifest: Manifest | None  # None: it is not there yet


@dataclass(frozen=True, slots=True)
class CheckedDay:
    day: str
    files: int
    problems: list[str]


class Archive:
    def __init__(self, folder: ObjectFolder, passing: Path) -> None:
        """`passing`: where files may lie until they are in the archive."""
        self._folder = folder
        self._passing = passing

    async def find(self, source: ArchiveSource, day: date) -> Manifest | None:
        """None: it is not there, or not as the store has it. Raises SetupError."""
        return await self._find(source.source_id, day, await source.counts(day))

    async def check(self) -> list[CheckedDay]:
        """Every byte, read back. Raises SetupError."""
        folders = await self._folder.folders()
        return [await self._checked(name) for name in folders if name.startswith("day=")]

    async def add(self, source: ArchiveSource, day: date) -> ArchivedDay:
        """A closed one. Raises SetupError."""
        if (found := await self.find(source, day)) is not None:
            return ArchivedDay(day, DayState.THERE, found)
        async with source.alone() as is_alone:
            if not is_alone:
                return ArchivedDay(day, DayState.ELSEWHERE, None)
            await self._put(source, day)
        if (found := await self.find(source, day)) is None:
            raise SetupError(
                SETUP_ARCHIVE,
                f"The archive {self._folder.address} does not have what was just written ({day})",
                hint="Callgate tries again. Check that nothing else writes to this place",
            )
        _log.info("the record of %s is archived, with %d calls", day, found.counts.events)
        return ArchivedDay(day, DayState.ARCHIVED, found)

    async def _put(self, source: ArchiveSource, day: date) -> None:
        made = self._passing / f"archive-{uuid.uuid4().hex}.part"
        await asyncio.to_thread(_make_folders, made)
        try:
            counts = await source.counts(day)
            async with source.day_files(day, made / "rows") as paths:
                files = await write_parquet(paths, made / "parquet")
            told = [file.told for file in files]
            now = datetime.now(UTC)
            manifest = Manifest(day, source.source_id, counts, told, now, callgate.__version__)
            place = folder_of(day)
            await self._folder.delete(f"{place}/{MANIFEST}")
            for file in files:
                await self._folder.put(f"{place}/{file.told.name}", file.path)
            await self._folder.put(f"{place}/{MANIFEST}", encoded(manifest))
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, made, ignore_errors=True))

    async def _find(self, source_id: str, day: date, counts: DayCounts) -> Manifest | None:
        raw = await self._folder.get(f"{folder_of(day)}/{MANIFEST}")
        if raw is None:
            return None
        try:
            manifest = decoded(raw)
        except ValueError:
            return None
        if manifest.source != source_id:
            raise SetupError(
                SETUP_ARCHIVE,
                f"The archive {self._folder.address} holds the days of another record",
                hint="Give each record a prefix of its own in [record] archive",
            )
        sizes = [await self._folder.size_of(f"{folder_of(day)}/{file.name}") for file in manifest.files]
        is_whole = sizes == [file.size_bytes for file in manifest.files]
        return manifest if manifest.day == day and manifest.counts == counts and is_whole else None

    async def _checked(self, place: str) -> CheckedDay:
        raw = await self._folder.get(f"{place}/{MANIFEST}")
        if raw is None:
            return CheckedDay(place, 0, ["there is no manifest: the day is not complete"])
        try:
            manifest = decoded(raw)
        except ValueError:
            return CheckedDay(place, 0, ["the manifest cannot be read"])
        problems = [] if folder_of(manifest.day) == place else [f"the manifest is that of {manifest.day}"]
        for file in manifest.files:
            found = await self._folder.sha256_of(f"{place}/{file.name}")
            if found is None:
                problems.append(f"{file.name} is missing")
            elif found != file.sha256:
                problems.append(f"{file.name} has other bytes than the manifest says")
        return CheckedDay(place, len(manifest.files), problems)


def _make_folders(made: Path) -> None:
    for left in made.parent.glob("archive-*.part"):  # by a process that was killed: nobody else archives now
        shutil.rmtree(left, ignore_errors=True)
    for path in (made, made / "rows", made / "parquet"):
        path.mkdir(mode=0o700, parents=True)
