"""What the command line may say about the configuration. The CLI's own options are none of our business."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Flags:
    config: Path | None = None
    host: str | None = None
    port: int | None = None  # 0: any free one
    state_dir: Path | None = None
    addresses: tuple[str, ...] = field(default=(), repr=False)  # to serve; they may hold passwords
    workers: str | None = None  # a number, or auto
