"""`[record] store` and `[replicas] database`: DuckDB files of our own, or a database by its address.

PostgreSQL's address may name several servers: `postgres://me:pw@a,b:5433/record`. ClickHouse's is that of its
HTTP interface. Both may name a second user, for the SQL of users. No sentence made here repeats a part of an
address: a password can sit anywhere in a malformed one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from callgate.config.reading.markers import ReadBy
from callgate.config.reading.mistakes import refusal
from callgate.config.secret import MASK, mask_url
from callgate.config.specs.dsn import Dsn, DsnError, EngineName, parse_dsn, refused_dsn
from callgate.model.near_miss import did_you_mean

DUCKDB = "duckdb"
POSTGRES = "postgres"  # the database of [replicas]
_DEFAULT_PORT = 5432
_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_READER, _READER_PASSWORD = "reader", "reader_password"
_READER_PARAMS: Mapping[str, tuple[str, ...]] = {_READER: (), _READER_PASSWORD: ()}
_PARAMS: Mapping[str, tuple[str, ...]] = {
    **_READER_PARAMS,
    "sslmode": _MODES,
    "sslrootcert": (),
    "sslcert": (),
    "sslkey": (),
    "target_session_attrs": ("any", "primary", "read-write"),
}
_HINT = 'Write "duckdb", postgres://user:${PASSWORD}@host/database, or clickhouse://user:${PASSWORD}@host/database.'
_DATABASE_HINT = "Write postgres://user:${PASSWORD}@host/database."
# By scheme, whether it is TLS.
_CLICKHOUSE = {"clickhouse": False, "clickhouses": True}
_CLICKHOUSE_PORTS = {False: 8123, True: 8443}
_CLICKHOUSE_PARAMS: Mapping[str, tuple[str, ...]] = {
    "secure": ("0", "1"),
    "sslrootcert": (),
    **_READER_PARAMS,
}


@dataclass(frozen=True, slots=True, repr=False)
class ClickhouseAddressSpec:
    server: Dsn  # as if it were a PostgreSQL's: the grammar is the same
    is_secure: bool

    @property
    def port(self) -> int:
        return self.server.port or _CLICKHOUSE_PORTS[self.is_secure]

    @property
    def login(self) -> tuple[str, str]:
        """User and password."""
        password = self.server.password
        return self.server.user or "default", password.get_secret_value() if password is not None else ""

    @property
    def reader(self) -> tuple[str, str] | None:
        return _reader_of(self.server)

    @property
    def shown(self) -> str:
        return f"{_host(self.server.host)}:{self.port}/{self.server.database}"


@dataclass(frozen=True, slots=True, repr=False)
class StoreAddressSpec:
    postgres: Dsn | None = None  # may name several servers
    is_of_replicas: bool = False  # the word alone was written: see `Config.store`
    clickhouse: ClickhouseAddressSpec | None = None  # none of the three: DuckDB files

    @property
    def is_postgres(self) -> bool:
        return self.postgres is not None or self.is_of_replicas

    @property
    def is_database(self) -> bool:
        return self.is_postgres or self.clickhouse is not None

    @property
    def dsn(self) -> str:
        """With its password."""
        found = self._found()
        return self._dsn_of(found.user, found.password.get_secret_value() if found.password else None)

    @property
    def reader_dsn(self) -> str | None:
        """Of the second user, with its password; None: there is none."""
        reader = _reader_of(self._found())
        return None if reader is None else self._dsn_of(reader[0], reader[1] or None)

    def _dsn_of(self, name: str | None, password: str | None) -> str:
        found = self._found()
        secret = f":{quote(password, safe='')}" if password is not None else ""
        user = f"{quote(name, safe='')}{secret}@" if name is not None else ""
        named = {name: value for name, value in found.params.items() if name not in _READER_PARAMS}
        params = "&".join(f"{name}={quote(value, safe='')}" for name, value in named.items())
        database = quote(found.database or "", safe="")
        return f"postgresql://{user}{self._hosts}/{database}{'?' if params else ''}{params}"

    @property
    def shown(self) -> str:
        """Servers and database."""
        return f"{self._hosts}/{self._found().database or ''}"

    @property
    def _hosts(self) -> str:
        found = self._found()
        hosts = ((found.host, found.port), *found.others)
        return ",".join(f"{_host(host)}:{port or _DEFAULT_PORT}" for host, port in hosts)

    def _found(self) -> Dsn:
        assert self.postgres is not None
        return self.postgres

    def __str__(self) -> str:
        if self.clickhouse is not None:
            scheme = "clickhouses" if self.clickhouse.is_secure else "clickhouse"
            return f"{scheme}://{MASK}@{self.clickhouse.shown}"
        if self.postgres is not None:
            return mask_url(self.dsn)
        return POSTGRES if self.is_of_replicas else DUCKDB

    def __repr__(self) -> str:
        return f"StoreAddressSpec({str(self)!r})"


def mask_store(written: str) -> str:
    """As it was written, its `${VAR}` unfilled, without what else in it may be secret."""
    return mask_url(written) if "://" in written else written


def _host(host: str | None) -> str:
    return f"[{host}]" if host is not None and ":" in host else host or "localhost"


def read_store(value: Any) -> StoreAddressSpec:
    """Raises RefusedValueError."""
    if isinstance(value, StoreAddressSpec):
        return value
    if not isinstance(value, str):
        raise refusal("a string is expected", _HINT)
    if "://" not in value:
        if value in (DUCKDB, POSTGRES):
            return StoreAddressSpec(is_of_replicas=value == POSTGRES)
        hint = did_you_mean(value, [DUCKDB, POSTGRES]) or _HINT
        raise refusal("this is neither duckdb nor the address of a database", hint)
    return _read_address(value)


def _read_database(value: Any) -> StoreAddressSpec:
    if isinstance(value, StoreAddressSpec):
        return value
    if not isinstance(value, str):
        raise refusal("a string is expected", _DATABASE_HINT)
    if "://" not in value:
        raise refusal("this is not the address of a database", _DATABASE_HINT)
    found = _read_address(value)
    if found.clickhouse is not None:
        raise refusal("replicas cannot meet in ClickHouse", _DATABASE_HINT)
    return found


def _read_address(text: str) -> StoreAddressSpec:
    try:
        scheme, _, rest = text.strip().partition("://")
        if scheme.lower() in _CLICKHOUSE:
            return StoreAddressSpec(clickhouse=_clickhouse(_CLICKHOUSE[scheme.lower()], rest))
        return StoreAddressSpec(_postgres(text))
    except DsnError as error:
        refused = refused_dsn(error)
    raise refused


def _postgres(text: str) -> Dsn:
    found = parse_dsn(text)
    if found.engine is not EngineName.POSTGRES:
        raise DsnError(f"the record cannot be kept in {found.engine}, and replicas cannot meet there", _HINT)
    if not found.database:
        raise DsnError("the name of the database is missing", _HINT)
    _check_params(found, _PARAMS)
    return found


def _clickhouse(is_secure: bool, rest: str) -> ClickhouseAddressSpec:
    server = parse_dsn(f"postgres://{rest}")
    if server.others:
        raise DsnError("a ClickHouse is named by one host", "Name the one server that keeps the record.")
    if not server.host:
        raise DsnError("the host is missing", _HINT)
    if not server.database:
        raise DsnError("the name of the database is missing", _HINT)
    _check_params(server, _CLICKHOUSE_PARAMS)
    return ClickhouseAddressSpec(server, is_secure or server.params.get("secure") == "1")


def _reader_of(dsn: Dsn) -> tuple[str, str] | None:
    """User and password."""
    params = dsn.params
    return (params[_READER], params.get(_READER_PASSWORD, "")) if params.get(_READER) else None


def _check_params(dsn: Dsn, known: Mapping[str, tuple[str, ...]]) -> None:
    for name, value in dsn.params.items():
        if name not in known:
            hint = did_you_mean(name, known) or f"Known are {', '.join(known)}."
            raise DsnError('a parameter after the "?" is not known here', hint)
        if known[name] and value not in known[name]:
            raise DsnError(f"{name} has a value that is not known", f"Write one of {', '.join(known[name])}.")
    if _READER_PASSWORD in dsn.params and not dsn.params.get(_READER):
        raise DsnError("reader_password is given without reader", "Write ?reader=name&reader_password=…")


StoreField = Annotated[
    StoreAddressSpec,
    ReadBy(
        read_store,
        {
            "type": "string",
            "examples": [
                DUCKDB,
                POSTGRES,
                "postgres://me:${PASSWORD}@db/callgate",
                "clickhouse://me:${PASSWORD}@db/callgate",
            ],
        },
    ),
]
DatabaseField = Annotated[
    StoreAddressSpec,
    ReadBy(_read_database, {"type": "string", "examples": ["postgres://me:${PASSWORD}@db/callgate"]}),
]
