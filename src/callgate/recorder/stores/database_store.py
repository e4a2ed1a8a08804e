"""What the stores that are a database have in common: whose record it is, and whether it is open."""

from functools import cached_property
from pathlib import Path
from typing import Any

from callgate.recorder.flush.retention import Retention
from callgate.recorder.folder import folder_id


class DatabaseStore:
    """`_connection`: the one that writes; its type is the store's own."""

    _connection: Any = None

    def __init__(self, record_folder: Path, retention: Retention | None) -> None:
        self._folder = record_folder
        self._retention = retention or Retention()

    @cached_property
    def _folder_id(self) -> str:
        return folder_id(self._folder)

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def load(self) -> None:
        """The driver was imported with the store's module."""
