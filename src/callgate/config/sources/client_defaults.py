"""What an address leaves out, from where the database's own tools take it.

PostgreSQL: `service` (pg_service.conf), the variables PG*, then ~/.pgpass for the password alone, as libpq
does it. MySQL: the group [client] of ~/.my.cnf. What the address says is never replaced. Each thing that was
taken is told, with where it came from and without its value.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from callgate.config.secret import Secret
from callgate.config.specs.dsn import Dsn, DsnError, EngineName, parse_dsn

_POSTGRES_PORT = 5432
# What stands in the address itself, and its name for libpq.
_PARTS = ("host", "port", "user", "password", "dbname")
_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "application_name": "PGAPPNAME",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
    "channel_binding": "PGCHANNELBINDING",
    "options": "PGOPTIONS",
    "passfile": "PGPASSFILE",
}
# libpq's own default; a variable that says so asks for less than we do without one.
_WEAK_MODES = ("disable", "allow", "prefer")
_TLS_NAMES = ("ssl", "sslmode", "ssl-mode", "ssl_mode", "tls")
# Nobody's login file is longer; a larger one is something else.
_MAX_FILE_BYTES = 1024 * 1024
_OTHERS_MAY_READ = 0o077
_UNESCAPED_COLON = re.compile(r"(?:[^:\\]|\\.)*")


@dataclass(slots=True)
class Completed:
    dsn: Dsn
    notes: list[str] = field(default_factory=list[str])


def complete(dsn: Dsn, environ: Mapping[str, str]) -> Completed:
    """Raises DsnError."""
    if dsn.engine is EngineName.POSTGRES:
        return _complete_postgres(dsn, environ)
    if dsn.engine is EngineName.MYSQL:
        return _complete_mysql(dsn, environ)
    return Completed(dsn)


def _complete_postgres(dsn: Dsn, environ: Mapping[str, str]) -> Completed:
    completed = Completed(dsn)
    service = dsn.params.get("service") or environ.get("PGSERVICE")
    if service:
        _fill(completed, *_service(service, environ))
    said = {name: environ[variable] for name, variable in _VARIABLES.items() if environ.get(variable)}
    if said.get("sslmode") in _WEAK_MODES:
        del said["sslmode"]
    _fill(completed, said, "the variables PG…")
    if completed.dsn.password is None:
        _fill_from_passfile(completed, environ)
    return completed


def _fill(completed: Completed, found: Mapping[str, str], origin: str) -> None:
    """Only what is missing. Host and port belong together, and so do several words about TLS."""
    dsn = completed.dsn
    has_host = dsn.host is not None or "host" in dsn.params or "socket" in dsn.params
    has_tls = any(name in _TLS_NAMES for name in dsn.params)
    taken: dict[str, str] = {}
    for name, value in found.items():
        is_given = {
            "host": has_host,
            "port": has_host if dsn.port is None else True,
            "user": dsn.user is not None,
            "password": dsn.password is not None,
            "dbname": dsn.database is not None,
            "sslmode": has_tls,
        }.get(name, name in dsn.params)
        if not is_given:
            taken[name] = value
    if taken:
        completed.dsn = _with_parts(dsn, taken)
        completed.notes.append(f"{', '.join(taken)} taken from {origin}")


def _with_parts(dsn: Dsn, taken: dict[str, str]) -> Dsn:
    hosts = {name: taken[name] for name in ("host", "port") if name in taken}
    if hosts:
        # Read as an address would be: a host may be a folder, or several.
        query = "&".join(f"{name}={quote(value, safe=',')}" for name, value in hosts.items())
        found = parse_dsn(f"{dsn.scheme}:///?{query}")
        dsn = replace(
            dsn,
            host=dsn.host or found.host,
            port=dsn.port or found.port,
            others=dsn.others or found.others,
            params={**found.params, **dsn.params},
        )
    params = {name: value for name, value in taken.items() if name not in _PARTS}
    return replace(
        dsn,
        user=dsn.user if dsn.user is not None else taken.get("user"),
        password=dsn.password
        if dsn.password is not None or "password" not in taken
        else Secret(taken["password"]),
        database=dsn.database if dsn.database is not None else taken.get("dbname"),
        params={**dsn.params, **params},
    )


def _service(name: str, environ: Mapping[str, str]) -> tuple[Mapping[str, str], str]:
    places = [
        Path(environ["PGSERVICEFILE"])
        if environ.get("PGSERVICEFILE")
        else _home(environ) / ".pg_service.conf",
        Path(environ.get("PGSYSCONFDIR") or "/etc/postgresql-common") / "pg_service.conf",
    ]
    for place in places:
        section = _sections(_text_of(place)).get(name)
        if section is not None:
            known = {key: value for key, value in section.items() if key in _VARIABLES}
            return known, f"the service in {place.name}"
    raise DsnError(
        "the service that the address names is in no pg_service.conf",
        "Add it to ~/.pg_service.conf, or name the file in PGSERVICEFILE.",
    )


def _fill_from_passfile(completed: Completed, environ: Mapping[str, str]) -> None:
    dsn = completed.dsn
    path = Path(dsn.params.get("passfile") or _home(environ) / ".pgpass")
    socket = dsn.params.get("socket") or dsn.params.get("host")
    host = "localhost" if socket or dsn.host is None else dsn.host
    wanted = (host, str(dsn.port or _POSTGRES_PORT), dsn.database or dsn.user or "", dsn.user or "postgres")
    for line in _text_of(path).splitlines():
        fields = _fields(line)
        if len(fields) == 5 and all(
            pattern in ("*", value) for pattern, value in zip(fields[:4], wanted, strict=True)
        ):
            if path.stat().st_mode & _OTHERS_MAY_READ:
                completed.notes.append(f"{path.name} is ignored: others may read it (chmod 600)")
                return
            completed.dsn = replace(dsn, password=Secret(fields[4]))
            completed.notes.append(f"password taken from {path.name}")
            return


def _fields(line: str) -> list[str]:
    if line.startswith("#"):
        return []
    fields: list[str] = []
    at = 0
    while at <= len(line):
        found = _UNESCAPED_COLON.match(line, at)
        assert found is not None
        fields.append(re.sub(r"\\(.)", r"\1", found[0]))
        at = found.end() + 1
    return fields


def _complete_mysql(dsn: Dsn, environ: Mapping[str, str]) -> Completed:
    completed = Completed(dsn)
    path = _home(environ) / ".my.cnf"
    client = {
        name.replace("_", "-"): _unquoted(value)
        for name, value in _sections(_text_of(path)).get("client", {}).items()
    }
    if not client:
        return completed
    found = {name: client[name] for name in ("host", "port", "user") if client.get(name)}
    is_same_user = dsn.user is None or client.get("user", dsn.user) == dsn.user
    if is_same_user and client.get("password"):
        found["password"] = client["password"]
    if dsn.host is None and client.get("socket"):
        found["socket"] = client["socket"]
    _fill(completed, found, f"[client] in {path.name}")
    return completed


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return re.sub(r"\\(.)", r"\1", value)


def _sections(text: str) -> Mapping[str, Mapping[str, str]]:
    import configparser  # not above: most configurations have no such file

    parser = configparser.RawConfigParser(
        allow_no_value=True, strict=False, delimiters=("=",), comment_prefixes=("#", ";", "!")
    )
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: {key: value or "" for key, value in parser.items(name)} for name in parser.sections()}


def _text_of(path: Path) -> str:
    """Empty where there is none: these files are a convenience."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or "/nonexistent")
