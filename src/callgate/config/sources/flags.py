"""What the command line may say about the configuration. The CLI's own options are none of our business."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Flags:
    config: Path | None = None
    host: str | None = None
    port: int | None = None  # 0: any free one
    state_dir: Path | None = None
    addresses: tuple[str, ...] = ()  # databases and files to serve
    workers: str | None = None  # a number, or auto
