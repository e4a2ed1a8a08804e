"""Opening one connection to an HTTP upstream, and saying in plain words why it did not open."""

import asyncio
import errno
import socket
import ssl

from callgate.http_client.address import Origin
from callgate.http_client.connection import UpstreamConnection
from callgate.model.error_codes import UPSTREAM_UNAVAILABLE
from callgate.model.errors import UpstreamError

# Longer than three lost SYN packets (1 + 2 + 4 s), shorter than anyone's patience.
CONNECT_TIMEOUT_S = 10.0
# We never wait for a TLS farewell; this only bounds what the loop does for a handshake given up half-way.
_TLS_FAREWELL_S = 0.5
_REFUSED = errno.ECONNREFUSED


async def dial(
    origin: Origin, connection: UpstreamConnection, ssl_context: ssl.SSLContext | None, timeout_s: float
) -> None:
    """Raises UpstreamError. The context is needed for TLS origins only."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            if origin.port == 0:
                await loop.create_unix_connection(lambda: connection, origin.host)
            elif not origin.is_tls:
                await loop.create_connection(lambda: connection, origin.host, origin.port)
            else:
                await loop.create_connection(
                    lambda: connection,
                    origin.host,
                    origin.port,
                    ssl=ssl_context,
                    server_hostname=origin.host,
                    ssl_handshake_timeout=timeout_s,
                    ssl_shutdown_timeout=_TLS_FAREWELL_S,
                )
    except (OSError, UnicodeError) as problem:  # TimeoutError and every ssl error are OSErrors
        text, hint = _words(origin, problem, timeout_s)
        reason = {"reason": "unreachable"}
        raise UpstreamError(UPSTREAM_UNAVAILABLE, text, hint=hint, data=reason) from problem


def _words(origin: Origin, problem: OSError | UnicodeError, timeout_s: float) -> tuple[str, str]:
    match problem:
        case ssl.SSLCertVerificationError():
            return (
                f"The certificate of {origin} is not trusted: {problem.verify_message}",
                "For a private CA, name its certificate in the environment variable SSL_CERT_FILE",
            )
        case ssl.SSLError():
            reason = (problem.reason or "handshake failed").replace("_", " ").lower()
            hint = "Does the server speak plain http://?" if "wrong version" in reason else ""
            return f"TLS with {origin} failed: {reason}", hint
        case socket.gaierror():
            return (
                f"The host name of {origin} could not be resolved: {problem.strerror}",
                "Check the spelling of the host in the url, and the name server",
            )
        case TimeoutError():
            return f"{origin} did not accept a connection within {timeout_s:g} s", ""
        # asyncio tells of several addresses (::1 and 127.0.0.1) in one text without a number.
        case OSError() if problem.errno == _REFUSED or f"[Errno {_REFUSED}]" in str(problem):
            return f"{origin} refused the connection", "Is the server running, and is the port right?"
        case OSError() if isinstance(problem, ConnectionError) and origin.is_tls:
            return f"{origin} closed the connection during the TLS handshake", ""
        case _:
            return f"{origin} cannot be reached: {problem}", ""
