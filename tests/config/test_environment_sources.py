from pathlib import Path

from config.conftest import LoadText, ProblemsOf

from callgate.config.sources.environment_sources import EnvironmentSources, sources_of

MYSQL = {
    "MYSQL_HOST": "db",
    "MYSQL_PORT": "3307",
    "MYSQL_USER": "agent",
    "MYSQL_PASSWORD": "a/b@c#d?e:f%41 ${X}",
    "MYSQL_DATABASE": "shop",
    "MYSQL_ALLOW_WRITE": "true",
    "MYSQL_QUERY_TIMEOUT": "1500",
    "MYSQL_CONNECTION_LIMIT": "4",
    "MYSQL_SSL": "true",
    "MYSQL_SSL_CA": "/ca.pem",
    "MYSQL_SSL_CERT": "/cert.pem",
    "MYSQL_SSL_KEY": "/key.pem",
}


def test_the_mysql_variables_make_one_source(load_text: LoadText) -> None:
    (source,) = load_text("", MYSQL).config.sources
    dsn = source.dsn
    assert (source.id, source.mode, source.timeout_s, source.pool_size) == ("mysql", "write", 1.5, 4)
    assert source.from_environment
    assert (dsn.engine, dsn.host, dsn.port, dsn.user, dsn.database) == ("mysql", "db", 3307, "agent", "shop")
    assert dsn.password is not None
    assert dsn.password.get_secret_value() == MYSQL["MYSQL_PASSWORD"]
    assert dsn.params == {
        "ssl": "verify",
        "ssl_ca": "/ca.pem",
        "ssl_cert": "/cert.pem",
        "ssl_key": "/key.pem",
    }


def password_of(sources: EnvironmentSources) -> str:
    password = sources.specs["mysql"].dsn.password
    assert password is not None
    return password.get_secret_value()


def test_the_password_has_two_names_and_the_longer_one_wins() -> None:
    short = sources_of({"MYSQL_HOST": "db", "MYSQL_PASS": "a/b@c"})
    assert password_of(short) == "a/b@c"
    both = sources_of({"MYSQL_HOST": "db", "MYSQL_PASS": "short", "MYSQL_PASSWORD": "long"})
    assert password_of(both) == "long"
    (warning,) = both.warnings
    assert warning.key_path == "MYSQL_PASS"
    assert "short" not in str(warning)
    assert sources_of({"MYSQL_HOST": "db", "MYSQL_PASS": "x", "MYSQL_PASSWORD": "x"}).warnings == []


def test_a_host_is_enough_and_nothing_is_written() -> None:
    source = sources_of({"MYSQL_HOST": "::1"}).specs["mysql"]
    assert (source.mode, source.timeout_s, source.pool_size, source.dsn.params) == ("read_only", 30, 8, {})
    assert source.dsn.host == "::1"


def test_without_a_host_the_mysql_variables_make_nothing() -> None:
    assert sources_of({"MYSQL_USER": "agent", "MYSQL_PASSWORD": "x", "MYSQL_PORT": "bad"}).specs == {}


def test_encryption_follows_the_switch_and_then_the_certificates() -> None:
    assert sources_of({"MYSQL_HOST": "h", "MYSQL_SSL_CA": "/ca"}).specs["mysql"].dsn.params["ssl"] == "verify"
    off = sources_of({"MYSQL_HOST": "h", "MYSQL_SSL_CA": "/ca", "MYSQL_SSL": "false"})
    assert off.specs["mysql"].dsn.params["ssl"] == "off"


def test_every_bad_variable_is_named(problems_of: ProblemsOf) -> None:
    environ = {
        "MYSQL_HOST": "mysql://u:hunter2@h",
        "MYSQL_PORT": "0",
        "MYSQL_ALLOW_WRITE": "perhaps",
        "MYSQL_QUERY_TIMEOUT": "1s",
        "MYSQL_CONNECTION_LIMIT": "-1",
        "MYSQL_SSL": "maybe",
    }
    problems = problems_of('[[tools]]\nname = "t"\nsource = "mysql"\nsql = "SELECT 1"', environ)
    assert sorted(problem.key_path for problem in problems) == sorted(environ)
    assert "hunter2" not in str(problems)


def test_a_database_url_makes_a_source_named_after_its_engine(tmp_path: Path) -> None:
    for url, source_id in [
        ("postgresql://me:pw@db/shop", "postgres"),
        ("mariadb://me:pw@db/shop", "mysql"),
        ("sqlite:///x.db", "sqlite"),
        ("duckdb:///:memory:", "duckdb"),
    ]:
        (source,) = sources_of({"DATABASE_URL": url, "DSN": "sqlite:///other.db"}).specs.values()
        assert (source.id, source.from_environment, source.mode) == (source_id, True, "read_only")
    assert sources_of({"DSN": "sqlite:///x.db"}).specs["sqlite"].dsn.path == str(tmp_path / "x.db")


def test_a_mysql_url_listens_to_the_same_switches() -> None:
    environ = {"DATABASE_URL": "mysql://me@db/shop", "MYSQL_ALLOW_WRITE": "1", "MYSQL_QUERY_TIMEOUT": "2000"}
    source = sources_of(environ).specs["mysql"]
    assert (source.mode, source.timeout_s) == ("write", 2)


def test_a_bad_url_is_a_problem_that_does_not_repeat_it(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of("", {"DATABASE_URL": "redis://u:hunter2@h/0"})
    assert problem.key_path == "DATABASE_URL"
    assert "hunter2" not in str(problem)


def test_mysql_host_wins_over_a_mysql_url_with_a_warning(load_text: LoadText) -> None:
    loaded = load_text("", {"MYSQL_HOST": "a", "DATABASE_URL": "mysql://b/shop"})
    assert [source.dsn.host for source in loaded.config.sources] == ["a"]
    assert [warning.key_path for warning in loaded.warnings] == ["DATABASE_URL"]


def test_the_environment_replaces_the_file_s_source_of_the_same_id_with_a_warning(
    load_text: LoadText,
) -> None:
    text = (
        '[[sources]]\nid = "mysql"\ndsn = "mysql://file/shop"\n[[sources]]\nid = "b"\ndsn = "mysql://b/shop"'
    )
    loaded = load_text(text, {"MYSQL_HOST": "env"})
    assert {source.id: source.dsn.host for source in loaded.config.sources} == {"b": "b", "mysql": "env"}
    assert [warning.key_path for warning in loaded.warnings] == ["sources[0]"]


def test_a_server_cannot_have_the_name_of_an_environment_s_source(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of('[mcpServers.mysql]\nurl = "http://x/"', {"MYSQL_HOST": "db"})
    assert problem.key_path == "mcpServers.mysql"
    assert "MYSQL_HOST" in problem.message
