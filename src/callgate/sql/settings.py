"""SourceSettings: one source as the operator wants it, in plain values. Counterpart: `config`.

Pure. `app` fills it in; `open_source` turns it into a policy and a running source.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Mode(StrEnum):
    READ_ONLY = "read_only"
    WRITE = "write"

    @property
    def label(self) -> str:
        """As people read it, in the seed's words."""
        return "READ-ONLY" if self is Mode.READ_ONLY else "WRITE ENABLED"


@dataclass(frozen=True, slots=True)
class SourceSettings:
    source_id: str
    engine: str
    path: Path
    schema: str | None = None  # the file's tables are also reachable as schema.table
    mode: Mode = Mode.READ_ONLY
    timeout_s: float = 30.0
    max_rows: int = 1000
    character_limit: int = 25_000
    allow_ddl: bool = False
    allow_functions: frozenset[str] = frozenset()
    pool_size: int = 4
    require_qualified: bool = False
    from_environment: bool = False  # set up by variables: advice must not speak of callgate.toml keys
