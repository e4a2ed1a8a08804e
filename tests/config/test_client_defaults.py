"""What an address leaves out comes from where psql and mysql take it, and what was taken is told."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from config.conftest import LoadText, ProblemsOf

from callgate.config.sources.client_defaults import complete
from callgate.config.specs.dsn import Dsn, DsnError, parse_dsn
from callgate.config.specs.server_params import read_server_params


def completed(text: str, home: Path, **environ: str) -> tuple[Dsn, list[str]]:
    found = complete(parse_dsn(text), {"HOME": str(home), **environ})
    return found.dsn, found.notes


def secret_of(dsn: Dsn) -> str | None:
    return None if dsn.password is None else dsn.password.get_secret_value()


def private_file(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    return path


def test_variables_fill_in_what_is_missing_and_replace_nothing(tmp_path: Path) -> None:
    environ = {"PGHOST": "other", "PGPORT": "6000", "PGUSER": "me", "PGPASSWORD": "s3", "PGDATABASE": "shop"}
    dsn, notes = completed("postgres://", tmp_path, **environ)
    assert (dsn.host, dsn.port, dsn.user, secret_of(dsn), dsn.database) == ("other", 6000, "me", "s3", "shop")
    assert not any("s3" in note for note in notes)

    dsn, notes = completed("postgres://you:pw@db/mine", tmp_path, **environ)
    assert (dsn.host, dsn.port, dsn.user, secret_of(dsn), dsn.database) == ("db", None, "you", "pw", "mine")
    assert notes == []


def test_a_variable_may_name_a_socket_s_folder_or_several_hosts(tmp_path: Path) -> None:
    dsn, _ = completed("postgres:///shop", tmp_path, PGHOST="/run/pg")
    assert (dsn.host, str(read_server_params(dsn).socket)) == (None, "/run/pg")
    dsn, _ = completed("postgres:///shop", tmp_path, PGHOST="a,b", PGPORT="1,2")
    assert (dsn.host, dsn.port, dsn.others) == ("a", 1, (("b", 2),))


@pytest.mark.parametrize(("mode", "tls"), [("prefer", "verify"), ("require", "unverified")])
def test_libpq_s_weak_default_does_not_weaken_ours(mode: str, tls: str, tmp_path: Path) -> None:
    dsn, _ = completed("postgres://me@db/shop", tmp_path, PGSSLMODE=mode)
    assert read_server_params(dsn).tls_mode == tls


def test_a_service_is_read_and_one_that_is_missing_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text(
        "[shop]\nhost=db\nport=5433\nuser=me\npassword=s3\ndbname=shop\n"
    )
    dsn, notes = completed("postgres://?service=shop", tmp_path)
    assert (dsn.host, dsn.port, dsn.user, secret_of(dsn), dsn.database) == ("db", 5433, "me", "s3", "shop")
    assert "s3" not in " ".join(notes)
    with pytest.raises(DsnError, match=r"pg_service\.conf"):
        completed("postgres://?service=else", tmp_path)


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("db:5432:shop:me:plain", "plain"),
        ("*:*:*:me:any", "any"),
        (r"db:*:shop:me:a\:b\\c", r"a:b\c"),
        ("# db:5432:shop:me:no", None),
        ("db:5433:shop:me:other port", None),
        ("db:5432:shop:you:other user", None),
    ],
)
def test_a_password_comes_from_pgpass(line: str, secret: str | None, tmp_path: Path) -> None:
    private_file(tmp_path / ".pgpass", line + "\n")
    dsn, _ = completed("postgres://me@db/shop", tmp_path)
    assert secret_of(dsn) == secret


def test_a_pgpass_that_others_may_read_is_ignored_and_told(tmp_path: Path) -> None:
    private_file(tmp_path / ".pgpass", "*:*:*:*:s3\n").chmod(0o644)
    dsn, notes = completed("postgres://me@db/shop", tmp_path)
    assert secret_of(dsn) is None
    assert "chmod 600" in notes[0]


def test_a_passfile_may_be_named(tmp_path: Path) -> None:
    path = private_file(tmp_path / "mine", "*:*:*:*:s3\n")
    dsn, _ = completed(f"postgres://me@db/shop?passfile={path}", tmp_path)
    assert secret_of(dsn) == "s3"


@pytest.mark.parametrize(
    ("address", "user", "secret", "host"),
    [
        ("mysql:///shop", "me", 'it\'s "s3"', "db"),
        ("mysql://else/shop", "me", 'it\'s "s3"', "else"),
        ("mysql://me@else/shop", "me", 'it\'s "s3"', "else"),
        ("mysql://you@else/shop", "you", None, "else"),
        ("mysql://you:pw@else/shop", "you", "pw", "else"),
    ],
)
def test_the_client_group_of_my_cnf_fills_in(
    address: str, user: str, secret: str | None, host: str, tmp_path: Path
) -> None:
    private_file(
        tmp_path / ".my.cnf",
        "!includedir /etc\n[mysqld]\nuser=mysql\n[client]\nuser = me\npassword = 'it\\'s \"s3\"'\nhost=db\n",
    )
    dsn, _ = completed(address, tmp_path)
    assert (dsn.user, secret_of(dsn), dsn.host) == (user, secret, host)


@pytest.mark.parametrize("text", ["", "[client", "no section = 1", "[client]\n\x00\xff=", "[client]\n" * 9])
def test_a_broken_file_is_as_none(text: str, tmp_path: Path) -> None:
    for name in (".my.cnf", ".pgpass", ".pg_service.conf"):
        private_file(tmp_path / name, text)
    assert completed("mysql://me@db/shop", tmp_path)[0].password is None
    assert completed("postgres://me@db/shop", tmp_path)[0].password is None


def test_what_is_ignored_or_filled_in_is_a_note_with_its_place(load_text: LoadText, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PGPASSWORD": "s3"}
    text = '[[sources]]\nid = "shop"\ndsn = "postgres://me@db/shop?pgbouncer=true"'
    loaded = load_text(text, environ)
    told = {str(note) for note in loaded.notes}
    assert len(told) == 2
    assert all("sources.shop.dsn" in note for note in told)
    assert not any("s3" in note for note in told)


FILE_WITH_SOURCE = '[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"'
FOREIGN: Mapping[str, str] = {"DATABASE_URL": "postgres://u:hunter2@h/db?wholly_new=1"}


def test_a_database_url_with_an_unknown_parameter_is_a_problem(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of("", FOREIGN)
    assert problem.key_path == "DATABASE_URL"
    assert "wholly_new" in str(problem)
    assert "hunter2" not in str(problem)


def test_beside_sources_of_the_file_it_is_only_a_warning(load_text: LoadText) -> None:
    loaded = load_text(FILE_WITH_SOURCE, FOREIGN)
    assert [source.id for source in loaded.config.sources] == ["shop"]
    (warning,) = loaded.warnings
    assert warning.key_path == "DATABASE_URL"
    assert "ignored" in str(warning)
    assert "hunter2" not in str(warning)
