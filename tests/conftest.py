"""Fixtures for every test. What only some tests need lives in their own folder's conftest."""

import gc
from pathlib import Path

import pytest
from databases.fixtures import clickhouse, clickhouse_engine, mariadb, pgbouncer, postgres
from examples import examples
from hypothesis import settings

# A scenario's assertions tell what they compared, as a test's own do. It is said here, since files that come
# before bridge's own may import these.
pytest.register_assert_rewrite("bridge.scenarios", "bridge.seat", "bridge.asking_client")

__all__ = ["clickhouse", "clickhouse_engine", "mariadb", "pgbouncer", "postgres"]

# No assertion about time: on a busy machine hypothesis' 200 ms for an example would be one.
settings.register_profile("callgate", deadline=None, max_examples=examples(40))
settings.load_profile("callgate")

# Files that take eight seconds and more, the longest first. Spread over processes they go before all others:
# the last to begin should be short.
_LONGEST = (
    "end_to_end/trust/test_held_tools.py",
    "zoo/test_servers.py",
    "stores/test_copy_days.py",
    "bridge/test_matrix.py",
    "stores/postgres/test_queries.py",
    "api/test_openapi.py",
    "sql/network/test_hostile_servers.py",
    "end_to_end/record/test_offered_record.py",
    "zoo/test_clients.py",
    "end_to_end/edits/test_probe.py",
    "chaos/test_hostile.py",
    "conformance/test_conformance.py",
    "end_to_end/connect/test_client_files.py",
    "sql/server/test_many_tables.py",
    "chaos/test_replicas.py",
    "browser/pages/test_every_page.py",
    "end_to_end/upstreams/test_hostile_upstreams.py",
    "end_to_end/principals/test_reload.py",
    "end_to_end/record/test_record_queries.py",
    "browser/pages/test_live.py",
    "end_to_end/plain/test_calls_of_a_call.py",
    "sql/guard/test_postgres_corpus.py",
    "stores/test_storing_process.py",
    "test_wheel.py",
    "stores/test_archive.py",
    "end_to_end/edits/test_config_edits.py",
    "sql/guard/test_plain_reads.py",
    "sql/guard/test_duckdb_corpus.py",
    "end_to_end/upstreams/test_lists.py",
    "sql/guard/test_mysql_corpus.py",
    "stores/test_hostile_sql.py",
    "sql/drivers/test_duckdb_driver.py",
    "browser/pages/test_settings.py",
    "stores/postgres/test_live_stream.py",
    "replicas/test_lost_homes.py",
    "end_to_end/reload/test_settings.py",
    "replicas/test_sdk_clients.py",
    "end_to_end/reload/test_servers.py",
    "browser/pages/test_drawer.py",
    "stores/test_finding.py",
    "bridge/test_parked_calls.py",
    "stores/test_excerpts.py",
    "browser/pages/test_tool_calls.py",
    "browser/pages/test_content.py",
    "end_to_end/principals/test_others_calls.py",
    "stores/test_feed.py",
    "end_to_end/upstreams/test_isolation.py",
    "api/test_events.py",
    "cli/test_record_commands.py",
    "upstreams/test_starting.py",
    "upstreams/child/test_child.py",
    "end_to_end/record/test_backup.py",
    "end_to_end/upstreams/test_own_processes.py",
    "sql/guard/test_corpus.py",
    "sql/network/postgres/test_own_functions.py",
    "end_to_end/upstreams/test_sandbox.py",
    "browser/pages/test_call.py",
    "end_to_end/connect/test_import.py",
    "end_to_end/plain/test_plain_path.py",
    "end_to_end/trust/test_lock_and_api.py",
    "sql/guard/test_postgres_guard.py",
    "stores/postgres/test_store_away.py",
    "cli/test_add.py",
    "workers/test_stores.py",
    "cli/start/test_announcement.py",
    "workers/test_ends.py",
    "docs/test_blocks.py",
    "sql/network/mysql/test_short_way.py",
    "browser/pages/test_finding.py",
    "cli/test_terminal_escapes.py",
    "sql/network/test_engine_alone.py",
    "stores/test_drain.py",
    "sql/server/test_schema_view.py",
    "sql/drivers/test_pool.py",
    "sql/network/test_tls.py",
    "chaos/test_reload.py",
    "end_to_end/upstreams/test_aggregate.py",
    "upstreams/child/test_spare_child.py",
    "stores/postgres/test_store_troubles.py",
    "replicas/test_without_a_way.py",
    "recorder/test_recorder.py",
    "replicas/test_modern_sessions.py",
    "sql/network/test_stopping.py",
    "sql/network/between/test_ssh.py",
    "end_to_end/upstreams/test_many_upstreams.py",
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
