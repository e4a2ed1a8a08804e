"""Bodies of journalled rows as two Arrow columns that DuckDB reads where they lie, without a copy.

The only place that knows the library, which has no types.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from callgate.recorder.journal.frames import Bodies, joined

# A chunk as such costs 50 µs (DuckDB passes it on by itself, in 45 columns): as much as copying this.
_CHUNK_BYTES = 256 * 1024
_CHUNK_ROWS = 2048  # as DuckDB cuts them anyway


def load_arrow() -> None:
    """Before it is needed: an import takes descriptors, and a gateway under attack may have none left."""
    import_module("nanoarrow.c_array_stream")


class BodyColumns:
    """`request_json` and `response_json`; may be read more than once."""

    def __init__(self, bodies: Iterable[Bodies]) -> None:
        # Here and not above: 0.1 s that the start of a command need not wait for.
        from nanoarrow import c_schema, string, struct

        text = c_schema(string())
        self._shape = c_schema(struct({"request_json": string(), "response_json": string()}))
        self._chunks = [_chunk(some, text, self._shape) for some in _worth_a_chunk(bodies)]

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        from nanoarrow.c_array_stream import CArrayStream

        chunks = CArrayStream.from_c_arrays(self._chunks, self._shape, validate=False)
        return chunks.__arrow_c_stream__(requested_schema)


def _worth_a_chunk(bodies: Iterable[Bodies]) -> Iterator[Bodies]:
    """Small ones together, in their order."""
    small: list[Bodies] = []
    size = rows = 0
    for of_frame in bodies:
        small.append(of_frame)
        size += len(of_frame.data)
        rows += of_frame.count
        if size >= _CHUNK_BYTES or rows >= _CHUNK_ROWS:
            yield joined(small)
            small, size, rows = [], 0, 0
    if small:
        yield joined(small)


def _chunk(bodies: Bodies, text: Any, shape: Any) -> Any:
    """Both columns share the bytes; nothing is validated, `frames` did."""
    from nanoarrow import c_array_from_buffers

    count = bodies.count

    def column(offsets: memoryview) -> Any:
        return c_array_from_buffers(
            text, count, [None, offsets, bodies.data], null_count=0, validation_level="none"
        )

    offsets = memoryview(bodies.offsets)
    columns = [column(offsets[: count + 1]), column(offsets[count:])]
    return c_array_from_buffers(
        shape, count, [None], null_count=0, children=columns, validation_level="none", move=True
    )
