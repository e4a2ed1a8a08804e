"""`manifest.json` of a day in the archive: which files belong to it, and what is in them. Written last."""

from datetime import date, datetime

import msgspec

from callgate.recorder.days.record_days import DayCounts

FORMAT = 1
MANIFEST = "manifest.json"


class ArchivedFile(msgspec.Struct, frozen=True):
    name: str
    rows: int
    size_bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    day: date
    source: str  # the store that it was read from
    counts: DayCounts
    files: list[ArchivedFile]
    written_at: datetime
    callgate: str  # the version that wrote it
    format: int = FORMAT


def folder_of(day: date) -> str:
    return f"day={day.isoformat()}"


def encoded(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def decoded(raw: bytes) -> Manifest:
    """Raises ValueError: it is not one of ours."""
    try:
        manifest = msgspec.json.decode(raw, type=Manifest)
    except msgspec.DecodeError as problem:
        raise ValueError(str(problem)) from problem
    # A name is looked for beside the manifest, nowhere else.
    if manifest.format != FORMAT or any("/" in file.name or "\\" in file.name for file in manifest.files):
        raise ValueError("a format that this version does not know")
    return manifest
