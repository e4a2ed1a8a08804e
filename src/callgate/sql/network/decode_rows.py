"""From raw cells to rows of faithful ones, a column at a time. Pure.

A column has one decoder for all its cells, so the loop over them runs in C (`map`, `zip`): this is half the
work of asking for a decoder at every cell. Counterpart: the engines' `columns` say how a cell is decoded.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from callgate.sql.driver import Cell

Decode = Callable[[bytes], Cell]


class CellDecoder(Protocol):
    @property
    def decode(self) -> Decode:
        """Of any value: cuts it at the limit, and shows bytes that are no text."""
        ...

    @property
    def decode_within(self) -> Decode:
        """Of a value within the limit. May raise UnicodeDecodeError."""
        ...


def decode_rows(
    raws: Sequence[bytes | None], decoders: Sequence[CellDecoder], *, has_null: bool
) -> Iterator[tuple[Cell, ...]]:
    """`raws`: the cells of row after row, all of them within the limit; there is at least one column."""
    width = len(decoders)
    columns = [
        _decode_column(raws[at::width], decoder, has_null=has_null) for at, decoder in enumerate(decoders)
    ]
    return zip(*columns, strict=True)


def _decode_column(raws: Sequence[bytes | None], decoder: CellDecoder, *, has_null: bool) -> list[Cell]:
    if not has_null or None not in raws:
        try:
            return list(map(decoder.decode_within, raws))  # pyright: ignore[reportArgumentType]
        except UnicodeDecodeError:
            pass
    decode = decoder.decode
    return [None if raw is None else decode(raw) for raw in raws]
