"""A database's address: what the operator wrote as `dsn`, taken apart, its password held back.

Owns the grammar of DSNs. Must not know drivers: params are kept as text.
Rules
1. No sentence made here repeats more of the text than its scheme: in a malformed DSN the password can sit
   anywhere.
2. `repr` and `str` show the address with its password and secret-looking params masked.
3. What could be half of a password with an unescaped "/", "?" or "#" in it is refused, not guessed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, unquote

from callgate.config.problem import ConfigProblem
from callgate.config.reading.mistakes import RefusedValueError, refusal
from callgate.config.secret import MASK, Secret, mask_named, mask_url
from callgate.model.near_miss import did_you_mean


class EngineName(StrEnum):
    MYSQL = "mysql"
    POSTGRES = "postgres"
    SQLITE = "sqlite"
    DUCKDB = "duckdb"


ENGINE_BY_SCHEME = {
    "mysql": EngineName.MYSQL,
    "mariadb": EngineName.MYSQL,
    "postgres": EngineName.POSTGRES,
    "postgresql": EngineName.POSTGRES,
    "sqlite": EngineName.SQLITE,
    "duckdb": EngineName.DUCKDB,
}
# As other programs write them: Rails, Django, Doctrine, Laravel.
_OTHER_SCHEMES = {
    "mysql2": "mysql",
    "pgsql": "postgres",
    "postgis": "postgres",
    "sqlite3": "sqlite",
}
MEMORY_PATH = ":memory:"
# SQLite's own names for what is always there: no file can be attached under them.
_TAKEN_SCHEMAS = ("main", "temp")
_SQLITE_PARAMS = ("schema",)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+._-]{0,40}")
# Java's form. Its file databases have no slashes: jdbc:sqlite:shop.db
_JDBC = re.compile(r"jdbc:(?P<file>(?:sqlite|duckdb):(?!//))?", re.IGNORECASE)
_PARAM_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# Of servers: certificates and their like (`server_params`).
_FILE_PARAM = re.compile(
    r"ssl[-_]?(?:ca|cert|key|rootcert)|(?:unix_)?socket|passfile"
    r"|server[-_]public[-_]key(?:[-_]path)?|serverrsapublickeyfile",
    re.IGNORECASE,
)
_MARK = re.compile(r"\$\{[^}]*\}")
_HOST = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.%]+\]")
_ESCAPE_HINT = 'Write "@" as %40, "/" as %2F, "?" as %3F, "#" as %23 inside a user name or password.'


@dataclass(frozen=True, slots=True, repr=False)
class Dsn:
    engine: EngineName
    scheme: str  # a key of ENGINE_BY_SCHEME: `mariadb` is spoken to as mysql, but may be shown as itself
    user: str | None = None
    password: Secret | None = None
    host: str | None = None
    port: int | None = None  # None: the engine's own default
    others: tuple[tuple[str, int | None], ...] = ()  # hosts and ports to try after the first
    database: str | None = None  # servers: the database named after the host
    path: str | None = None  # files: where the database lies, or ":memory:"
    params: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    def __str__(self) -> str:
        if self.path is not None:
            address = f"{self.scheme}:///{quote(self.path, safe='/:@ ')}"
        else:
            user = quote(self.user, safe="") if self.user is not None else ""
            secret = f":{MASK}" if self.password is not None else ""
            at = "@" if user or secret else ""
            hosts = ",".join(_shown(*one) for one in ((self.host, self.port), *self.others))
            database = f"/{quote(self.database, safe='')}" if self.database is not None else ""
            address = f"{self.scheme}://{user}{secret}{at}{hosts}{database}"
        params = "&".join(
            f"{name}={quote(mask_named(name, value), safe='/:*')}" for name, value in self.params.items()
        )
        return f"{address}?{params}" if params else address

    def __repr__(self) -> str:
        return f"Dsn({str(self)!r})"

    def anchored_at(self, folder: Path) -> "Dsn":
        """Relative file paths made absolute: what they are relative to must not depend on who starts us."""
        if self.path == MEMORY_PATH:
            return self
        if self.path is not None:
            return replace(self, path=str(folder / self.path))
        return replace(
            self,
            params={
                name: str(folder / value) if _names_file(name, value) else value
                for name, value in self.params.items()
            },
        )


def _names_file(name: str, value: str) -> bool:
    # sslrootcert=system: the authorities that the system trusts, in libpq's words.
    return bool(_FILE_PARAM.fullmatch(name) and value) and value != "system"


def _shown(host: str | None, port: int | None) -> str:
    name = f"[{host}]" if host is not None and ":" in host else host or ""
    return name if port is None else f"{name}:{port}"


def is_host(text: str) -> bool:
    """A host name or an address, an IPv6 one in brackets."""
    return _HOST.fullmatch(text) is not None


class DsnError(ValueError):
    """Carries no part of the text."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def at(self, place: str) -> ConfigProblem:
        return ConfigProblem(place, self.message, self.hint)


def refused_dsn(error: DsnError) -> RefusedValueError:
    """To be raised outside of the handler: nothing of the text travels with it."""
    return refusal(error.message, error.hint)


def parse_dsn(text: str) -> Dsn:
    written, separator, rest = _without_jdbc(text.strip()).partition("://")
    known = ", ".join(f"{name}://" for name in ENGINE_BY_SCHEME)
    if not separator or not _SCHEME.fullmatch(written):
        raise DsnError("this is not a database address", f"Begin with one of {known}.")
    # postgresql+psycopg2, mysql+pymysql: which driver another program uses is nothing to us.
    scheme = written.lower().partition("+")[0]
    scheme = _OTHER_SCHEMES.get(scheme, scheme)
    engine = ENGINE_BY_SCHEME.get(scheme)
    if engine is None:
        hint = did_you_mean(scheme, ENGINE_BY_SCHEME)
        raise DsnError(f'"{written}" is not one of the known schemes {known}', hint)
    address, _, query = rest.partition("?")
    if engine in (EngineName.SQLITE, EngineName.DUCKDB):
        return _parse_file(engine, scheme, address, _parse_params(query))
    if "#" in rest:
        raise DsnError('there is a "#" in the address', _ESCAPE_HINT)
    if "@" in query:
        raise DsnError('there is an "@" after the "?"', _ESCAPE_HINT)
    return _parse_server(engine, scheme, address, _parse_params(query))


