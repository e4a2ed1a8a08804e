"""What a statement can read of the record is found out, and never too little of it."""

import duckdb
import pytest

from callgate.recorder.stores.duckdb.wanted_rows import Wanted, wanted_by

TABLES = ("sessions", "rpc_events", "rpc_event_upstreams", "gaps")


@pytest.mark.parametrize(
    ("sql", "tables", "bodies"),
    [
        ("SELECT count(*) FROM rpc_events", {"rpc_events"}, False),
        (
            "SELECT e.ts FROM rpc_events e JOIN sessions s USING (session_id)",
            {"rpc_events", "sessions"},
            False,
        ),
        ("SELECT client_name FROM sessions", {"sessions"}, False),
        ("SELECT response_json FROM main.rpc_event_upstreams", {"rpc_event_upstreams"}, True),
        ("SELECT Request_JSON FROM RPC_EVENTS", {"rpc_events"}, True),
        ("SELECT 1 FROM rpc_events e JOIN rpc_event_upstreams u USING (request_json)", None, True),
        ("FROM rpc_events", {"rpc_events"}, True),
        ("TABLE rpc_events", {"rpc_events"}, True),
        ("SELECT e FROM rpc_events e", {"rpc_events"}, True),
        ("SELECT COLUMNS('.*') FROM rpc_events", {"rpc_events"}, True),
        ("SELECT x FROM (SELECT #2 AS x FROM (SELECT * FROM rpc_events))", {"rpc_events"}, True),
        ("SELECT 1 FROM rpc_events NATURAL JOIN rpc_event_upstreams", None, True),
        ("SUMMARIZE rpc_events", {"rpc_events"}, True),
        ("PIVOT rpc_events ON method USING count(*)", set(TABLES), True),
        ("SELECT * FROM (PIVOT rpc_events ON method USING count(*))", set(TABLES), True),
        ("SELECT method, count(*) AS n FROM rpc_events GROUP BY 1 ORDER BY n", {"rpc_events"}, False),
        ("SELECT 1 AS e, e FROM rpc_events e", {"rpc_events"}, True),
        ("WITH t AS (FROM rpc_events) SELECT 1 AS t, t FROM t", set(TABLES), True),
        ("WITH t AS (SELECT ts AS seen FROM rpc_events) SELECT max(seen) FROM t", set(TABLES), False),
        ("EXPLAIN SELECT 1", set(TABLES), True),
        ("SELECT table_name FROM duckdb_tables()", set(TABLES), False),
        ("SELECT 1", set(TABLES), False),
        ("nonsense", set(TABLES), True),
    ],
)
def test_what_a_statement_can_read_is_found_out(sql: str, tables: set[str] | None, bodies: bool) -> None:
    with duckdb.connect(":memory:") as cursor:
        wanted = wanted_by(cursor, [sql])
    assert wanted == Wanted(frozenset(tables or {"rpc_events", "rpc_event_upstreams"}), bodies)
