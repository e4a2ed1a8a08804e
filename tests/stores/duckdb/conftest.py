"""Recorders that end with their test, also when it fails: their threads would keep the test run alive."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from recorder.happenings import Open, Record


@pytest.fixture
async def open_recorder(tmp_path: Path) -> AsyncIterator[Open]:
    opened: list[Record] = []

    def open_one(keeps_store: bool) -> Record:
        opened.append(Record(tmp_path, keeps_store))
        return opened[-1]

    yield open_one
    for recorder in opened:
        await recorder.close()
