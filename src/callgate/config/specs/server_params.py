"""What may follow the "?" in the address of a database server: TLS, sockets, patience. Pure.

Owns the words, ours and those of PostgreSQL's and MySQL's own tools and drivers. Must not know drivers.

    ssl       off | prefer | unverified | verify-ca | verify    also sslmode, ssl-mode, tls in their words
    ssl_ca, ssl_cert, ssl_key, ssl_key_password                 also sslrootcert, sslcert, sslkey, sslpassword
    socket    the path of a Unix socket                         PostgreSQL: also host=/folder
    connect_timeout, application_name
    target_session_attrs, channel_binding, options, service, passfile       PostgreSQL, as libpq means them
    server_public_key, get_server_public_key                    MySQL: its RSA key, for lines without TLS

Without a word about it TLS is verified, host name included; on loopback it is used when offered (whoever
could listen there owns the machine), and a Unix socket needs none. Of several words the strictest counts.
What means nothing here: `foreign_params`.
"""

import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from callgate.config.specs.dsn import Dsn, DsnError, EngineName
from callgate.config.specs.foreign_params import KNOWN as _FOREIGN
from callgate.config.specs.foreign_params import ignored_because, refused_because
from callgate.model.near_miss import did_you_mean

_MODES = ("off", "prefer", "unverified", "verify-ca", "verify")  # the later, the stricter
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")
_TLS_WORDS = {
    **{word: word for word in _MODES},
    **dict.fromkeys(("disable", "disabled", *_FALSE), "off"),
    **dict.fromkeys(("allow", "preferred"), "prefer"),
    **dict.fromkeys(("no-verify", "skip-verify", "accept_invalid_certs", "trust"), "unverified"),
    **dict.fromkeys(("verify_ca",), "verify-ca"),
    **dict.fromkeys(("verify-full", "verify_identity", "strict", *_TRUE), "verify"),
}
# Encrypted, and verified where an authority is named: as libpq means it.
_REQUIRED = ("require", "required")
_TLS_NAMES = ("ssl", "sslmode", "ssl-mode", "ssl_mode", "tls", "sslaccept", "usessl", "requiressl")
# With `true`: verified; with `false`: encrypted, whoever answers.
_VERIFYING = ("verifyservercertificate", "ssl_verify_cert", "ssl_verify_identity")
_TRUSTING = ("trustservercertificate",)
_SYNONYMS = {
    "sslrootcert": "ssl_ca",
    "ssl-ca": "ssl_ca",
    "sslca": "ssl_ca",
    "sslcert": "ssl_cert",
    "ssl-cert": "ssl_cert",
    "sslkey": "ssl_key",
    "ssl-key": "ssl_key",
    "sslpassword": "ssl_key_password",
    "unix_socket": "socket",
    "applicationname": "application_name",
    "fallback_application_name": "application_name",
    "program_name": "application_name",
    "connecttimeout": "connect_timeout",
    "logintimeout": "connect_timeout",
    "targetservertype": "target_session_attrs",
    "server-public-key-path": "server_public_key",
    "server_public_key_path": "server_public_key",
    "serverrsapublickeyfile": "server_public_key",
    "get-server-public-key": "get_server_public_key",
    "allowpublickeyretrieval": "get_server_public_key",
}
_KNOWN = (
    *("ssl", "ssl_ca", "ssl_cert", "ssl_key", "ssl_key_password"),
    *("socket", "connect_timeout", "application_name"),
)
_KNOWN_OF_POSTGRES = ("target_session_attrs", "channel_binding", "options", "service", "passfile")
_KNOWN_OF_MYSQL = ("server_public_key", "get_server_public_key")
# libpq's words, and those of PostgreSQL's driver for Java.
_SESSION_ATTRS = {
    **{word: word for word in ("any", "read-write", "read-only", "primary", "standby", "prefer-standby")},
    **dict.fromkeys(("master",), "primary"),
    **dict.fromkeys(("secondary", "slave"), "standby"),
    **dict.fromkeys(("prefersecondary", "preferslave"), "prefer-standby"),
    "preferprimary": "any",
}
_YES_OR_NO = {**dict.fromkeys(_TRUE, "true"), **dict.fromkeys(_FALSE, "false")}
_SYSTEM_AUTHORITIES = "system"
# A minute is beyond any login that still works.
_MAX_CONNECT_TIMEOUT_S = 60
# MySQL's driver for Java counts milliseconds: nobody waits for a quarter of an hour.
_MILLISECONDS_FROM = 1_000


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
    session_attrs: str = "any"
    channel_binding: str = "prefer"
    options: str | None = None
    server_key_file: Path | None = None
    fetches_server_key: bool = False
    ignored: tuple[tuple[str, str], ...] = ()  # names, and why


def read_server_params(dsn: Dsn) -> ServerParams:
    """Raises `DsnError`, which names parameters but no values."""
    params, ignored = _plain_names(dsn)
    if "ssl_key" in params and "ssl_cert" not in params:
        raise DsnError("ssl_key needs its ssl_cert", "Name both files, or neither.")
    has_system = params.get("ssl_ca") == _SYSTEM_AUTHORITIES
    return ServerParams(
        tls_mode=_tls_mode(dsn, params),
        ca_file=None if has_system else _path(params, "ssl_ca"),
        cert_file=_path(params, "ssl_cert"),
        key_file=_path(params, "ssl_key"),
        key_password=params.get("ssl_key_password"),
        socket=_path(params, "socket"),
        connect_timeout_s=_timeout(params),
        application_name=params.get("application_name") or None,
        session_attrs=_one_of(params, "target_session_attrs", _SESSION_ATTRS, "any"),
        channel_binding=_one_of(
            params, "channel_binding", {word: word for word in ("disable", "prefer", "require")}, "prefer"
        ),
        options=params.get("options") or None,
        server_key_file=_path(params, "server_public_key"),
        fetches_server_key=_one_of(params, "get_server_public_key", _YES_OR_NO, "false") == "true",
        ignored=tuple(ignored),
    )


