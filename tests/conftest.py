"""Fixtures for every test. What only some tests need lives in their own folder's conftest."""

import gc
from pathlib import Path

import pytest
from databases.fixtures import clickhouse, clickhouse_engine, mariadb, pgbouncer, postgres
from examples import examples
from hypothesis import settings

__all__ = ["clickhouse", "clickhouse_engine", "mariadb", "pgbouncer", "postgres"]

# No assertion about time: on a busy machine hypothesis' 200 ms for an example would be one.
settings.register_profile("callgate", deadline=None, max_examples=examples(40))
settings.load_profile("callgate")

# Files that take longest. Spread over processes they go first: the last to begin should be short.
_LONGEST = (
    "bridge/test_matrix.py",
    "zoo/test_clients.py",
    "zoo/test_servers.py",
    "stores/test_copy_days.py",
    "stores/postgres/test_queries.py",
    "stores/test_archive.py",
    "chaos/test_replicas.py",
    "workers/test_stores.py",
    "end_to_end/trust/test_held_tools.py",
    "end_to_end/edits/test_probe.py",
    "stores/clickhouse/test_exactly_once.py",
    "end_to_end/trust/test_lock_and_api.py",
    "end_to_end/connect/test_client_files.py",
    "stores/test_finding.py",
    "stores/test_hostile_sql.py",
    "end_to_end/upstreams/test_sandbox.py",
    "stores/test_excerpts.py",
    "end_to_end/connect/test_import.py",
    "stores/postgres/test_live_stream.py",
    "stores/test_feed.py",
    "browser/pages/test_finding.py",
    "replicas/test_sdk_clients.py",
    "browser/pages/test_content.py",
    "browser/pages/test_every_page.py",
    "chaos/test_hostile.py",
    "end_to_end/record/test_offered_record.py",
    "sql/guard/test_duckdb_corpus.py",
    "end_to_end/upstreams/test_hostile_upstreams.py",
    "end_to_end/upstreams/test_lists.py",
    "browser/pages/test_drawer.py",
    "sql/guard/test_mysql_corpus.py",
    "stores/postgres/test_schema.py",
    "browser/pages/test_settings.py",
    "conformance/test_conformance.py",
    "end_to_end/upstreams/test_isolation.py",
    "api/test_openapi.py",
    "test_wheel.py",
    "browser/pages/test_tool_calls.py",
    "sql/guard/test_postgres_corpus.py",
    "browser/pages/test_live.py",
    "bridge/test_parked_calls.py",
    "stores/test_read_writes.py",
    "end_to_end/upstreams/test_aggregate.py",
    "stores/test_flush.py",
    "browser/pages/test_call.py",
    "sql/network/test_hostile_servers.py",
    "stores/test_drain.py",
    "end_to_end/record/test_record_queries.py",
    "end_to_end/upstreams/test_own_processes.py",
    "workers/test_one_record.py",
    "replicas/test_lost_homes.py",
    "end_to_end/upstreams/test_many_upstreams.py",
    "sql/drivers/test_duckdb_driver.py",
    "stores/postgres/test_store_away.py",
)


# 16,000 tests are half a million objects, and all of them stay. Going through them again and again would take
# two seconds of the collection in every process, and some of every test after it.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(_LONGEST)}
    if gone := [str(file) for file in places if not file.exists()]:
        raise pytest.UsageError(f"tests/conftest.py names files that are gone: {', '.join(gone)}")
    items.sort(key=lambda item: places.get(item.path, len(places)))
