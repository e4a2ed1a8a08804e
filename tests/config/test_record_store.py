"""`[record] store`: files, or a database's address, whose password is never shown."""

import pytest

from callgate.app.setup import setup_problems
from callgate.config.reading.mistakes import InvalidSpecError
from callgate.config.specs.config import Config
from callgate.config.specs.record import RecordSpec


def test_files_are_the_default() -> None:
    assert not RecordSpec().store.is_postgres
    assert RecordSpec.read({"store": "duckdb"}).shown()["store"] == "duckdb"


def test_several_servers_share_user_database_and_parameters() -> None:
    text = "postgres://me:p%40ss@a,b:5433/record?target_session_attrs=read-write"
    spec = RecordSpec.read({"store": text})
    assert spec.store.dsn == ("postgresql://me:p%40ss@a:5432,b:5433/record?target_session_attrs=read-write")
    assert spec.store.shown == "a:5432,b:5433/record"
    for told in (repr(spec), str(spec.store), repr(spec.store), str(spec.shown())):
        assert "p%40ss" not in told
        assert "p@ss" not in told


def test_the_second_user_has_an_address_of_its_own_and_is_no_part_of_the_first() -> None:
    text = "postgres://me:p%40ss@a/record?reader=r&reader_password=x%40y&sslmode=require"
    store = RecordSpec.read({"store": text}).store
    assert store.dsn == "postgresql://me:p%40ss@a:5432/record?sslmode=require"
    assert store.reader_dsn == "postgresql://r:x%40y@a:5432/record?sslmode=require"
    assert RecordSpec.read({"store": "postgres://me:pw@a/record"}).store.reader_dsn is None
    assert "y" not in str(store)


@pytest.mark.parametrize(
    ("text", "port", "is_secure"),
    [
        ("clickhouse://me:p%40ss@a/record", 8123, False),
        ("clickhouse://me:p%40ss@a:9/record?secure=1", 9, True),
        ("clickhouses://me:p%40ss@a/record?reader=r&reader_password=x%40y", 8443, True),
    ],
)
def test_a_clickhouse_is_named_by_its_http_interface(text: str, port: int, is_secure: bool) -> None:
    spec = RecordSpec.read({"store": text})
    found = spec.store.clickhouse
    assert found is not None
    assert spec.store.is_database
    assert (found.port, found.is_secure, found.login) == (port, is_secure, ("me", "p@ss"))
    assert found.reader == (("r", "x@y") if "reader" in text else None)
    assert found.shown == f"a:{port}/record"
    for told in (repr(spec), str(spec.store), repr(spec.store), str(spec.shown())):
        assert not any(secret in told for secret in ("p%40ss", "p@ss", "x%40y", "x@y"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("clickhouse://me:secret@a", "the name of the database is missing"),
        ("clickhouse://me:secret@a,b/c", "named by one host"),
        ("clickhouse://me:secret@a/b?secure=yes", "secure has a value"),
        ("clickhouse://me:secret@a/b?reder=x", "a parameter after the"),
        ("clickhouse://me:x@a/b?reader_password=secret", "without reader"),
        ("postgres://me:x@a/b?reader_password=secret", "without reader"),
        ("clickhouse://me:secret@/b", "host"),
        ("duckbd", "neither duckdb nor the address"),
        ("mysql://me:secret@a/b", "cannot be kept in mysql"),
        ("postgres://me:secret@a", "the name of the database is missing"),
        ("postgres://me:secret@a,/b?sslmod=require", "a parameter after the"),
        ("postgres://me:secret@a/b?sslmode=perhaps", "sslmode has a value"),
        ("postgres://me:secret@a b/c", "the host is not"),
        (7, "a string is expected"),
    ],
)
def test_a_bad_address_is_refused_without_being_repeated(text: object, said: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        RecordSpec.read({"store": text})
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_only_a_database_can_do_is_refused_with_files() -> None:
    record = {"sync": "store", "keep_bodies": "7d", "journal_max": "1GiB", "migrate": False}
    config = Config.read({"record": record})
    found = {problem.key_path for problem in setup_problems.setup_problems(config)}
    assert found == {f"record.{key}" for key in record}


def test_the_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> None:
        return None

    monkeypatch.setattr(setup_problems, "find_spec", find_nothing)
    config = Config.read({"record": {"store": "postgres://me@a/b"}})
    (problem,) = setup_problems.setup_problems(config)
    assert problem.hint == "pip install '.[postgres]' in the folder with the sources"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s3://me:secret@bucket/x", "holds no credentials"),
        ("s3://bucket/x?key=secret", "holds no credentials"),
        ("s4://bucket/secret", "is not known"),
        ("s3://", "the bucket is missing"),
        ("not/secret", "an absolute path"),
        ("s3://[secret", "cannot be read"),
        (7, "is expected"),
    ],
)
def test_a_bad_archive_is_refused_without_being_repeated(text: object, said: str) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        RecordSpec.read({"archive": text})
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["s3://bucket/a/b", "gs://bucket", "az://account/container", "/var/archive"]
)
def test_an_archive_is_shown_as_it_was_written(address: str) -> None:
    assert RecordSpec.read({"archive": address}).shown()["archive"] == address


def test_the_extra_for_an_archive_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> None:
        return None

    monkeypatch.setattr(setup_problems, "find_spec", find_nothing)
    config = Config.read({"record": {"archive": "/var/archive"}})
    (problem,) = setup_problems.setup_problems(config)
    assert problem.hint == "pip install '.[archive]' in the folder with the sources"
