"""The guard's corpora of hostile SQL against the query page with the guard switched off, on every store.

Engine, role and process alone must keep the record, the server and the machine's files as they are, and show
nothing that is not in the record. Each attack runs as it is written, and again aimed at the
record's own tables.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from recorder.happenings import NOW_S, a_session, opened, settled
from sql.corpus_files import load
from stores.kinds import ClickhouseKind, KeptRecord, PostgresKind, StoreKind

from callgate.model.errors import CallgateError
from callgate.ports.record_queries import Query

pytestmark = pytest.mark.asyncio(loop_scope="module")
# Whose attacks each store is tried with: the engine's own, or those that are most alike.
CORPORA = {"duckdb": ("duckdb", "sqlite"), "postgres": ("postgres",), "clickhouse": ("duckdb",)}
# Tables of the corpora to those of the record.
AIMED = {
    r"\b(shop\.)?(orders|audit|t)\b": "rpc_events",
    r"\b(shop\.)?(customers|users)\b": "sessions",
    r"\b(shop\.)?(products|secrets|ticket)\b": "gaps",
}
# Of the machine's files, its commands, and other roles. (PostgreSQL shows its public settings to every role.)
SHOWN = re.compile(r"root:|SCRAM-SHA-256|uid=\d|word-in-a-file|pg_hba\.conf")
LIMIT_S = 2.0


def attacks(*corpora: str) -> list[str]:
    written = [attack["sql"] for corpus in corpora for attack in load(f"{corpus}_attacks")]
    return list(dict.fromkeys([*written, *map(aimed, written)]))


def aimed(sql: str) -> str:
    for pattern, table in AIMED.items():
        sql = re.sub(pattern, table, sql)
    return sql


# Not in the guard's corpora, which have each step by itself: out of the role, and then to a file.
LEAVING = [
    f"SELECT {leave}, query_to_xml('{then}', true, true, '')"
    for leave in (
        "set_config('role', 'none', true)",
        "set_config('session_authorization', 'callgate', true)",
        "query_to_xml('SELECT set_config(''role'', ''callgate'', true)', true, true, '')",
    )
    for then in (
        "SELECT pg_read_file(''/etc/passwd'')",
        "SELECT rolname, rolpassword FROM pg_authid",
        "SELECT * FROM callgate_store.batches",
        "SELECT lo_import(''/etc/passwd'')",
        "SELECT current_setting(''hba_file'')",
    )
]


@pytest_asyncio.fixture(loop_scope="module")
async def record(kind_of_module: StoreKind, tmp_path: Path) -> AsyncIterator[KeptRecord]:
    if isinstance(kind_of_module, PostgresKind):  # its gateways' own user is an administrator here
        kind_of_module.give_reader_login()
    record = kind_of_module.record(tmp_path / "state")
    record.emit(opened(a_session()))
    for number in range(5):
        record.emit(settled(a_session(), NOW_S + number, sql=f"SELECT {number}"))
    assert (await record.reader.extent()).events == 5
    yield record
    await record.close()


async def test_engine_and_role_alone_let_nothing_through(
    record: KeptRecord, kind_of_module: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "secret.txt").write_text("word-in-a-file")
    monkeypatch.chdir(tmp_path / "here")
    texts = attacks(*CORPORA[record.traits.dialect])
    if record.traits.dialect == "postgres":
        texts += LEAVING
    before = state_of(kind_of_module, record)
    shown: dict[str, str] = {}
    for sql in texts:
        try:
            table = await record.queries.run(sql, Query(sql, timeout_s=LIMIT_S))  # pyright: ignore[reportAttributeAccessIssue]
        except CallgateError:
            continue
        if SHOWN.search(said := str(table.rows)):
            shown[sql] = said[:200]
    assert shown == {}
    assert state_of(kind_of_module, record) == before
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["secret.txt"]
    assert len(texts) > 300
    (row,) = (await record.queries.query(Query("SELECT count(*) FROM rpc_events"))).rows
    assert list(row) == [5]


def state_of(kind: StoreKind, record: KeptRecord) -> Sequence[object]:
    """All that an attack might change."""
    if isinstance(kind, PostgresKind):
        kept = [
            "SELECT count(*), max(oid) FROM pg_class",
            "SELECT count(*), max(oid) FROM pg_proc",
            "SELECT string_agg(rolname || rolsuper || rolcanlogin, ',' ORDER BY oid) FROM pg_roles",
            "SELECT string_agg(relacl::text || relowner, ',' ORDER BY oid) FROM pg_class",
            "SELECT count(*) FROM pg_largeobject_metadata",
            "SELECT count(*) FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf'",
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
            "SELECT count(*) FROM pg_description",
            *(f"SELECT md5(string_agg(t::text, ',')) FROM callgate_store.{name} t" for name in _TABLES),
        ]
        return [kind.database.run(sql) for sql in kept]
    if isinstance(kind, ClickhouseKind):
        return [
            kind.database.run("SELECT count(), groupBitXor(cityHash64(*)) FROM callgate_record"),
            kind.database.run(
                "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase()"
            ),
        ]
    files = (path for path in record.folder.rglob("*") if path.is_file() and "snapshot" not in path.name)
    return sorted((path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files)


_TABLES = ("rpc_events", "rpc_bodies", "rpc_event_upstreams", "session_parts", "rpc_open", "batches", "gaps")
