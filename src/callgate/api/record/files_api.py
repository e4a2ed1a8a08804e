"""The record's own files as one tar stream, with everything settled so far: for `callgate backup`.

For operators alone: the files hold the whole record. A record in a database has no files; its backup is the
database's own.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from starlette.responses import Response, StreamingResponse

from callgate.api.operation import Asked, Operation
from callgate.api.record.required_record import required
from callgate.model.error_codes import SETUP_RECORD_ELSEWHERE, SETUP_RECORD_OFF
from callgate.model.identity import Role
from callgate.ports.record_queries import RecordFiles, RecordSnapshots

_CHUNK_BYTES = 1024 * 1024
_TAR = "application/x-tar"


class FilesApi:
    def __init__(self, snapshots: RecordSnapshots | None) -> None:
        """None: nothing is recorded, or not in files."""
        self._snapshots = snapshots

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/record/files",
                "getRecordFiles",
                "The files of the record as a tar archive, with everything settled so far",
                self.get,
                bytes,
                role=Role.OPERATE,
                media=(_TAR,),
                errors=(SETUP_RECORD_OFF, SETUP_RECORD_ELSEWHERE),
            )
        ]

    async def get(self, asked: Asked[None, None]) -> Response:
        chunks = _archive(required(self._snapshots))
        first = await anext(chunks)  # what goes wrong goes wrong before it, and can still be said
        return StreamingResponse(_after(first, chunks), media_type=_TAR)


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def _archive(snapshots: RecordSnapshots) -> AsyncGenerator[bytes]:
    import tarfile  # not above: 0.2 MB that a gateway without a backup does without

    async with snapshots.hold() as files:
        for name, path in sorted(_named(files).items()):
            size_bytes = (await asyncio.to_thread(path.stat)).st_size
            head = tarfile.TarInfo(name)
            head.size, head.mode = size_bytes, 0o600
            yield head.tobuf(tarfile.PAX_FORMAT)
            with await asyncio.to_thread(path.open, "rb") as file:
                left = size_bytes
                while left and (chunk := await asyncio.to_thread(file.read, min(left, _CHUNK_BYTES))):
                    left -= len(chunk)
                    yield chunk
            yield bytes(left + -size_bytes % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _named(files: RecordFiles) -> dict[str, Path]:
    """By the names that the files have in the record's folder: one of them may be a copy."""
    named = {f"{name.strip(chr(34))}.duckdb": path for name, path in files.paths.items()}
    logs = {f"{name}.wal": path.with_name(f"{path.name}.wal") for name, path in named.items()}
    return named | {name: path for name, path in logs.items() if path.exists()}
