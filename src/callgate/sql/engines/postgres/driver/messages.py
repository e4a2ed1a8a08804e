"""The PostgreSQL protocol's messages, of which we speak the extended part alone. Pure.

The simple protocol, which would run `a; b` at one go, is never used: text with two statements in it is an
error of the server's here. Results come as text, so that every type, also one invented tomorrow, is shown as
the server itself shows it. Layouts: PostgreSQL manual, "Message Formats". Counterpart: `wire` moves them.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from callgate.model.wording import clip
from callgate.sql.drivers.network.server import MOST_FAULT_CHARS, DatabaseFault
from callgate.sql.guard.judgement import Bound

_PROTOCOL_3_0 = 196608
_SSL_REQUEST = 80877103
_CANCEL_REQUEST = 80877102
_LENGTH_BYTES = 4
_MOST_DIGITS = 12  # of a place in a statement

SYNC = b"S\x00\x00\x00\x04"
TERMINATE = b"X\x00\x00\x00\x04"
SSL_REQUEST = struct.pack("!II", 8, _SSL_REQUEST)


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type_oid: int


def framed(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + _LENGTH_BYTES) + body


def startup(parameters: Mapping[str, str]) -> bytes:
    pairs = b"".join(_text(name) + _text(value) for name, value in parameters.items())
    body = struct.pack("!I", _PROTOCOL_3_0) + pairs + b"\0"
    return struct.pack("!I", len(body) + _LENGTH_BYTES) + body


def cancel(process_id: int, secret: bytes) -> bytes:
    size = 2 * _LENGTH_BYTES + 4 + len(secret)
    return struct.pack("!III", size, _CANCEL_REQUEST, process_id) + secret


def password(data: bytes) -> bytes:
    """Also every step of SASL."""
    return framed(b"p", data)


def sasl_start(mechanism: str, first: bytes) -> bytes:
    return password(_text(mechanism) + struct.pack("!i", len(first)) + first)


def question(sql: str, values: Sequence[Bound] = (), row_limit: int = 0, *, described: bool = True) -> bytes:
    """Parse, bind, describe and execute one statement, without the Sync that ends its group."""
    parse = framed(b"P", b"\0" + _text(sql) + b"\0\0")  # no name, types as the server infers them
    bind = framed(b"B", _bind(values))
    describe = framed(b"D", b"P\0") if described else b""
    return parse + bind + describe + framed(b"E", b"\0" + struct.pack("!I", row_limit))


def _bind(values: Sequence[Bound]) -> bytes:
    """Values as text, which the server reads as the type that it inferred; results as text too."""
    parts = [b"\0\0", struct.pack("!HH", 0, len(values))]
    for value in values:
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
            continue
        data = _bound(value).encode()
        parts.append(struct.pack("!I", len(data)) + data)
    parts.append(struct.pack("!H", 0))
    return b"".join(parts)


def _bound(value: float | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _text(value: str) -> bytes:
    """Raises UnicodeEncodeError, also for a NUL: it would end the text early."""
    if "\0" in value:
        raise UnicodeEncodeError("utf-8", value, value.index("\0"), value.index("\0") + 1, "NUL")
    return value.encode() + b"\0"


def read_fault(body: bytes) -> DatabaseFault:
    fields: dict[str, str] = {}
    for part in body.split(b"\0"):
        if part:
            fields[chr(part[0])] = clip(part[1:].decode("utf-8", "backslashreplace"), MOST_FAULT_CHARS)
    position = fields.get("P", "")
    detail = fields.get("D", "")
    return DatabaseFault(
        fields.get("C", ""),
        fields.get("C", ""),
        fields.get("M", ""),
        hint=" ".join(filter(None, (detail, fields.get("H", "")))),
        position=int(position) if position.isdecimal() and len(position) < _MOST_DIGITS else None,
    )


def read_fields(body: bytes) -> tuple[Field, ...]:
    (count,) = struct.unpack_from("!H", body, 0)
    at = 2
    fields: list[Field] = []
    for _ in range(count):
        end = body.index(0, at)
        (type_oid,) = struct.unpack_from("!I", body, end + 7)
        fields.append(Field(body[at:end].decode("utf-8", "backslashreplace"), type_oid))
        at = end + 19
    return tuple(fields)


def read_affected(tag: bytes) -> int:
    """INSERT 0 5, UPDATE 5, SELECT 5, COMMIT"""
    last = tag.rstrip(b"\0").rpartition(b" ")[2]
    return int(last) if last.isdigit() else 0
