"""A folder that a proxy may enter."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not pytest's own, which nobody else may enter: nginx's worker is another user. Short enough for a
    socket's path."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
