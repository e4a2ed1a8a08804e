"""Where things lie on this machine. Names folders; creates none."""

from pathlib import Path

from platformdirs import user_state_path

from callgate.config.specs.config import Config


def state_folder(config: Config) -> Path:
    return config.server.state_dir or user_state_path("callgate")


def record_folder(config: Config) -> Path:
    """A folder, not a file: the record is one DuckDB file per day."""
    return config.record.path or state_folder(config) / "record"
