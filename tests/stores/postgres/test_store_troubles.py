"""What can be wrong with the store: each is named with what to do, and ends without a restart."""

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from databases.database import Database
from databases.postgres import postgres_server
from recorder.happenings import NOW_S, a_session, settled
from stores.kinds import PostgresKind
from stores.postgres.test_store_away import came_back, statements
from stores.postgres.way import Way, way_to
from waiting import until

from callgate.recorder.stores.postgres import record_store
from callgate.recorder.stores.postgres.connection import StoreAddress


@dataclass
class Trouble:
    """A store whose owner is a plain role, and the way to it."""

    admin: Database
    role: str
    password: str
    way: Way

    def fail_with(self, sqlstate: str, message: str) -> None:
        self.admin.run(
            "CREATE OR REPLACE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" RAISE EXCEPTION '{message}' USING ERRCODE = '{sqlstate}'; END $$;"
            "CREATE TRIGGER fail BEFORE INSERT ON callgate_store.batches EXECUTE FUNCTION public.fail()"
        )

    def no_longer_fail(self) -> None:
        self.admin.run("DROP TRIGGER fail ON callgate_store.batches")

    def take_rights(self) -> None:
        self.admin.run(f"REVOKE INSERT ON callgate_store.batches FROM {self.role}")

    def give_rights(self) -> None:
        self.admin.run(f"GRANT INSERT ON callgate_store.batches TO {self.role}")

    def change_password(self) -> None:
        self.admin.run(
            f"ALTER ROLE {self.role} PASSWORD 'another-{self.password}';"
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{self.role}'"
        )

    def give_password_back(self) -> None:
        self.admin.run(f"ALTER ROLE {self.role} PASSWORD '{self.password}'")


@pytest.fixture
def trouble(kind: PostgresKind) -> Iterator[Trouble]:
    role, password = f"owner_{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
    admin = kind.database
    admin.run(
        f"CREATE ROLE {role} LOGIN PASSWORD '{password}';GRANT CREATE ON DATABASE {admin.database} TO {role}"
    )
    with way_to(admin.port) as way:
        database = replace(admin, port=way.port, user=role, password=password)
        kind.address = StoreAddress(database.dsn, f"127.0.0.1:{way.port}/{database.database}")
        yield Trouble(admin, role, password, way)
    admin.run(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}")


Step = Callable[[Trouble], object]
TROUBLES: dict[str, tuple[Step, Step, str, str]] = {
    "hangs": (lambda t: t.way.hang(), lambda t: t.way.restore(), "does not answer in time", "can be reached"),
    "answers errors": (
        lambda t: t.fail_with("P0001", "out of luck"), Trouble.no_longer_fail, "out of luck", "tries again"
    ),
    "is full": (
        lambda t: t.fail_with("53100", "no space left"), Trouble.no_longer_fail, "no space left", "Make room"
    ),
    "takes rights": (Trouble.take_rights, Trouble.give_rights, "permission denied", "--grant"),
    "changes the password": (
        Trouble.change_password, Trouble.give_password_back, "password authentication failed", "Check user"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TROUBLES)
async def test_a_store_in_trouble_is_named_with_what_to_do_and_comes_back_without_a_restart(
    kind: PostgresKind, trouble: Trouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(record_store, "_FLUSH_S", 1.0)
    begin, end, said, hint = TROUBLES[name]
    record = kind.record(tmp_path, journal_max_bytes=64 * 1024**2)
    record.emit(settled(a_session(), NOW_S, sql="0"))
    assert await statements(record) == ["0"]
    begin(trouble)
    for number in range(1, 20):
        record.emit(settled(a_session(), NOW_S + number, sql=str(number)))
    await until(lambda: said in (record.reader.problem() or ""))  # first it may only see the connection end
    told = record.reader.problem() or ""
    assert hint in told
    assert re.search(r"Since 20\d\d-.* UTC; \d+\.\d MiB wait in the journal, with room for ", told), told
    assert trouble.password not in told
    progress = record.reader.backlog().store
    assert progress is not None
    assert progress.is_away
    end(trouble)
    await came_back(record)
    assert await statements(record) == [str(number) for number in range(20)]
    await record.close()


async def test_a_user_who_may_make_no_role_has_a_record_where_nobody_made_one(tmp_path: Path) -> None:
    with postgres_server() as server:  # its own: roles belong to the whole server
        kind = PostgresKind(server)
        owner = f"CREATE ROLE owner LOGIN PASSWORD 'owner'; GRANT CREATE ON DATABASE {kind.database.database}"
        server.run(f"{owner} TO owner")
        reached = replace(kind.database, user="owner", password="owner")
        kind.address = StoreAddress(reached.dsn, f"127.0.0.1:{reached.port}/{reached.database}")
        record = kind.record(tmp_path)
        record.emit(settled(a_session(), NOW_S, sql="0"))
        assert await statements(record) == ["0"]
        assert server.run("SELECT count(*) FROM pg_roles WHERE rolname = 'callgate_reader'") == "0"
        await record.close()
