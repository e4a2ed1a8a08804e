"""What may follow the "?" in the address of a database server: TLS, sockets, patience. Pure.

Owns the words, ours and those of PostgreSQL's and MySQL's own tools. Must not know drivers.

    ssl       off | prefer | unverified | verify-ca | verify    also sslmode=… and ssl-mode=… in their words
    ssl_ca, ssl_cert, ssl_key, ssl_key_password                 also sslrootcert, sslcert, sslkey, sslpassword
    socket    the path of a Unix socket                         PostgreSQL: also host=/folder
    connect_timeout, application_name, charset

Without a word about it TLS is verified, host name included; on loopback it is used when offered (whoever
could listen there owns the machine), and a Unix socket needs none.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from callgate.config.specs.dsn import Dsn, DsnError, EngineName
from callgate.model.near_miss import did_you_mean

_TLS_WORDS = {
    **{word: word for word in ("off", "prefer", "unverified", "verify-ca", "verify")},
    **dict.fromkeys(("disable", "disabled", "false", "0", "no"), "off"),
    **dict.fromkeys(("allow", "preferred"), "prefer"),
    **dict.fromkeys(("require", "required"), "unverified"),
    **dict.fromkeys(("verify_ca",), "verify-ca"),
    **dict.fromkeys(("verify-full", "verify_identity", "true", "1", "yes", "on"), "verify"),
}
_SYNONYMS = {
    "sslmode": "ssl",
    "ssl-mode": "ssl",
    "ssl_mode": "ssl",
    "sslrootcert": "ssl_ca",
    "ssl-ca": "ssl_ca",
    "sslcert": "ssl_cert",
    "ssl-cert": "ssl_cert",
    "sslkey": "ssl_key",
    "ssl-key": "ssl_key",
    "sslpassword": "ssl_key_password",
    "unix_socket": "socket",
}
_KNOWN = (
    *("ssl", "ssl_ca", "ssl_cert", "ssl_key", "ssl_key_password"),
    *("socket", "connect_timeout", "application_name", "charset"),
)
_CHARSETS = ("utf8", "utf8mb4", "utf-8")
# A minute is beyond any login that still works.
_MAX_CONNECT_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class ServerParams:
    tls_mode: str
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    key_password: str | None = field(default=None, repr=False)
    socket: Path | None = None
    connect_timeout_s: float | None = None  # None: the driver's own
    application_name: str | None = None


def read_server_params(dsn: Dsn) -> ServerParams:
    """Raises `DsnError`, which names parameters but no values."""
    params = _plain_names(dsn)
    charset = params.get("charset", "utf8mb4").lower()
    if charset not in _CHARSETS:
        raise DsnError("the charset is always utf8mb4", "Leave charset out.")
    if "ssl_key" in params and "ssl_cert" not in params:
        raise DsnError("ssl_key needs its ssl_cert", "Name both files, or neither.")
    return ServerParams(
        tls_mode=_tls_mode(dsn, params),
        ca_file=_path(params, "ssl_ca"),
        cert_file=_path(params, "ssl_cert"),
        key_file=_path(params, "ssl_key"),
        key_password=params.get("ssl_key_password"),
        socket=_path(params, "socket"),
        connect_timeout_s=_timeout(params),
        application_name=params.get("application_name") or None,
    )


def is_loopback(host: str | None) -> bool:
    """No host is this machine."""
    if host is None or host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _plain_names(dsn: Dsn) -> Mapping[str, str]:
    params: dict[str, str] = {}
    for name, value in dsn.params.items():
        plain = _SYNONYMS.get(name.lower(), name.lower())
        if dsn.engine is EngineName.POSTGRES and plain == "host":
            plain = "socket"
        if plain not in _KNOWN:
            hint = did_you_mean(name, (*_KNOWN, *_SYNONYMS)) or f"Known parameters: {', '.join(_KNOWN)}."
            raise DsnError('a parameter after the "?" is not known', hint)
        if plain in params:
            raise DsnError(f"{plain} is given twice", "Keep one of its spellings.")
        params[plain] = value
    return params


def _tls_mode(dsn: Dsn, params: Mapping[str, str]) -> str:
    is_near = is_loopback(dsn.host) or "socket" in params
    word = params.get("ssl", "").strip().lower()
    if not word:
        return "verify" if not is_near or "ssl_ca" in params else "prefer"
    mode = _TLS_WORDS.get(word)
    if mode is None:
        raise DsnError("ssl is not one of off, unverified, verify-ca, verify", "Leave it out to verify.")
    if mode == "prefer" and not is_near:
        raise DsnError(
            "ssl=prefer would turn encryption off when anybody between us and the server asks for it",
            "Use ssl=verify, or ssl=unverified to encrypt without checking who the server is.",
        )
    if mode in ("prefer", "unverified") and "ssl_ca" in params:
        raise DsnError(f"ssl_ca is given, but ssl={mode} does not check certificates", "Use ssl=verify.")
    return mode


def _timeout(params: Mapping[str, str]) -> float | None:
    text = params.get("connect_timeout", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= _MAX_CONNECT_TIMEOUT_S):
        raise DsnError(f"connect_timeout is not a number of seconds from 1 to {_MAX_CONNECT_TIMEOUT_S}")
    return float(text)


def _path(params: Mapping[str, str], name: str) -> Path | None:
    text = params.get(name)
    if not text:
        return None
    if "\0" in text:
        raise DsnError(f"{name} is not a path")
    return Path(text)
