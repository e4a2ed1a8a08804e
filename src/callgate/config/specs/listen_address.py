"""Where the gateway listens: host and port, or a Unix socket; and whether other machines can reach it.

Pure: nothing is resolved, so a host name other than `localhost` counts as reachable from outside.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, ip_address
from pathlib import Path

from callgate.config.reading.mistakes import refusal

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 7420
UNIX = "unix:"
# sun_path of Linux has 108 bytes, the last of which is zero.
_MAX_SOCKET_PATH_BYTES = 107

_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,252})")
_LOOPBACK_V4 = IPv4Network("127.0.0.0/8")


class ListenError(ValueError):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class ListenAddress:
    host: str = DEFAULT_HOST  # without brackets
    port: int = DEFAULT_PORT  # 0: any free one
    socket_path: Path | None = None  # instead of both

    def __str__(self) -> str:
        if self.socket_path is not None:
            return f"{UNIX}{self.socket_path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Without a path. A socket has no address that a browser could open."""
        return str(self) if self.socket_path is not None else f"http://{self}"

    @property
    def is_loopback(self) -> bool:
        if self.socket_path is not None or self.host.lower() == "localhost":
            return True
        try:
            address = ip_address(self.host)
        except ValueError:
            return False
        return address == IPv6Address("::1") if address.version == 6 else address in _LOOPBACK_V4


def parse_listen(text: str) -> ListenAddress:
    if text.strip().startswith(UNIX):
        return ListenAddress(socket_path=_parse_socket_path(text.strip().removeprefix(UNIX)))
    host, colon, port = text.strip().rpartition(":")
    if not colon or (":" in host and not host.startswith("[")) or port.endswith("]"):
        raise ListenError(
            "host and port are expected", 'Write "127.0.0.1:7420", or "[::1]:7420" for an IPv6 address.'
        )
    if not host:
        raise ListenError(
            "the host is missing", f'Write "{DEFAULT_HOST}:…", or "0.0.0.0:…" for every interface.'
        )
    if not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise ListenError(
            "the port is not a number", "Write a number from 0 to 65535; 0 takes any free port."
        )
    return ListenAddress(parse_host(host), parse_port(int(port)))


def _parse_socket_path(text: str) -> Path:
    if not text.startswith("/") or text.endswith("/") or not text.isprintable():
        raise ListenError(
            "the absolute path of a socket is expected", 'Write "unix:/run/callgate/http.sock".'
        )
    if len(os.fsencode(text)) > _MAX_SOCKET_PATH_BYTES:
        raise ListenError(
            f"the path of a socket has at most {_MAX_SOCKET_PATH_BYTES} bytes", "Choose a shorter path."
        )
    return Path(text)


def parse_host_and_port(text: str) -> ListenAddress:
    address = parse_listen(text)
    if address.socket_path is not None:
        raise ListenError("host and port are expected", "Other machines cannot reach a Unix socket.")
    return address


def parse_host(text: str) -> str:
    """Without brackets; IPv6 is told by its colons."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if ":" in bare:
        try:
            ip_address(bare)
        except ValueError:
            bare = ""
    if not bare or (":" not in bare and not _HOST_NAME.fullmatch(bare)):
        raise ListenError("the host is not a host name or an address", 'Write a host such as "127.0.0.1".')
    return bare


def parse_port(port: int) -> int:
    if not 0 <= port <= 65535:
        raise ListenError("the port is not from 0 to 65535", "0 takes any free port.")
    return port


def read_listen(
    value: object, hint: str, parse: Callable[[str], ListenAddress] = parse_listen
) -> ListenAddress:
    """For a key of the file; `hint`: what to write where nothing like it was written."""
    if isinstance(value, ListenAddress):
        return value
    if not isinstance(value, str):
        raise refusal("host and port are expected", hint)
    try:
        return parse(value)
    except ListenError as error:
        message, hint = error.message, error.hint
    raise refusal(message, hint)
