"""Where an HTTP server is, and the request heads prepared for it.

Owns what of an address may be shown: scheme, host, port and path. User part and query hold keys often enough
that they never reach a message. Must not know connections.
"""

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from callgate.config.specs.listen_address import UNIX
from callgate.model.error_codes import SETUP_CONFIG
from callgate.model.errors import SetupError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BROKEN_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# What stays as written in a request target; anything else is percent-encoded.
_TARGET_SAFE = "/:@!$&'()*+,;=~%?-._[]"
# An operator's file often repeats them for other clients; what we send decides, or framing would break.
OUR_HEADERS = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-length", "content-type", "expect", "keep-alive",
        "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "te", "trailer",
        "transfer-encoding", "upgrade",
    }
)  # fmt: skip

HeaderPairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a connection belongs to: two addresses share connections exactly when these are equal."""

    host: str
    port: int  # 0: `host` is the path of a Unix socket
    is_tls: bool

    def __str__(self) -> str:
        if self.port == 0:
            return f"unix:{self.host}"
        return f"{'https' if self.is_tls else 'http'}://{_bracketed(self.host)}:{self.port}"


@dataclass(frozen=True, slots=True, repr=False)
class HttpAddress:
    origin: Origin
    host_header: str
    target: str  # path and query; may hold secrets
    shown: str  # for people: scheme://host:port/path
    user: str | None  # "name:password" of the URL, decoded

    def __repr__(self) -> str:
        return f"HttpAddress({self.shown})"


def parse_address(url: str) -> HttpAddress:
    """Raises SetupError without repeating the URL: a broken one may still hold a secret."""
    try:
        parts = urlsplit(url)
        scheme, host, port, user = parts.scheme, parts.hostname, parts.port, parts.username
    except ValueError as problem:
        raise SetupError(SETUP_CONFIG, "The URL of an MCP server cannot be read") from problem
    if scheme not in _DEFAULT_PORTS or not host:
        raise SetupError(SETUP_CONFIG, "The URL of an MCP server must be http://host/… or https://host/…")
    origin = Origin(host, port or _DEFAULT_PORTS[scheme], scheme == "https")
    path = quote(parts.path or "/", safe=_TARGET_SAFE)
    return HttpAddress(
        origin=origin,
        host_header=_bracketed(host) + (f":{port}" if port else ""),
        target=path + (f"?{quote(parts.query, safe=_TARGET_SAFE)}" if parts.query else ""),
        shown=str(origin) + path,
        user=None if user is None else f"{unquote(user)}:{unquote(parts.password or '')}",
    )


def gateway_address(url: str, target: str) -> HttpAddress:
    """Of a gateway of ours: `http://host:port`, or `unix:` and the path of its socket."""
    if not url.startswith(UNIX):
        return parse_address(url + target)
    origin = Origin(url.removeprefix(UNIX), 0, is_tls=False)
    return HttpAddress(origin, "localhost", target, str(origin), None)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def operator_headers(address: HttpAddress, headers: HeaderPairs) -> bytes:
    """The lines every request carries: Host, who we are, and what the operator wrote."""
    kept = {name.lower(): (name, value) for name, value in headers if name.lower() not in OUR_HEADERS}
    lines: list[tuple[str, str]] = []
    if "host" not in kept:
        lines.append(("host", address.host_header))
    if "user-agent" not in kept:
        lines.append(("user-agent", "callgate"))
    if address.user is not None and "authorization" not in kept:
        lines.append(("authorization", f"Basic {base64.b64encode(address.user.encode()).decode()}"))
    # Any coding is acceptable to a server that is told nothing (RFC 9110, 12.5.3), and we decode none.
    lines.append(("accept-encoding", "identity"))
    return header_lines([*lines, *kept.values()])


def header_lines(headers: HeaderPairs) -> bytes:
    """Raises SetupError for what would break out of its line; the value is not repeated."""
    lines: list[bytes] = []
    for name, value in headers:
        if not _NAME.fullmatch(name) or _BROKEN_VALUE.search(value):
            raise SetupError(
                SETUP_CONFIG, f"The HTTP header {name[:40]!r} has characters that cannot be sent"
            )
        lines.append(b"%b: %b\r\n" % (name.encode(), value.strip().encode()))
    return b"".join(lines)


def post_head(address: HttpAddress, own_lines: bytes) -> bytes:
    """Of a message of MCP, whose answer may be a stream. Its length is still to follow."""
    accepts = b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
    return request_line("POST", address) + own_lines + accepts


def request_line(method: str, address: HttpAddress) -> bytes:
    return f"{method} {address.target} HTTP/1.1\r\n".encode("ascii")
