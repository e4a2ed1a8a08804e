"""Addresses as clouds, frameworks and other tools hand them out, pasted as they are.

The shapes are theirs; hosts, names and passwords are ours.
"""

from dataclasses import dataclass, field

import pytest

from callgate.config.specs.dsn import DsnError, EngineName, parse_dsn
from callgate.config.specs.server_params import read_server_params


@dataclass(frozen=True)
class Meant:
    tls: str
    host: str | None = "db.example"
    database: str | None = "shop"
    user: str | None = "app"
    port: int | None = None
    others: tuple[tuple[str, int | None], ...] = ()
    ignored: tuple[str, ...] = ()
    more: dict[str, object] = field(default_factory=dict[str, object])


PG = "postgresql://app:pw@db.example/shop"
MY = "mysql://app:pw@db.example/shop"
UNDERSTOOD: dict[str, tuple[str, Meant]] = {
    "Neon": (
        f"{PG}?sslmode=require&channel_binding=require",
        Meant("unverified", more={"channel_binding": "require"}),
    ),
    "Neon, its endpoint as an option": (
        f"{PG}?sslmode=require&options=endpoint%3Dep-cool-1",
        Meant("unverified", more={"options": "endpoint=ep-cool-1"}),
    ),
    "Supabase, direct": (
        "postgresql://postgres:pw@db.example:5432/postgres",
        Meant("verify", user="postgres", database="postgres", port=5432),
    ),
    "Supabase, pooler": (
        "postgres://app.ref:pw@db.example:6543/shop?pgbouncer=true",
        Meant("verify", user="app.ref", port=6543, ignored=("pgbouncer",)),
    ),
    "Supabase with Prisma": (
        f"{PG}?pgbouncer=true&connection_limit=1",
        Meant("verify", ignored=("pgbouncer", "connection_limit")),
    ),
    "Prisma": (
        f"{PG}?schema=public&connect_timeout=300&pool_timeout=10",
        Meant("verify", ignored=("schema", "pool_timeout"), more={"connect_timeout_s": 60.0}),
    ),
    "Prisma with a certificate": (f"{PG}?sslmode=require&sslaccept=strict", Meant("verify")),
    "Prisma, any certificate": (f"{PG}?sslmode=require&sslaccept=accept_invalid_certs", Meant("unverified")),
    "Heroku": (f"{PG}?sslmode=require", Meant("unverified")),
    "Render": ("postgresql://app:pw@dpg-1-a.db.example/shop", Meant("verify", host="dpg-1-a.db.example")),
    "Railway": ("postgresql://app:pw@db.example:41234/shop", Meant("verify", port=41234)),
    "DigitalOcean, PostgreSQL": (
        "postgresql://app:pw@db.example:25060/shop?sslmode=require",
        Meant("unverified", port=25060),
    ),
    "DigitalOcean, MySQL": (
        "mysql://app:pw@db.example:25060/shop?ssl-mode=REQUIRED",
        Meant("unverified", port=25060),
    ),
    "Aiven, PostgreSQL": (
        "postgres://app:pw@db.example:12345/shop?sslmode=require",
        Meant("unverified", port=12345),
    ),
    "Aiven, MySQL": (
        "mysql://app:pw@db.example:12345/shop?ssl-mode=REQUIRED",
        Meant("unverified", port=12345),
    ),
    "Amazon RDS with its authority": (f"{PG}?sslmode=verify-full&sslrootcert=/etc/rds.pem", Meant("verify")),
    "an authority with require, as libpq means it": (
        f"{PG}?sslmode=require&sslrootcert=/etc/rds.pem",
        Meant("verify-ca"),
    ),
    "the system's authorities": (
        f"{PG}?sslmode=verify-full&sslrootcert=system",
        Meant("verify", more={"ca_file": None}),
    ),
    "the system's authorities with require": (
        f"{PG}?sslmode=require&sslrootcert=system",
        Meant("verify", more={"ca_file": None}),
    ),
    "Azure": (
        "postgresql://app%40srv:pw@db.example:5432/shop?sslmode=require",
        Meant("unverified", user="app@srv", port=5432),
    ),
    "Google Cloud SQL's socket": (
        "postgresql://app:pw@/shop?host=/cloudsql/p:r:i",
        Meant("prefer", host=None, more={"socket": "/cloudsql/p:r:i"}),
    ),
    "Google Cloud SQL's socket, escaped": (
        "postgresql://app:pw@%2Fcloudsql%2Fp%3Ar%3Ai/shop",
        Meant("prefer", host=None, more={"socket": "/cloudsql/p:r:i"}),
    ),
    "Google Cloud SQL, MySQL": (
        "mysql+pymysql://app:pw@/shop?unix_socket=/cloudsql/p:r:i",
        Meant("prefer", host=None, more={"socket": "/cloudsql/p:r:i"}),
    ),
    "CockroachDB's cluster option": (
        f"{PG}?sslmode=verify-full&options=--cluster%3Dshop-1",
        Meant("verify", more={"options": "--cluster=shop-1"}),
    ),
    "PlanetScale": (f"{MY}?sslaccept=strict", Meant("verify")),
    "PlanetScale, Node": (f'{MY}?ssl={{"rejectUnauthorized":true}}', Meant("verify")),
    "PlanetScale, Node, escaped": (f"{MY}?ssl=%7B%22rejectUnauthorized%22%3Atrue%7D", Meant("verify")),
    "any certificate, Node": (f'{MY}?ssl={{"rejectUnauthorized":false}}', Meant("unverified")),
    "TiDB, Python": (
        "mysql+pymysql://pre.root:pw@db.example:4000/shop?ssl_ca=/etc/ssl/cert.pem&ssl_verify_cert=true&ssl_verify_identity=true",
        Meant("verify", user="pre.root", port=4000),
    ),
    "TiDB, Java": (
        "jdbc:mysql://db.example:4000/shop?user=app&password=pw&sslMode=VERIFY_IDENTITY&useServerPrepStmts=true",
        Meant("verify", port=4000, ignored=("useServerPrepStmts",)),
    ),
    "TiDB, Go": (
        "mysql://app:pw@db.example:4000/shop?tls=true&parseTime=true",
        Meant("verify", port=4000, ignored=("parseTime",)),
    ),
    "Go, any certificate": (
        f"{MY}?tls=skip-verify&loc=Local&charset=utf8mb4",
        Meant("unverified", ignored=("loc", "charset")),
    ),
    "SQLAlchemy with psycopg2": ("postgresql+psycopg2://app:pw@db.example/shop", Meant("verify")),
    "SQLAlchemy with psycopg": (
        "postgresql+psycopg://app:pw@db.example/shop?application_name=jobs",
        Meant("verify", more={"application_name": "jobs"}),
    ),
    "SQLAlchemy with asyncpg": (
        "postgresql+asyncpg://app:pw@db.example/shop?ssl=require&prepared_statement_cache_size=0",
        Meant("unverified", ignored=("prepared_statement_cache_size",)),
    ),
    "SQLAlchemy with mysqlconnector": (
        "mysql+mysqlconnector://app:pw@db.example/shop?charset=utf8mb4&collation=utf8mb4_bin",
        Meant("verify", ignored=("charset", "collation")),
    ),
    "SQLAlchemy with MariaDB": ("mariadb+mariadbconnector://app:pw@db.example/shop", Meant("verify")),
    "Django": ("postgis://app:pw@db.example/shop", Meant("verify")),
    "Rails, MySQL": (
        "mysql2://app:pw@db.example/shop?encoding=utf8mb4&reconnect=true&pool=5",
        Meant("verify", ignored=("encoding", "reconnect", "pool")),
    ),
    "Rails, PostgreSQL": (
        f"{PG}?prepared_statements=false",
        Meant("verify", ignored=("prepared_statements",)),
    ),
    "Laravel": ("pgsql://app:pw@db.example/shop?charset=utf8", Meant("verify", ignored=("charset",))),
    "Doctrine": (
        f"{MY}?serverVersion=8.0.37&charset=utf8mb4",
        Meant("verify", ignored=("serverVersion", "charset")),
    ),
    "Java, PostgreSQL": (
        "jdbc:postgresql://db.example:5432/shop?user=app&password=pw&ssl=true&sslmode=require&ApplicationName=jobs",
        Meant("verify", port=5432, more={"application_name": "jobs"}),
    ),
    "Java, schema and threshold": (
        "jdbc:postgresql://db.example/shop?user=app&password=pw&currentSchema=shop&prepareThreshold=0",
        Meant("verify", ignored=("currentSchema", "prepareThreshold")),
    ),
    "Java, two hosts": (
        "jdbc:postgresql://a.example:5432,b.example:5433/shop?user=app&targetServerType=primary",
        Meant(
            "verify",
            host="a.example",
            port=5432,
            others=(("b.example", 5433),),
            more={"session_attrs": "primary"},
        ),
    ),
    "Java, MySQL": (
        "jdbc:mysql://db.example:3306/shop?user=app&useSSL=true&serverTimezone=UTC&connectTimeout=5000",
        Meant("verify", port=3306, ignored=("serverTimezone",), more={"connect_timeout_s": 5.0}),
    ),
    "Java, MySQL, any certificate": (
        "jdbc:mysql://db.example/shop?user=app&useSSL=true&verifyServerCertificate=false&allowPublicKeyRetrieval=true",
        Meant("unverified", more={"fetches_server_key": True}),
    ),
    "Java, MariaDB": ("jdbc:mariadb://db.example/shop?user=app&sslMode=trust", Meant("unverified")),
    "libpq, several hosts": (
        "postgresql://app:pw@a.example:5432,b.example/shop?target_session_attrs=read-write",
        Meant(
            "verify",
            host="a.example",
            port=5432,
            others=(("b.example", None),),
            more={"session_attrs": "read-write"},
        ),
    ),
    "libpq, hosts as parameters": (
        "postgresql:///shop?host=a.example,b.example&port=5432,5433&user=app",
        Meant("verify", host="a.example", port=5432, others=(("b.example", 5433),)),
    ),
    "libpq, a standby first": (
        f"{PG}?target_session_attrs=prefer-standby",
        Meant("verify", more={"session_attrs": "prefer-standby"}),
    ),
    "libpq, its limits": (
        f"{PG}?connect_timeout=10&application_name=jobs&keepalives=1&tcp_user_timeout=1",
        Meant(
            "verify",
            ignored=("keepalives", "tcp_user_timeout"),
            more={"connect_timeout_s": 10.0, "application_name": "jobs"},
        ),
    ),
    "libpq, no limit": (
        f"{PG}?connect_timeout=0&sslmode=verify-full",
        Meant("verify", more={"connect_timeout_s": None}),
    ),
    "libpq, its usual TLS negotiation": (
        f"{PG}?sslnegotiation=postgres",
        Meant("verify", ignored=("sslnegotiation",)),
    ),
    "libpq, the database as a parameter": ("postgresql://app:pw@db.example/?dbname=shop", Meant("verify")),
    "Node, any certificate": (f"{PG}?sslmode=no-verify", Meant("unverified")),
    "Node, MySQL": (
        f"{MY}?connectionLimit=5&waitForConnections=true&dateStrings=true&timezone=Z",
        Meant("verify", ignored=("connectionLimit", "waitForConnections", "dateStrings", "timezone")),
    ),
    "a password with everything in it": ("postgres://app:p%40s%2Fs%3Fw%23d@db.example/shop", Meant("verify")),
    "IPv6": ("postgres://app:pw@[2001:db8::1]:5432/shop", Meant("verify", host="2001:db8::1", port=5432)),
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_an_address_works_as_pasted(name: str) -> None:
    text, meant = UNDERSTOOD[name]
    dsn = parse_dsn(text)
    params = read_server_params(dsn)
    assert (dsn.host, dsn.port, dsn.others) == (meant.host, meant.port, meant.others)
    assert (dsn.database, dsn.user) == (meant.database, meant.user)
    assert params.tls_mode == meant.tls
    assert tuple(ignored for ignored, _ in params.ignored) == meant.ignored
    for attribute, value in meant.more.items():
        found = getattr(params, attribute)
        assert (str(found) if attribute == "socket" else found) == value


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{PG}?sslcrl=/crl.pem", "sslcrl"),
        (f"{PG}?require_auth=scram-sha-256", "require_auth"),
        (f"{PG}?sslnegotiation=direct", "sslnegotiation"),
        (f"{PG}?hostaddr=10.0.0.1", "hostaddr"),
        (f"{PG}?replication=database", "replication"),
        (f"{PG}?channel_binding=perhaps", "channel_binding"),
        (f"{PG}?target_session_attrs=mine", "target_session_attrs"),
        (f"{PG}?sslmode=prefer", "ssl=prefer"),
        (f"{MY}?sessionVariables=sql_mode=ANSI", "sessionVariables"),
        (f"{MY}?channel_binding=require", "channel_binding"),
        (f'{MY}?ssl={{"ca":"x"}}', "ssl"),
        (f"{MY}?wholly_new=1", "wholly_new"),
        ("mongodb+srv://app:pw@db.example/shop", "mysql://"),
        ("sqlserver://db.example;database=shop", "mysql://"),
        ("jdbc:oracle:thin:@db.example:1521/shop", "mysql://"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(DsnError) as caught:
        read_server_params(parse_dsn(text))
    assert named in f"{caught.value.message} {caught.value.hint}"
    assert "pw" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("jdbc:sqlite:shop.db", "shop.db"),
        ("jdbc:sqlite:/data/shop.db", "/data/shop.db"),
        ("jdbc:duckdb:shop.duckdb", "shop.duckdb"),
        ("sqlite+aiosqlite:///shop.db", "shop.db"),
        ("sqlite3:////data/shop.db", "/data/shop.db"),
    ],
)
def test_addresses_of_files_work_as_pasted(text: str, path: str) -> None:
    dsn = parse_dsn(text)
    assert (dsn.path, dsn.engine in (EngineName.SQLITE, EngineName.DUCKDB)) == (path, True)
