"""Where things lie on this machine. Names folders; creates none."""

import sys
from pathlib import Path

from platformdirs import user_state_path

from callgate.config.specs.config import Config


def default_state_folder() -> Path:
    return user_state_path("callgate")


def state_folder(config: Config) -> Path:
    return config.server.state_dir or default_state_folder()


def record_folder(config: Config) -> Path:
    """A folder, not a file: the record is one DuckDB file per day."""
    return config.record.path or state_folder(config) / "record"


def installed_program() -> Path | None:
    """`callgate` beside the Python that runs us: desktop programs and services have a short PATH."""
    program = Path(sys.executable).with_name("callgate")
    return program if program.exists() else None