def _without_jdbc(text: str) -> str:
    found = _JDBC.match(text)
    if found is None:
        return text
    rest = text[found.end() :]
    return f"{found['file']}///{rest}" if found["file"] else rest


def _parse_file(engine: EngineName, scheme: str, address: str, params: dict[str, str]) -> Dsn:
    path = unquote(address[1:])
    if not address.startswith("/") or not path or "\x00" in path:
        memory = f", or {scheme}:///{MEMORY_PATH}" if engine is EngineName.DUCKDB else ""
        raise DsnError(
            "the path of the database file is missing",
            f"Write {scheme}:///relative.db or {scheme}:////absolute.db{memory}.",
        )
    if engine is EngineName.SQLITE:
        _check_sqlite(path, params)
    return Dsn(engine, scheme, path=path, params=params)


def _check_sqlite(path: str, params: Mapping[str, str]) -> None:
    if path == MEMORY_PATH:
        hint = "Name a file: sqlite:///relative.db or sqlite:////absolute.db."
        raise DsnError("a new SQLite database in memory is always empty, nothing could be read from it", hint)
    for name in params:
        if name not in _SQLITE_PARAMS:
            hint = did_you_mean(name, _SQLITE_PARAMS) or "The only parameter is schema."
            raise DsnError('a parameter after the "?" is not known for SQLite', hint)
    schema = params.get("schema")
    if schema is None:
        return
    if schema.lower() in _TAKEN_SCHEMAS:
        hint = "Choose another name for the file's tables, or leave schema out: main.table works without it."
        raise DsnError(f"{' and '.join(_TAKEN_SCHEMAS)} are names that SQLite uses itself", hint)
    if not schema or not schema.isprintable():
        raise DsnError(
            "the name of the schema is empty or not printable", "Write ?schema=shop, or leave it out."
        )


def _parse_server(engine: EngineName, scheme: str, address: str, params: dict[str, str]) -> Dsn:
    authority, _, database = address.partition("/")
    credentials, at, host_port = authority.rpartition("@")
    user, colon, password = credentials.partition(":")
    if "@" in database or "/" in database:
        raise DsnError('there is an "@" or a second "/" after the host', _ESCAPE_HINT)
    hosts = [_parse_host_port(one, _ESCAPE_HINT if not at else "") for one in _hosts(host_port, params)]
    secret = unquote(password) if colon else params.pop("password", None)
    return Dsn(
        engine,
        scheme,
        user=unquote(user) or params.pop("user", None),
        password=Secret(secret) if secret is not None else None,
        host=hosts[0][0],
        port=hosts[0][1],
        others=tuple((host or "localhost", port) for host, port in hosts[1:]),
        database=unquote(database) or params.pop("dbname", None),
        params=params,
    )


def _hosts(written: str, params: dict[str, str]) -> list[str]:
    """The hosts before the path, or those that libpq takes as parameters. A folder in the place of a host
    holds a Unix socket."""
    if "/" in (folder := unquote(written.partition(":")[0])) and "," not in written:
        params.setdefault("socket", folder)
        return [written[written.find(":") :] if ":" in written else ""]
    if written.strip(":"):
        return written.split(",")
    ports = params.pop("port", "").split(",")
    hosts = [""] if "/" in params.get("host", "") else params.pop("host", "").split(",")
    if len(ports) not in (1, len(hosts)):
        raise DsnError("there are not as many ports as hosts", "Give one port for all, or one for each.")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return [f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=True)]


def _parse_host_port(text: str, hint: str) -> tuple[str | None, int | None]:
    host, colon, digits = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, digits = text, ""
    if host and not is_host(host):
        raise DsnError("the host is not a host name or an address", hint)
    if not colon:
        return host.strip("[]") or None, None
    # isascii: str.isdigit also takes "²", which int() does not.
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and 1 <= int(digits) <= 65535):
        raise DsnError("the port is not a number from 1 to 65535", hint)
    return host.strip("[]") or None, int(digits)


def _parse_params(query: str) -> dict[str, str]:
    params: dict[str, str] = {}
    for pair in query.split("&") if query else []:
        name, equals, value = pair.partition("=")
        if not equals or not _PARAM_NAME.fullmatch(name):
            raise DsnError('the part after the "?" is not a list of name=value, joined by "&"', _ESCAPE_HINT)
        if name in params:
            raise DsnError('a parameter after the "?" is given twice')
        params[name] = unquote(value)
    return params


def mask_dsn(written: str) -> str:
    """A DSN as it was written, its `${VAR}` unfilled, without what else in it may be secret."""
    marks = _MARK.findall(written)
    if written.startswith("file:") or _MARK.fullmatch(written):
        return written
    # A plain word in place of each mark makes it a DSN like any other, of which we know the parts.
    stand_ins = {f"callgatemark{number}end": mark for number, mark in enumerate(marks)}
    words = iter(stand_ins)
    try:
        shown = str(parse_dsn(_MARK.sub(lambda _: next(words), written)))
    except DsnError:  # ${PORT}, or a variable that holds more than one part
        return mask_url(written) if "://" in written else MASK
    for word, mark in stand_ins.items():
        shown = shown.replace(word, mark)
    return shown
