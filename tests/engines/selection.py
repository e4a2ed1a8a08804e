"""A plugin of pytest: of the collected tests those stay that use the server of CALLGATE_TEST_ENGINE."""

import os

import pytest

_FIXTURES = {
    "mysql": {"mariadb", "maria", "mysql", "lab", "stored"},
    "postgres": {"postgres", "post", "pooled", "pgbouncer"},
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    engine = os.environ["CALLGATE_TEST_ENGINE"]
    kept = [item for item in items if _uses(item) == engine]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def _uses(item: pytest.Item) -> str | None:
    """A parameter says more than a fixture: some tests know both servers, and run on one."""
    assert isinstance(item, pytest.Function)
    given: set[object] = {
        value
        for value in (item.callspec.params.values() if hasattr(item, "callspec") else ())
        if isinstance(value, str)
    }
    if "target" in item.fixturenames:
        return os.environ["CALLGATE_TEST_ENGINE"]
    for names in (given, set(item.fixturenames)):
        found = [engine for engine, fixtures in _FIXTURES.items() if fixtures & names]
        if found:
            return found[0]
    return None
