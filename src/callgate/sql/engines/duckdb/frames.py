"""Frames: what driver and child say to each other, each with its length in front. Pure.

JSON and not MessagePack, which has no integers beyond 64 bits (a HUGEINT has 128).
"""

import struct
from typing import Any

import msgspec

from callgate.sql.drivers.driver import Cell
from callgate.sql.guard.judgement import Bound

_LENGTH = struct.Struct(">I")


class Setup(msgspec.Struct, tag="setup", frozen=True):
    """The first frame: what the child opens, and what may run there."""

    path: str
    read_only: bool
    statement_types: frozenset[str]  # by DuckDB's own parser; the wall behind the guard
    data_bytes: int  # of the whole process
    folder: str = ""  # what a `Run` may attach lies in it; empty: nothing may be attached


class StatementOrder(msgspec.Struct, frozen=True):
    text: str
    parameters: tuple[Bound, ...]
    max_rows: int
    character_limit: int
    cell_bytes: int
    # Values as JSON has them (lists, objects, moments of ISO 8601), and not as DuckDB writes them.
    as_json: bool = False


class Attached(msgspec.Struct, frozen=True):
    """Files that are read as one database."""

    files: dict[str, str]  # a quoted name, and the file's path
    views: tuple[str, ...]  # the statements that make them one


class Run(msgspec.Struct, tag="run", frozen=True):
    job_id: int
    statements: tuple[StatementOrder, ...]
    attached: Attached | None = None


class Stop(msgspec.Struct, tag="stop", frozen=True):
    job_id: int


class StatementRows(msgspec.Struct, frozen=True):
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell | list[Any] | dict[str, Any], ...], ...]  # nested only `as_json`
    affected: int
    elapsed_ms: float
    truncated: bool


class Done(msgspec.Struct, tag="done", frozen=True):
    job_id: int
    results: tuple[StatementRows, ...]


class Failed(msgspec.Struct, tag="failed", frozen=True):
    job_id: int
    kind: str  # DuckDB's name of the error, or one of the three below
    message: str
    done: int  # statements that had been run before


OPENING = "opening"  # the file could not be opened
STOPPED = "stopped"  # as it was told
REFUSED = "refused"  # a statement type that is not on the list; the message names it

Order = Setup | Run | Stop
Report = Done | Failed

_encode = msgspec.json.Encoder().encode
read_order = msgspec.json.Decoder(Order).decode
read_report = msgspec.json.Decoder(Report).decode


def frame(message: Order | Report) -> bytes:
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


class Unframer:
    """Bytes as they come in, whole bodies out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        bodies: list[bytes] = []
        while len(self._buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                break
            bodies.append(bytes(self._buffer[_LENGTH.size : end]))
            del self._buffer[:end]
        return bodies
