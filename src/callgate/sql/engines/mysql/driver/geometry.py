"""MySQL's geometry values as well-known text: POINT(1 2) instead of 0x0000…. Pure.

The server sends four bytes of SRID and then well-known binary. What is not read to its last byte as that is
not guessed at: the caller shows it as a blob.
"""

import struct

_KINDS = {
    1: "POINT",
    2: "LINESTRING",
    3: "POLYGON",
    4: "MULTIPOINT",
    5: "MULTILINESTRING",
    6: "MULTIPOLYGON",
    7: "GEOMETRYCOLLECTION",
}
_MAX_DEPTH = 20  # collections may hold collections; the server itself stops earlier


def to_wkt(value: bytes | bytearray) -> str | None:
    """None when it is no geometry that we can read. An SRID other than 0 stands in front, as in EWKT."""
    try:
        (srid,) = struct.unpack_from("<I", value, 0)
        text, end = _geometry(bytes(value), 4, 0)
    except (struct.error, KeyError, RecursionError):
        return None
    if end != len(value):
        return None
    return f"SRID={srid};{text}" if srid else text


def _geometry(data: bytes, at: int, depth: int) -> tuple[str, int]:
    if depth > _MAX_DEPTH:
        raise RecursionError
    order = {0: ">", 1: "<"}[data[at]] if at < len(data) else "<"
    (kind,) = struct.unpack_from(order + "I", data, at + 1)
    name = _KINDS[kind]
    body, end = _body(kind, data, at + 5, order, depth)
    return (f"{name} EMPTY" if body == "" else f"{name}({body})"), end


def _body(kind: int, data: bytes, at: int, order: str, depth: int) -> tuple[str, int]:
    if kind == 1:
        return _point(data, at, order)
    if kind == 2:
        return _points(data, at, order)
    (count,) = struct.unpack_from(order + "I", data, at)
    if count > len(data):  # each part takes bytes of its own
        raise struct.error
    at += 4
    parts: list[str] = []
    for _ in range(count):
        if kind == 3:
            ring, at = _points(data, at, order)
            parts.append(f"({ring})")
            continue
        part, at = _geometry(data, at, depth + 1)
        parts.append(part if kind == 7 else part[part.index("(") :] if "(" in part else "EMPTY")
    return ",".join(parts), at


def _points(data: bytes, at: int, order: str) -> tuple[str, int]:
    (count,) = struct.unpack_from(order + "I", data, at)
    if count > len(data):
        raise struct.error
    at += 4
    points: list[str] = []
    for _ in range(count):
        point, at = _point(data, at, order)
        points.append(point)
    return ",".join(points), at


def _point(data: bytes, at: int, order: str) -> tuple[str, int]:
    x, y = struct.unpack_from(order + "dd", data, at)
    return f"{_number(x)} {_number(y)}", at + 16


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
