"""The servers and proxies that the suites are run on, and the packages that they come from."""

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    MACHINE = "installed on this machine"
    DEBIAN = "Debian"
    UBUNTU = "Ubuntu"


class Kind(StrEnum):
    MYSQL = "mysql"
    POSTGRES = "postgres"
    # A proxy stands in front of a server of this catalogue.
    PGBOUNCER = "pgbouncer"
    ROUTER = "router"
    HAPROXY = "haproxy"


@dataclass(frozen=True)
class Entry:
    name: str
    kind: Kind
    origin: Origin
    suite: str = ""
    packages: tuple[str, ...] = ()
    # What the version begins with: a suite that moves on must not change what the table says.
    version: str = ""
    # Of a proxy: the server behind it.
    behind: str | None = None
    # Of a proxy: another entry with the same program.
    program_of: str | None = None

    @property
    def is_proxy(self) -> bool:
        return self.behind is not None


_MYSQL = ("mysql-server-core", "mysql-client-core")
_MYSQL_80 = ("mysql-server-core-8.0", "mysql-client-core-8.0")
# The whole server's package brings the plugins of further logins (parsec, ed25519).
_MARIADB = ("mariadb-server-core", "mariadb-client-core", "mariadb-server")

CATALOGUE = (
    Entry("mariadb-10", Kind.MYSQL, Origin.MACHINE),
    Entry("mariadb-11", Kind.MYSQL, Origin.DEBIAN, "trixie", _MARIADB, "1:11."),
    Entry("mysql-8.0", Kind.MYSQL, Origin.UBUNTU, "noble", _MYSQL_80, "8.0."),
    Entry("mysql-8.4", Kind.MYSQL, Origin.UBUNTU, "resolute", _MYSQL, "8.4."),
    Entry("mysql-9", Kind.MYSQL, Origin.DEBIAN, "sid", _MYSQL, "9."),
    Entry("postgresql-15", Kind.POSTGRES, Origin.MACHINE),
    Entry("postgresql-17", Kind.POSTGRES, Origin.DEBIAN, "trixie", ("postgresql-17",), "17."),
    Entry("postgresql-18", Kind.POSTGRES, Origin.DEBIAN, "sid", ("postgresql-18",), "18."),
    Entry("pgbouncer", Kind.PGBOUNCER, Origin.DEBIAN, "sid", ("pgbouncer",), "1.", "postgresql-18"),
    Entry("router", Kind.ROUTER, Origin.DEBIAN, "sid", ("mysql-router",), "9.", "mysql-9"),
    Entry("haproxy-mysql", Kind.HAPROXY, Origin.DEBIAN, "trixie", ("haproxy",), "3.", "mysql-9"),
    Entry(
        "haproxy-postgresql",
        Kind.HAPROXY,
        Origin.DEBIAN,
        "trixie",
        ("haproxy",),
        "3.",
        "postgresql-18",
        program_of="haproxy-mysql",
    ),
)
BY_NAME = {entry.name: entry for entry in CATALOGUE}
