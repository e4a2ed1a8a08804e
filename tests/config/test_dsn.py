import pytest

from callgate.config.specs.dsn import Dsn, DsnError, EngineName, parse_dsn


def password_of(dsn: Dsn) -> str | None:
    return dsn.password.get_secret_value() if dsn.password is not None else None


def test_a_mysql_address_is_taken_apart() -> None:
    dsn = parse_dsn("mysql://agent:pa%40ss@db.local:3307/shop?ssl=verify&charset=utf8mb4")
    assert (dsn.engine, dsn.scheme, dsn.user, password_of(dsn)) == (
        EngineName.MYSQL,
        "mysql",
        "agent",
        "pa@ss",
    )
    assert (dsn.host, dsn.port, dsn.database, dsn.path) == ("db.local", 3307, "shop", None)
    assert dsn.params == {"ssl": "verify", "charset": "utf8mb4"}


@pytest.mark.parametrize(
    ("scheme", "engine"),
    [
        ("mysql", "mysql"),
        ("mariadb", "mysql"),
        ("postgres", "postgres"),
        ("postgresql", "postgres"),
        ("POSTGRES", "postgres"),
    ],
)
def test_every_spelling_of_a_scheme_leads_to_its_engine(scheme: str, engine: str) -> None:
    assert parse_dsn(f"{scheme}://me@localhost/shop").engine == engine


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("sqlite:///shop.db", "shop.db"),
        ("sqlite:////var/lib/shop.db", "/var/lib/shop.db"),
        ("sqlite:///data/my%20shop.db", "data/my shop.db"),
        ("duckdb:///:memory:", ":memory:"),
    ],
)
def test_three_slashes_are_relative_and_four_absolute(text: str, path: str) -> None:
    assert parse_dsn(text).path == path


def test_a_file_database_can_carry_params() -> None:
    dsn = parse_dsn("sqlite:///x.db?schema=shop")
    assert (dsn.path, dsn.params) == ("x.db", {"schema": "shop"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sqlite:///x.db?schema=main", "main and temp are names"),
        ("sqlite:///x.db?schema=Temp", "main and temp are names"),
        ("sqlite:///x.db?schema=", "is empty"),
        ("sqlite:///x.db?schema=a%00b", "not printable"),
        ("sqlite:///x.db?shcema=x", 'Did you mean "schema"?'),
        ("sqlite:///x.db?hunter2=x", "only parameter is schema"),
        ("sqlite:///:memory:", "always empty"),
        ("sqlite:///%3Amemory%3A?schema=x", "always empty"),
    ],
)
def test_a_sqlite_address_that_cannot_work_is_refused_with_advice(text: str, words: str) -> None:
    with pytest.raises(DsnError) as caught:
        parse_dsn(text)
    assert words in f"{caught.value.message} {caught.value.hint}"
    assert "hunter2" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("text", ["sqlite:///", "sqlite:///:memory:"])
def test_no_advice_recommends_an_empty_database(text: str) -> None:
    with pytest.raises(DsnError) as caught:
        parse_dsn(text)
    assert ":memory:" not in caught.value.hint
    assert "sqlite:////absolute.db" in caught.value.hint


def test_params_of_other_engines_are_passed_on() -> None:
    assert parse_dsn("mysql://h/d?anything=x").params == {"anything": "x"}
    assert parse_dsn("duckdb:///x.db?anything=x").params == {"anything": "x"}


def test_an_ipv6_host_stands_in_brackets() -> None:
    dsn = parse_dsn("postgres://me@[::1]:5433/shop")
    assert (dsn.host, dsn.port) == ("::1", 5433)
    assert str(dsn) == "postgres://me@[::1]:5433/shop"
    assert parse_dsn("postgres://me@[::1]/shop").port is None


def test_a_password_may_hold_colons_and_at_signs() -> None:
    dsn = parse_dsn("mysql://root:a:b@c@localhost/shop")
    assert (dsn.user, password_of(dsn), dsn.host) == ("root", "a:b@c", "localhost")


def test_a_password_given_as_a_param_is_held_like_any_other() -> None:
    dsn = parse_dsn("postgres://localhost/shop?user=me&password=hunter2")
    assert (dsn.user, password_of(dsn), dsn.params) == ("me", "hunter2", {})


def test_an_unknown_scheme_is_answered_with_the_nearest_known_one() -> None:
    with pytest.raises(DsnError) as caught:
        parse_dsn("postgre://me:hunter2@localhost/shop")
    assert "mysql://" in caught.value.message
    assert caught.value.hint in ('Did you mean "postgres"?', 'Did you mean "postgresql"?')


@pytest.mark.parametrize(
    "text",
    [
        "hunter2",
        "",
        "mysql:hunter2",
        "mysql://root:hunter2/x@localhost/shop",
        "mysql://root:12/hunter2@localhost/shop",
        "mysql://root:12?hunter2@localhost/shop",
        "mysql://root:12?a=hunter2@localhost/shop",
        "mysql://root:12#hunter2@localhost/shop",
        "mysql://root:hunter2@local host/shop",
        "mysql://root:hunter2@localhost:port/shop",
        "mysql://root:hunter2@localhost:99999/shop",
        "mysql://root:hunter2@localhost:²/shop",
        "mysql://root@localhost/shop?hunter2",
        "mysql://root@localhost/shop?a=1&a=hunter2",
        "sqlite://hunter2.db",
        "sqlite:///",
    ],
)
def test_a_malformed_address_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(DsnError) as caught:
        parse_dsn(text)
    assert "hunter2" not in caught.value.message + caught.value.hint + repr(caught.value)


def test_neither_repr_nor_str_shows_a_secret() -> None:
    dsn = parse_dsn("mysql://root:hunter2@localhost/shop?sslpassword=hunter3&ssl=verify")
    assert str(dsn) == "mysql://root:***@localhost/shop?sslpassword=***&ssl=verify"
    assert "hunter" not in repr(dsn) + f"{dsn}" + f"{dsn!s}"
    assert hash(dsn) == hash(parse_dsn("mysql://root:hunter2@localhost/shop?sslpassword=hunter3&ssl=verify"))
