"""Why no session could be opened, told twice: with the address for the operator, without it for callers."""

import socket
import ssl

from callgate.model import error_codes as codes
from callgate.model.errors import SourceError
from callgate.sql.drivers.network.server import OpenFailed
from callgate.sql.drivers.network.stream import OUT_OF_STEP, ClientKeyUnusable, ConnectionLost
from callgate.sql.settings import ServerAddress

RETRIED = "The gateway keeps trying: try again in a moment, and tell the operator if the error stays."


# What `unreachable` explains. Of OSError are TimeoutError and ssl.SSLError too.
NOT_REACHED = (OSError, ClientKeyUnusable, ConnectionLost, *OUT_OF_STEP)


def unreachable(error: BaseException, address: ServerAddress) -> OpenFailed:
    reason, hint = reason_of(error, address)
    told = SourceError(codes.SOURCE_UNAVAILABLE, f"the database cannot be reached ({reason}).", hint=RETRIED)
    return OpenFailed(told, f"{address.shown} cannot be reached: {reason}. {hint}".strip())


def unwilling(address: ServerAddress, what: str, hint: str) -> OpenFailed:
    """The server is there, and one of us cannot do what the other wants."""
    told = SourceError(
        codes.SOURCE_UNAVAILABLE,
        "the gateway cannot open a session with the database.",
        hint="The operator finds the reason in the gateway's status.",
    )
    return OpenFailed(told, f"{address.shown}: {what} {hint}")


def password_wanted(otherwise: str) -> tuple[str, str]:
    """What the operator is told, and can do. `otherwise`: a login that shows no password."""
    hint = (
        "Connect over its Unix socket (?socket=/path), or have its certificate verified (ssl=verify, or "
        f"ssl=verify-ca&ssl_ca=/path/ca.pem for a certificate of its own); or use {otherwise}."
    )
    return "the server asks for the password itself, and nothing proves which server it is.", hint


def not_let_in(address: ServerAddress, told: str, what: str, hint: str) -> OpenFailed:
    """The server answered, and would not let us in."""
    error = SourceError(codes.SOURCE_UNAVAILABLE, told, hint=RETRIED)
    return OpenFailed(error, f"{address.shown}: {what}. {hint}".strip())


def full(address: ServerAddress) -> OpenFailed:
    error = SourceError(
        codes.SOURCE_UNAVAILABLE, "the database has too many connections at the moment.", hint=RETRIED
    )
    advice = "Lower pool_size, or raise max_connections at the server."
    return OpenFailed(error, f"{address.shown}: it has too many connections. {advice}", is_full=True)


def reason_of(error: BaseException, address: ServerAddress) -> tuple[str, str]:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted: {error.verify_message}",
            "Name the authority with ssl_ca=/path/ca.pem, or write ssl=unverified to trust any server.",
        )
    if isinstance(error, ClientKeyUnusable):
        return (
            "the client certificate cannot be used",
            "Check ssl_cert, ssl_key and, if the key has a password, ssl_key_password.",
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or 'no reason given'}", "Check the ssl options of the DSN."
    if isinstance(error, TimeoutError):
        limit = f"{address.connect_timeout_s:g} s"
        return f"no answer within {limit}", "Check host, port and firewall."
    if isinstance(error, ConnectionLost):
        return "it closed the connection during the login", "Its own log may say why."
    if isinstance(error, socket.gaierror):
        return "its name is not known", "Check the host in the source's DSN."
    if isinstance(error, ConnectionRefusedError):
        return "connection refused", "Is the server running, and is the port right?"
    if isinstance(error, (FileNotFoundError, PermissionError)):
        name = "a file it needs" if address.socket is None else "its socket"
        return f"{name} cannot be opened ({error.strerror})", "Check the paths in the source's DSN."
    if isinstance(error, OUT_OF_STEP):
        return (
            "the server at this address does not speak its protocol",
            "Check host and port in the source's DSN.",
        )
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__, "Check host and port in the source's DSN."
    return "the login failed", ""
