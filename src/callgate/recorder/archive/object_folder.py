"""A folder of objects: in S3, Google Cloud Storage or Azure, or on a disk. By obstore.

The only place that knows the library. Credentials are read by it from the environment. Its own messages are
not repeated: they may quote requests.
"""

import hashlib
import os
from collections.abc import Awaitable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import obstore
from obstore import exceptions as failures
from obstore.store import LocalStore, from_url

from callgate.model.error_codes import SETUP_ARCHIVE
from callgate.model.errors import SetupError

_T = TypeVar("_T")
_library: Any = obstore  # for what of it has no types
_FAILURES = (failures.BaseError, OSError, ValueError)
# A store that is away must not hold an upkeep for long: there is a next time.
_CLIENT: Any = {"timeout": "120s", "connect_timeout": "10s"}
_RETRY: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}
_KNOWN: tuple[tuple[type[Exception], str, str], ...] = (
    (
        failures.PermissionDeniedError,
        "access was denied",
        "Give these credentials the right to read, write, list and delete there",
    ),
    (failures.UnauthenticatedError, "the credentials were not accepted", "Check them in the environment"),
    (FileNotFoundError, "there is no such bucket", "Create it, or correct [record] archive"),
)
_CHUNK_BYTES = 8 * 1024 * 1024


class ObjectFolder:
    """Who waits for it may be cancelled at any moment: an object is there whole, or not at all."""

    def __init__(self, address: str) -> None:
        """`address`: as `[record] archive` has it. Raises SetupError."""
        self.address = address
        try:
            if "://" in address:
                self._store = from_url(address, client_options=_client_options(), retry_config=_RETRY)
            else:
                self._store = _local(Path(address))
        except _FAILURES as problem:
            raise self._trouble(problem) from None

    async def put(self, name: str, what: bytes | Path) -> None:
        await self._tried(obstore.put_async(self._store, name, what))

    async def get(self, name: str) -> bytes | None:
        """None: there is no such object."""

        async def read() -> bytes:
            return bytes(await (await obstore.get_async(self._store, name)).bytes_async())

        return await self._found(read())

    async def size_of(self, name: str) -> int | None:
        async def ask() -> int:
            return (await obstore.head_async(self._store, name))["size"]

        return await self._found(ask())

    async def sha256_of(self, name: str) -> str | None:
        """Of all its bytes, read back."""

        async def read() -> str:
            hashed = hashlib.sha256()
            async for chunk in (await obstore.get_async(self._store, name)).stream(
                min_chunk_size=_CHUNK_BYTES
            ):
                hashed.update(chunk)
            return hashed.hexdigest()

        return await self._found(read())

    async def delete(self, name: str) -> None:
        await self._found(obstore.delete_async(self._store, name))

    async def folders(self) -> list[str]:
        """The names right below, sorted."""
        found = await self._tried(_library.list_with_delimiter_async(self._store))
        return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in found["common_prefixes"])

    async def _found(self, asked: Awaitable[_T]) -> _T | None:
        try:
            return await asked
        except FileNotFoundError:
            return None
        except _FAILURES as problem:
            raise self._trouble(problem) from None

    async def _tried(self, asked: Awaitable[_T]) -> _T:
        try:
            return await asked
        except _FAILURES as problem:
            raise self._trouble(problem) from None

    def _trouble(self, problem: Exception) -> SetupError:
        for kind, said, hint in _KNOWN:
            if isinstance(problem, kind):
                return _error(self.address, said, hint)
        if isinstance(problem, OSError) and problem.strerror:
            return _error(self.address, problem.strerror, "Make room, or correct [record] archive")
        return _error(
            self.address,
            f"it does not answer as expected ({type(problem).__name__})",
            "Check address, region, endpoint and credentials in the environment",
        )


def _client_options() -> Any:
    """Options of ours put those of the environment out of force. TLS is left out only where it says so."""
    is_plain = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("true", "1")
    return _CLIENT | {"allow_http": is_plain}


def _local(path: Path) -> Any:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "permission denied")
    return LocalStore(path)


def _error(address: str, said: str, hint: str) -> SetupError:
    return SetupError(SETUP_ARCHIVE, f"The archive {address} cannot be used: {said}", hint=hint)
