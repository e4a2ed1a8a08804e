"""Fixtures for every test. What only some tests need lives in their own folder's conftest."""

from pathlib import Path

import pytest
from databases.fixtures import mariadb, postgres
from examples import examples
from hypothesis import settings

__all__ = ["mariadb", "postgres"]

# No assertion about time: on a busy machine hypothesis' 200 ms for an example would be one.
settings.register_profile("callgate", deadline=None, max_examples=examples(40))
settings.load_profile("callgate")

# Files whose few tests take longest. Spread over processes they go first: the last to begin should be short.
_LONGEST = (
    "zoo/test_clients.py",
    "chaos/test_hostile.py",
    "zoo/test_servers.py",
    "bridge/test_matrix.py",
    "test_wheel.py",
    "chaos/test_record.py",
    "conformance/test_conformance.py",
    "end_to_end/upstreams/test_hostile_upstreams.py",
    "end_to_end/upstreams/test_isolation.py",
    "api/test_openapi.py",
    "sql/guard/test_duckdb_corpus.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
