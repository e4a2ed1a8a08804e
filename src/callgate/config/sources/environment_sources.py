"""Sources that the environment names: MYSQL_* (one source `mysql`) and DATABASE_URL, else DSN.

Owns what those variables mean. A password goes straight into the `Dsn`, never through a URL's text: it may
hold any character. An empty variable counts as unset.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callgate.config.problem import ConfigProblem
from callgate.config.secret import Secret
from callgate.config.specs.dsn import Dsn, DsnError, EngineName, is_host, parse_dsn
from callgate.config.specs.server_params import read_server_params
from callgate.config.specs.source import SourceFromEnvironment

MYSQL_VARIABLES = (
    "MYSQL_HOST",
    "MYSQL_PORT",
    "MYSQL_USER",
    "MYSQL_PASSWORD",
    "MYSQL_PASS",
    "MYSQL_DATABASE",
    "MYSQL_ALLOW_WRITE",
    "MYSQL_QUERY_TIMEOUT",
    "MYSQL_CONNECTION_LIMIT",
    "MYSQL_SSL",
    "MYSQL_SSL_CA",
    "MYSQL_SSL_CERT",
    "MYSQL_SSL_KEY",
)
URL_VARIABLES = ("DATABASE_URL", "DSN")
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


@dataclass(slots=True)
class EnvironmentSources:
    """What was found. A source with a problem has an id but no spec, so that tools may still name it."""

    specs: dict[str, SourceFromEnvironment] = field(default_factory=dict[str, SourceFromEnvironment])
    named_by: dict[str, str] = field(default_factory=dict[str, str])  # source id to variable
    problems: list[ConfigProblem] = field(default_factory=list[ConfigProblem])
    warnings: list[ConfigProblem] = field(default_factory=list[ConfigProblem])


def sources_of(environ: Mapping[str, str]) -> EnvironmentSources:
    found = EnvironmentSources()
    variables = _Variables(environ, found.problems)
    if variables.text("MYSQL_HOST"):
        found.named_by["mysql"] = "MYSQL_HOST"
        dsn = _mysql_dsn(variables)
        limits = _mysql_limits(variables)
        found.warnings += _two_passwords(variables)
        if not found.problems:
            found.specs["mysql"] = SourceFromEnvironment(id="mysql", dsn=dsn, **limits)
    name = next((name for name in URL_VARIABLES if variables.text(name)), None)
    if name is not None:
        _add_url(found, name, variables)
    return found


def _add_url(found: EnvironmentSources, name: str, variables: "_Variables") -> None:
    try:
        dsn = parse_dsn(variables.text(name) or "").anchored_at(Path.cwd())
        if dsn.path is None:
            read_server_params(dsn)
    except DsnError as error:
        found.problems.append(error.at(name))
        return
    source_id = dsn.engine.value
    if source_id in found.named_by:
        hint = "Unset one of the two, or write both as [[sources]] with ids of their own."
        found.warnings.append(
            ConfigProblem(name, f"MYSQL_HOST already defines the source mysql; {name} is ignored", hint)
        )
        return
    found.named_by[source_id] = name
    # The same switches for a mysql URL: a refusal's advice (MYSQL_ALLOW_WRITE=true) must hold for it too.
    before = len(found.problems)
    limits = _mysql_limits(variables) if dsn.engine is EngineName.MYSQL else {}
    if len(found.problems) == before:
        found.specs[source_id] = SourceFromEnvironment(id=source_id, dsn=dsn, **limits)


def _mysql_dsn(variables: "_Variables") -> Dsn:
    # Other MySQL servers for MCP read the short name.
    password = variables.text("MYSQL_PASSWORD") or variables.text("MYSQL_PASS")
    params = {
        param: text
        for param, name in (
            ("ssl_ca", "MYSQL_SSL_CA"),
            ("ssl_cert", "MYSQL_SSL_CERT"),
            ("ssl_key", "MYSQL_SSL_KEY"),
        )
        if (text := variables.text(name)) is not None
    }
    # Naming a certificate asks for TLS; encryption without verification is not offered by these variables.
    wanted = variables.switch("MYSQL_SSL")
    if wanted or (wanted is None and params):
        params["ssl"] = "verify"
    elif wanted is False:
        params["ssl"] = "off"
    host = (variables.text("MYSQL_HOST") or "").strip("[] ")
    # A whole URL here would be shown as a host, password and all.
    if not is_host(f"[{host}]" if ":" in host else host):
        hint = "A whole address goes into DATABASE_URL."
        variables.problems.append(ConfigProblem("MYSQL_HOST", "a host name or an address is expected", hint))
    return Dsn(
        EngineName.MYSQL,
        "mysql",
        user=variables.text("MYSQL_USER"),
        password=Secret(password) if password is not None else None,
        host=host,
        port=variables.number("MYSQL_PORT", 65535),
        database=variables.text("MYSQL_DATABASE"),
        params=params,
    )


def _two_passwords(variables: "_Variables") -> list[ConfigProblem]:
    short = variables.text("MYSQL_PASS")
    if short is None or variables.text("MYSQL_PASSWORD") in (None, short):
        return []
    return [
        ConfigProblem(
            "MYSQL_PASS", "MYSQL_PASSWORD is set to another password; MYSQL_PASS is ignored", "Unset one."
        )
    ]


def _mysql_limits(variables: "_Variables") -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if variables.switch("MYSQL_ALLOW_WRITE"):
        limits["mode"] = "write"
    if (timeout_ms := variables.number("MYSQL_QUERY_TIMEOUT", 86_400_000)) is not None:
        limits["timeout_s"] = timeout_ms / 1000
    if (pool_size := variables.number("MYSQL_CONNECTION_LIMIT", 10_000)) is not None:
        limits["pool_size"] = pool_size
    return limits


@dataclass(frozen=True, slots=True)
class _Variables:
    environ: Mapping[str, str]
    problems: list[ConfigProblem]

    def text(self, name: str) -> str | None:
        return self.environ.get(name) or None

    def switch(self, name: str) -> bool | None:
        text = (self.text(name) or "").strip().lower()
        if text and text not in _TRUE and text not in _FALSE:
            self.problems.append(ConfigProblem(name, "true or false is expected"))
        return None if not text else text in _TRUE

    def number(self, name: str, most: int) -> int | None:
        text = (self.text(name) or "").strip()
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and len(text) <= 12 and 1 <= int(text) <= most):
            self.problems.append(ConfigProblem(name, f"a whole number from 1 to {most} is expected"))
            return None
        return int(text)