def is_loopback(host: str | None) -> bool:
    """No host is this machine."""
    if host is None or host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _plain_names(dsn: Dsn) -> tuple[Mapping[str, str], list[tuple[str, str]]]:
    """What is understood, by our names; and what is ignored. Words about TLS keep their names: each
    program means something else by them."""
    known = (*_KNOWN, *(_KNOWN_OF_POSTGRES if dsn.engine is EngineName.POSTGRES else _KNOWN_OF_MYSQL))
    params: dict[str, str] = {}
    ignored: list[tuple[str, str]] = []
    for name, value in dsn.params.items():
        plain = _SYNONYMS.get(name.lower(), name.lower())
        if dsn.engine is EngineName.POSTGRES and plain == "host":
            plain = "socket"
        if plain in params:
            raise DsnError(f"{plain} is given twice", "Keep one of its spellings.")
        if plain in known or plain in (*_TLS_NAMES, *_VERIFYING, *_TRUSTING):
            params[plain] = value
        elif (why := ignored_because(name, value)) is not None:
            ignored.append((name, why))
        else:
            raise _unknown(dsn, name, known)
    return params, ignored


def _unknown(dsn: Dsn, name: str, known: tuple[str, ...]) -> DsnError:
    why = refused_because(name)
    if why is not None:
        return DsnError(f"the parameter {name} is not supported: {why}", f"Remove {name} from the address.")
    hint = did_you_mean(name, (*known, *_TLS_NAMES, *_SYNONYMS, *_FOREIGN))
    # Where there are credentials before the "?", nothing of a password can stand behind it.
    shown = f"the parameter {name}" if dsn.user is not None else 'a parameter after the "?"'
    return DsnError(f"{shown} is not known", hint or f"Known parameters: {', '.join(known)}.")


def _tls_mode(dsn: Dsn, params: Mapping[str, str]) -> str:
    is_near = is_loopback(dsn.host) or "socket" in params
    given = list(_tls_words(params))
    if not given:
        return "verify" if not is_near or "ssl_ca" in params else "prefer"
    if "off" in given and len(set(given)) > 1:
        raise DsnError("the address asks for TLS and also turns it off", "Keep one of the two parameters.")
    mode = max(given, key=_MODES.index)
    if mode == "prefer" and not is_near:
        raise DsnError(
            "ssl=prefer would turn encryption off when anybody between us and the server asks for it",
            "Use ssl=verify, or ssl=unverified to encrypt without checking who the server is.",
        )
    if mode in ("prefer", "unverified") and "ssl_ca" in params:
        raise DsnError(f"ssl_ca is given, but ssl={mode} does not check certificates", "Use ssl=verify.")
    return mode


def _tls_words(params: Mapping[str, str]) -> Iterator[str]:
    for name in _TLS_NAMES:
        word = params.get(name, "").strip().lower()
        if word in _REQUIRED:
            # libpq: the system's authorities can only be used with the host's name.
            with_authority = "verify" if params.get("ssl_ca") == _SYSTEM_AUTHORITIES else "verify-ca"
            yield with_authority if "ssl_ca" in params else "unverified"
        elif word.startswith("{"):
            yield _tls_object(params[name])
        elif word:
            mode = _TLS_WORDS.get(word)
            if mode is None:
                raise DsnError(
                    f"{name} is not one of off, unverified, verify-ca, verify", "Leave it out to verify."
                )
            # usessl=true&verifyservercertificate=false: the second word says how the first is meant.
            yield "unverified" if word in _TRUE and _is_lax(params) else mode
    if any(params.get(name, "").lower() in _TRUE for name in _VERIFYING):
        yield "verify"


def _is_lax(params: Mapping[str, str]) -> bool:
    trusts = any(params.get(name, "").lower() in _TRUE for name in _TRUSTING)
    return trusts or any(params.get(name, "").lower() in _FALSE for name in _VERIFYING)


def _tls_object(text: str) -> str:
    """As drivers for Node take it: ssl={"rejectUnauthorized":true}"""
    hint = (
        'Write ssl={"rejectUnauthorized":true}, or ssl=verify; files are named by ssl_ca, ssl_cert, ssl_key.'
    )
    try:
        said: Any = json.loads(text)
    except ValueError:
        raise DsnError("ssl is not valid JSON", hint) from None
    members = cast("dict[str, Any]", said) if isinstance(said, dict) else {"": said}
    verifies = members.pop("rejectUnauthorized", True)
    if members or not isinstance(verifies, bool):
        raise DsnError("ssl has members that are not supported", hint)
    return "verify" if verifies else "unverified"


def _one_of(params: Mapping[str, str], name: str, words: Mapping[str, str], otherwise: str) -> str:
    word = params.get(name, "").strip().lower()
    if word and word not in words:
        raise DsnError(f"{name} is not one of {', '.join(dict.fromkeys(words.values()))}")
    return words.get(word, otherwise)


def _timeout(params: Mapping[str, str]) -> float | None:
    text = params.get("connect_timeout", "").strip().removesuffix("s")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise DsnError("connect_timeout is not a number of seconds")
    seconds = int(text) / 1000 if int(text) >= _MILLISECONDS_FROM else float(text)
    # 0 means without an end, in libpq's words.
    return min(seconds, float(_MAX_CONNECT_TIMEOUT_S)) or None


def _path(params: Mapping[str, str], name: str) -> Path | None:
    text = params.get(name)
    if not text:
        return None
    if "\0" in text:
        raise DsnError(f"{name} is not a path")
    return Path(text)
