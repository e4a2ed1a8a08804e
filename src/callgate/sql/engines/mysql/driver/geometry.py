"""MySQL's geometry values as well-known text: POINT(1 2) instead of 0x0000…. Pure.

The server sends four bytes of SRID and then well-known binary, x before y. MySQL's own ST_AsText writes the
axes in the order of the reference system, from version 8 on: POINT(latitude longitude) in SRID 4326. So do
we there. What is not read to its last byte is not guessed at: the caller shows it as a blob.
"""

import struct
from collections.abc import Callable
from functools import cache

_KINDS = {
    1: "POINT",
    2: "LINESTRING",
    3: "POLYGON",
    4: "MULTIPOINT",
    5: "MULTILINESTRING",
    6: "MULTIPOLYGON",
    7: "GEOMETRYCOLLECTION",
}
# Geographic reference systems whose first axis is the latitude: of ST_SPATIAL_REFERENCE_SYSTEMS in MySQL 9.7.
_LATITUDE_FIRST = """
3819 3821 3824 3889 3906 4001-4008 4010-4016 4018-4025 4027-4034 4036 4041-4047 4052-4054 4075 4081 4120-4124
4127-4139 4141-4171 4173-4176 4178-4184 4188-4216 4218-4225 4227 4229-4232 4236-4259 4261-4263 4265-4267
4269-4286 4288-4289 4292-4293 4295 4297-4304 4306-4316 4318-4319 4322 4324 4326 4463 4470 4475 4483 4490 4555
4558 4600-4630 4632-4633 4636-4639 4641-4644 4646 4657-4680 4682-4684 4686-4730 4732-4765 4801-4811 4813-4818
4820-4821 4823-4824 4901 4903-4904 5013 5132 5228-5229 5233 5246 5252 5264 5324 5340 5354 5360 5365 5371 5373
5381 5393 5451 5464 5467 5489 5524 5527 5546 5561 5593 5681 5886 6135 6207 6311 6318 6322 6325 6365 6668 6706
6783 6881-6883 6892 6894 6983 6990 7073 7136 7139 7373 7683 7686 7798 7844 7881 7886 8042-8043 8086 8232 8237
8240 8246 8249 8252 8255 8351 8427-8428 8431 8449 8545 8685 8818 8860 8888 8900 8907 8972-9000 9003 9006 9009
9012 9014 9017 9019 9053-9057 9059-9069 9140
"""
_ReadPoint = Callable[[bytes, int, str], tuple[str, int]]
_MAX_DEPTH = 20  # collections may hold collections; the server itself stops earlier


@cache
def latitude_first() -> frozenset[int]:
    ends = [(word.split("-")[0], word.split("-")[-1]) for word in _LATITUDE_FIRST.split()]
    return frozenset(srid for first, last in ends for srid in range(int(first), int(last) + 1))


def to_wkt(value: bytes | bytearray, *, by_system: bool = False) -> str | None:
    """None when it is no geometry that we can read. An SRID other than 0 stands in front, as in EWKT.

    `by_system`: the axes in the order of the reference system, as MySQL has it from version 8 on.
    """
    try:
        (srid,) = struct.unpack_from("<I", value, 0)
        point = _swapped_point if by_system and srid in latitude_first() else _point
        text, end = _geometry(bytes(value), 4, 0, point)
    except (struct.error, KeyError, RecursionError):
        return None
    if end != len(value):
        return None
    return f"SRID={srid};{text}" if srid else text


def _geometry(data: bytes, at: int, depth: int, read: _ReadPoint) -> tuple[str, int]:
    if depth > _MAX_DEPTH:
        raise RecursionError
    order = {0: ">", 1: "<"}[data[at]] if at < len(data) else "<"
    (kind,) = struct.unpack_from(order + "I", data, at + 1)
    name = _KINDS[kind]
    body, end = _body(kind, data, at + 5, order, depth, read)
    return (f"{name} EMPTY" if body == "" else f"{name}({body})"), end


def _body(kind: int, data: bytes, at: int, order: str, depth: int, read: _ReadPoint) -> tuple[str, int]:
    if kind == 1:
        return read(data, at, order)
    if kind == 2:
        return _points(data, at, order, read)
    (count,) = struct.unpack_from(order + "I", data, at)
    if count > len(data):  # each part takes bytes of its own
        raise struct.error
    at += 4
    parts: list[str] = []
    for _ in range(count):
        if kind == 3:
            ring, at = _points(data, at, order, read)
            parts.append(f"({ring})")
            continue
        part, at = _geometry(data, at, depth + 1, read)
        parts.append(part if kind == 7 else part[part.index("(") :] if "(" in part else "EMPTY")
    return ",".join(parts), at


def _points(data: bytes, at: int, order: str, read: _ReadPoint) -> tuple[str, int]:
    (count,) = struct.unpack_from(order + "I", data, at)
    if count > len(data):
        raise struct.error
    at += 4
    points: list[str] = []
    for _ in range(count):
        point, at = read(data, at, order)
        points.append(point)
    return ",".join(points), at


def _point(data: bytes, at: int, order: str) -> tuple[str, int]:
    x, y = struct.unpack_from(order + "dd", data, at)
    return f"{_number(x)} {_number(y)}", at + 16


def _swapped_point(data: bytes, at: int, order: str) -> tuple[str, int]:
    x, y = struct.unpack_from(order + "dd", data, at)
    return f"{_number(y)} {_number(x)}", at + 16


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
