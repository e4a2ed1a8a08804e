"""The MySQL protocol's packets, of which we speak a part: text queries and prepared statements. Pure.

What we never say we can do, the server never does: no multi-statements (stacked text is a syntax error then),
no LOCAL INFILE, no multi-results. Layouts: MySQL internals manual, "Client/Server Protocol"; MariaDB's
knowledge base for the extended column metadata. Counterpart: `wire` moves them.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from callgate.model.wording import clip
from callgate.sql.drivers.network.server import MOST_FAULT_CHARS, DatabaseFault
from callgate.sql.guard.judgement import Bound

# Capabilities
_LONG_PASSWORD = 0x1  # what MariaDB calls CLIENT_MYSQL: "no extensions of MariaDB's"
_LONG_FLAG = 0x4
CONNECT_WITH_DB = 0x8
_PROTOCOL_41 = 0x200
SSL = 0x800
_TRANSACTIONS = 0x2000
_SECURE_CONNECTION = 0x8000
_PLUGIN_AUTH = 0x80000
_CONNECT_ATTRS = 0x100000
_PLUGIN_AUTH_LENENC = 0x200000
_SESSION_TRACK = 0x800000
DEPRECATE_EOF = 0x1000000
_TRACKING = _SESSION_TRACK | DEPRECATE_EOF
# Of MariaDB's own, 32 bits further up: columns say "uuid", "inet6", "json", "point".
EXTENDED_METADATA = 0x8

_WANTED = (
    _LONG_FLAG
    | _PROTOCOL_41
    | _TRANSACTIONS
    | _SECURE_CONNECTION
    | _PLUGIN_AUTH
    | _CONNECT_ATTRS
    | _PLUGIN_AUTH_LENENC
    | _TRACKING
)
_NEEDED = _PROTOCOL_41 | _SECURE_CONNECTION | _PLUGIN_AUTH

_QUERY = b"\x03"
_PING = b"\x0e"
_STMT_PREPARE = b"\x16"
_STMT_EXECUTE = b"\x17"
_RESET_CONNECTION = b"\x1f"

_UTF8MB4 = 45  # utf8mb4_general_ci: known to every server that knows utf8mb4
MAX_PACKET = 0xFFFFFF  # a packet of this length is continued in the next one


@dataclass(frozen=True, slots=True)
class Greeting:
    server_version: str
    connection_id: int
    seed: bytes
    capabilities: int
    mariadb_capabilities: int
    auth_plugin: str

    @property
    def is_mariadb(self) -> bool:
        return "MariaDB" in self.server_version

    @property
    def version(self) -> tuple[int, int]:
        """The first two numbers, of either flavour."""
        plain = self.server_version.removeprefix("5.5.5-") if self.is_mariadb else self.server_version
        found = re.match(r"(\d+)\.(\d+)", plain)
        return (int(found[1]), int(found[2])) if found is not None else (0, 0)

    @property
    def told_version(self) -> str:
        """`5.5.5-10.11.19-MariaDB-0+deb12u1` is MariaDB 10.11.19 in disguise for old replicas."""
        plain = self.server_version.removeprefix("5.5.5-").partition("-")[0]
        return f"{'MariaDB' if self.is_mariadb else 'MySQL'} {plain}"

    @property
    def tracks_state(self) -> bool:
        """The packet behind a result can say that its statement changed the session."""
        return self.capabilities & _TRACKING == _TRACKING

    @property
    def is_mysql_8(self) -> bool:
        """Or newer."""
        return not self.is_mariadb and self.version >= (8, 0)


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    name: str
    charset: int
    length: int
    type_code: int
    flags: int
    decimals: int
    extended_type: str = ""  # MariaDB's own word: uuid, inet4, inet6, json, point, …


@dataclass(frozen=True, slots=True)
class Login:
    user: str
    database: str | None
    auth_plugin: str
    auth_response: bytes
    attributes: tuple[tuple[str, str], ...] = ()


def framed(payload: bytes, sequence: int = 0) -> bytes:
    """As packets of the wire: longer ones are parted."""
    parts: list[bytes] = []
    while True:
        part, payload = payload[:MAX_PACKET], payload[MAX_PACKET:]
        parts.append(len(part).to_bytes(3, "little") + bytes((sequence & 0xFF,)) + part)
        sequence += 1
        if len(part) < MAX_PACKET:
            return b"".join(parts)


def query(text: str) -> bytes:
    payload = _QUERY + text.encode()
    if len(payload) >= MAX_PACKET:
        return framed(payload)
    return len(payload).to_bytes(3, "little") + b"\0" + payload


def prepare(text: str) -> bytes:
    return framed(_STMT_PREPARE + text.encode())


PING = framed(_PING)
RESET_CONNECTION = framed(_RESET_CONNECTION)


def execute(statement_id: int, values: Sequence[Bound]) -> bytes:
    nulls = bytearray((len(values) + 7) // 8)
    types = bytearray()
    data = bytearray()
    for number, value in enumerate(values):
        if value is None:
            nulls[number // 8] |= 1 << number % 8
        kind, encoded = _bound(value)
        types += kind
        data += encoded
    head = _STMT_EXECUTE + struct.pack("<IBI", statement_id, 0, 1)
    return framed(head + bytes(nulls) + b"\x01" + bytes(types) + bytes(data))


def _bound(value: Bound) -> tuple[bytes, bytes]:
    """Type with its unsigned flag, and the value."""
    if value is None:
        return b"\x06\x00", b""
    if isinstance(value, bool):
        return b"\x01\x00", bytes((value,))
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return b"\x08\x00", struct.pack("<q", value)
    if isinstance(value, int) and 0 <= value < 2**64:
        return b"\x08\x80", struct.pack("<Q", value)
    if isinstance(value, float):
        return b"\x05\x00", struct.pack("<d", value)
    text = str(value).encode()  # an integer beyond 64 bits as well
    return b"\xfd\x00", lenenc_bytes(text)


def lenenc_bytes(data: bytes) -> bytes:
    size = len(data)
    if size < 251:
        return bytes((size,)) + data
    if size < 0x10000:
        return b"\xfc" + size.to_bytes(2, "little") + data
    if size < 0x1000000:
        return b"\xfd" + size.to_bytes(3, "little") + data
    return b"\xfe" + size.to_bytes(8, "little") + data


def read_lenenc(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """The number and where it ends. NULL (0xFB) is the business of rows alone."""
    first = data[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    size, at = read_lenenc(data, at)
    return data[at : at + size].decode("utf-8", "backslashreplace"), at + size


def read_greeting(data: bytes) -> Greeting:
    """Raises ValueError when it is not one that we can answer."""
    if data[0] != 10:
        raise ValueError("protocol")
    version_end = data.index(0, 1)
    at = version_end + 1
    (connection_id,) = struct.unpack_from("<I", data, at)
    seed = data[at + 4 : at + 12]
    low, _, _, high, seed_size = struct.unpack_from("<HBHHB", data, at + 13)
    capabilities = low | high << 16
    if capabilities & _NEEDED != _NEEDED:
        raise ValueError("capabilities")
    (mariadb_capabilities,) = struct.unpack_from("<I", data, at + 27)
    rest = at + 31
    second = max(13, seed_size - 8)
    plugin = data[rest + second :].split(b"\0", 1)[0].decode("ascii", "replace")
    return Greeting(
        data[1:version_end].decode("utf-8", "replace"),
        connection_id,
        (seed + data[rest : rest + second]).rstrip(b"\0")[:20],
        capabilities,
        0 if capabilities & _LONG_PASSWORD else mariadb_capabilities,
        plugin,
    )


def capabilities_of(greeting: Greeting, *, with_database: bool, with_tls: bool) -> int:
    wanted = _WANTED & greeting.capabilities
    if not greeting.mariadb_capabilities:
        wanted |= _LONG_PASSWORD
    return wanted | (CONNECT_WITH_DB if with_database else 0) | (SSL if with_tls else 0)


def login_head(capabilities: int, greeting: Greeting) -> bytes:
    """Also, alone, the request to speak TLS."""
    extended = greeting.mariadb_capabilities & EXTENDED_METADATA
    return struct.pack("<IIB19sI", capabilities, MAX_PACKET, _UTF8MB4, b"", extended)


def login(login: Login, capabilities: int, greeting: Greeting) -> bytes:
    parts = [login_head(capabilities, greeting), login.user.encode() + b"\0"]
    if capabilities & _PLUGIN_AUTH_LENENC:
        parts.append(lenenc_bytes(login.auth_response))
    else:
        parts.append(bytes((len(login.auth_response),)) + login.auth_response)
    if login.database is not None:
        parts.append(login.database.encode() + b"\0")
    parts.append(login.auth_plugin.encode() + b"\0")
    if capabilities & _CONNECT_ATTRS:
        pairs = b"".join(
            lenenc_bytes(name.encode()) + lenenc_bytes(value.encode()) for name, value in login.attributes
        )
        parts.append(lenenc_bytes(pairs))
    return b"".join(parts)


def read_fault(data: bytes | bytearray) -> DatabaseFault:
    code = int.from_bytes(data[1:3], "little")
    text = bytes(data[3:]).decode("utf-8", "backslashreplace")
    sqlstate = ""
    if text.startswith("#"):
        sqlstate, text = text[1:6], text[6:]
    return DatabaseFault(str(code), sqlstate, clip(text, MOST_FAULT_CHARS))


def read_affected(data: bytes | bytearray) -> int:
    return read_lenenc(data, 1)[0]


def read_column(data: bytes, *, is_extended: bool) -> ColumnDefinition:
    at = 0
    for _ in range(4):  # catalog, schema, table, original table
        size, at = read_lenenc(data, at)
        at += size
    name, at = _read_text(data, at)
    size, at = read_lenenc(data, at)
    at += size
    extended = ""
    if is_extended:
        size, at = read_lenenc(data, at)
        extended = _extended_type(data[at : at + size])
        at += size
    charset, length, type_code, flags, decimals = struct.unpack_from("<HIBHB", data, at + 1)
    return ColumnDefinition(name, charset, length, type_code, flags, decimals, extended)


def _extended_type(data: bytes) -> str:
    """MariaDB: 0 is the type's name, 1 the format of what it holds (json)."""
    at = 0
    found = ""
    while at < len(data):
        kind, size = data[at], data[at + 1]
        found = data[at + 2 : at + 2 + size].decode("ascii", "replace") if kind <= 1 else found
        at += 2 + size
    return found
