"""Gateways that may not change tables, and who changes them instead."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from databases.database import Database
from end_to_end.gateway_process import run_callgate, running_gateway
from recorder.happenings import NOW_S, a_session, settled
from stores.kinds import PostgresKind, make_tables
from waiting import until

from callgate.recorder.stores.postgres.connection import StoreAddress


@dataclass(frozen=True)
class Account:
    """A role of the database that may log in, and nothing else."""

    name: str
    password: str
    database: Database

    @property
    def dsn(self) -> str:
        return replace(self.database, user=self.name, password=self.password).dsn

    def __str__(self) -> str:
        return self.name


@pytest.fixture
def account(kind: PostgresKind) -> Iterator[Account]:
    name = f"gate_{uuid.uuid4().hex[:8]}"
    password = uuid.uuid4().hex
    kind.database.run(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
    yield Account(name, password, kind.database)
    kind.database.run(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


def written_config(tmp_path: Path, account: Account) -> tuple[str, str]:
    database = account.database
    path = tmp_path / "callgate.toml"
    path.write_text(
        "version = 1\n[record]\nmigrate = false\n"
        f'store = "postgres://{account}:${{PW}}@127.0.0.1:{database.port}/{database.database}"\n'
    )
    return "--config", str(path)


async def test_a_gateway_without_the_right_to_change_tables_starts_once_somebody_made_them(
    kind: PostgresKind, account: Account, tmp_path: Path
) -> None:
    config = written_config(tmp_path, account)
    started = await run_callgate(tmp_path, "serve", "--port", "0", *config, PW=account.password)
    assert started.exit_code == 1, started
    assert "has no tables" in started.stderr
    assert "callgate record migrate" in started.stderr
    migrate = ("record", "migrate", "--grant", str(account), "--days", "3", "--json", *config)
    for steps in (2, 0):
        migrated = await run_callgate(
            tmp_path, *migrate, CALLGATE_RECORD_STORE=kind.database.dsn, PW=account.password
        )
        assert migrated.exit_code == 0, migrated
        assert json.loads(migrated.stdout)["steps"] == steps
        assert kind.database.password not in migrated.stdout + migrated.stderr
    async with running_gateway(tmp_path, *config, "--port", "0", PW=account.password) as gateway:
        call = ("call", "demo__query", "query=SELECT 1 AS n", *config)
        assert (await run_callgate(tmp_path, *call, PW=account.password)).exit_code == 0
        listed = await gateway.get("/api/v1/tool-calls")
        assert [row["outcome"] for row in listed["tool_calls"]] == ["answered"]
    assert (
        kind.database.run("SELECT count(*) FROM callgate.rpc_events WHERE ok AND method = 'tools/call'")
        == "1"
    )


async def test_tables_of_a_newer_version_end_the_start_with_an_exit_code(
    kind: PostgresKind, tmp_path: Path
) -> None:
    await asyncio.to_thread(make_tables, kind.store(tmp_path), False)
    kind.database.run("INSERT INTO callgate_store.schema_versions VALUES (99, 99, now())")
    started = await run_callgate(
        tmp_path, "serve", "--port", "0", "--json", CALLGATE_RECORD_STORE=kind.database.dsn
    )
    assert started.exit_code == 3, started
    assert "setup.store_newer" in started.stdout + started.stderr


async def test_a_day_without_partitions_is_named_and_recovered_from_when_they_are_made(
    kind: PostgresKind, account: Account, tmp_path: Path
) -> None:
    administrator = kind.store(tmp_path)
    await asyncio.to_thread(make_tables, administrator, False)
    kind.database.run(
        f"GRANT USAGE ON SCHEMA callgate_store TO {account};"
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA callgate_store TO {account};"
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA callgate_store TO {account}"
    )
    kind.address = StoreAddress(account.dsn, "127.0.0.1/record")
    kind.may_migrate = False
    record = kind.record(tmp_path)
    record.emit(settled(a_session(), NOW_S))
    await until(lambda: "has no partitions for" in (record.reader.problem() or ""))
    assert "callgate record migrate" in (record.reader.problem() or "")
    await asyncio.to_thread(make_tables, administrator)
    await until(lambda: record.reader.problem() is None)
    assert (await record.reader.extent()).events == 1
    await record.close()


async def test_a_record_in_files_needs_no_migration(tmp_path: Path) -> None:
    told = await run_callgate(tmp_path, "record", "migrate")
    assert told.exit_code == 2, told
    assert "DuckDB files" in told.stderr


async def test_the_doctor_says_what_the_user_of_the_record_lacks(
    kind: PostgresKind, account: Account, tmp_path: Path
) -> None:
    async def doctor(migrate: str = "true") -> str:
        done = await run_callgate(
            tmp_path, "doctor", CALLGATE_RECORD_STORE=account.dsn, CALLGATE_RECORD_MIGRATE=migrate
        )
        return done.stdout

    assert "its user may not make its tables" in await doctor()
    assert "has no tables, and this Callgate needs" in await doctor(migrate="false")
    await kind.store(tmp_path).check()
    assert "its user may not write to its tables" in await doctor()
    name = f"SCHEMA callgate_store TO {account}"
    kind.database.run(f"GRANT USAGE ON {name}; GRANT ALL ON ALL TABLES IN {name}")
    told = await doctor()
    assert "✓ record store: reachable (PostgreSQL" in told
    assert "! SQL over the record needs the role callgate_reader" in told
