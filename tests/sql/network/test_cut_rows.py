"""The compiled loops do what their source says, whatever the server sends."""

import importlib.util
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callgate.sql.drivers.network import cut_rows
from callgate.sql.drivers.network.stream import OUT_OF_STEP, ConnectionLost

SOURCE = Path(cut_rows.__file__).with_name("cut_rows.py")


def load_plain() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plain_cut_rows", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLAIN = load_plain()
needs_compiled = pytest.mark.skipif(
    Path(cut_rows.__file__) == SOURCE, reason="not compiled: there was no C compiler when it was installed"
)


class Text:
    is_text = True

    @staticmethod
    def decode(raw: bytes) -> str:
        return raw.decode("utf-8", "backslashreplace")


class Number:
    is_text = False
    decode = int


COLUMNS = [Text, Number, Text]
Cells = list[bytes | None]
Pack = Callable[[Cells], bytes]


def mysql_row(cells: Cells) -> bytes:
    body = b"".join(b"\xfb" if cell is None else lenenc(len(cell)) + cell for cell in cells)
    return len(body).to_bytes(3, "little") + b"\xc8" + body


def lenenc(length: int) -> bytes:
    if length < 251:
        return bytes([length])
    return b"\xfc" + length.to_bytes(2, "little") if length < 300 else b"\xfd" + length.to_bytes(3, "little")


def postgres_row(cells: Cells) -> bytes:
    body = struct.pack("!h", len(cells)) + b"".join(
        b"\xff\xff\xff\xff" if cell is None else struct.pack("!i", len(cell)) + cell for cell in cells
    )
    return b"D" + struct.pack("!i", len(body) + 4) + body


LOOPS = pytest.mark.parametrize(("loop", "pack"), [("lenenc_rows", mysql_row), ("int32_rows", postgres_row)])
texts = st.none() | st.binary(max_size=40) | st.integers(240, 320).map(lambda size: b"x" * size)
numbers = st.none() | st.integers(-(2**63), 2**64 - 1).map(lambda number: b"%d" % number)
rows = st.lists(st.tuples(texts, numbers, texts).map(list), max_size=8)
changes = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4)


def outcome(loop: Callable[..., object], buffer: bytes, end: int, most: int, limit: int) -> object:
    try:
        return loop(buffer, end, most, limit, COLUMNS)
    except (ConnectionLost, *OUT_OF_STEP) as error:
        return type(error)


def changed(buffer: bytes, by: list[tuple[int, int]]) -> bytes:
    """As a server of ill will would send it."""
    bytes_ = bytearray(buffer)
    for place, value in by:
        if place < len(bytes_):
            bytes_[place] = value
    return bytes(bytes_)


@LOOPS
def test_whole_rows_become_their_cells_and_the_rest_is_left(loop: str, pack: Pack) -> None:
    cells: list[Cells] = [[b"\xc3\xa9", b"-7", None], [b"", None, b"\xff"], [b"x" * 270, b"1", b"y" * 310]]
    buffer = b"".join(map(pack, cells))
    wanted = [("é", -7, None), ("", None, "\\xff"), ("x" * 270, 1, "y" * 310)]
    for module in (cut_rows, PLAIN):
        cut = getattr(module, loop)
        assert cut(buffer, len(buffer), 10, 1000, COLUMNS) == (wanted, len(buffer))
        assert cut(buffer + b"\x01", len(buffer) + 1, 10, 1000, COLUMNS) == (wanted, len(buffer))
        assert cut(buffer, len(buffer) - 1, 10, 1000, COLUMNS)[0] == wanted[:2]
        assert cut(buffer, len(buffer), 1, 1000, COLUMNS)[0] == wanted[:1]
        assert cut(buffer, len(buffer), 10, 300, COLUMNS)[0] == wanted[:2]


@LOOPS
@given(st.text("0123456789-+_ \u0660", max_size=22))
@example("")
@example("-")
@example("-0")
@example("007")
@example("9" * 18)
@example("-" + "9" * 18)
@example("9223372036854775807")
@example("-9223372036854775808")
@example("9223372036854775808")
@example("1" + "0" * 18)
def test_an_integer_is_what_python_reads(loop: str, pack: Pack, text: str) -> None:
    buffer = pack([b"", text.encode(), b""])
    wanted: object = ValueError
    with suppress(ValueError):
        wanted = [("", int(text.encode()), "")], len(buffer)
    for module in (cut_rows, PLAIN):
        assert outcome(getattr(module, loop), buffer, len(buffer), 10, 1000) == wanted


@LOOPS
@given(st.binary(max_size=40))
def test_a_text_is_what_its_column_decodes(loop: str, pack: Pack, raw: bytes) -> None:
    buffer = pack([raw, b"1", b""])
    for module in (cut_rows, PLAIN):
        cells = [(Text.decode(raw), 1, "")]
        assert outcome(getattr(module, loop), buffer, len(buffer), 10, 1000) == (cells, len(buffer))


@pytest.mark.parametrize("loop", ["lenenc_rows", "int32_rows"])
def test_a_buffer_without_a_row_gives_none(loop: str) -> None:
    for module in (cut_rows, PLAIN):
        for buffer in (b"", b"D", b"\0\0\0\0\0\0\0\0\0\0", b"Z\0\0\0\5I"):
            assert getattr(module, loop)(buffer, min(len(buffer), 4), 10, 1000, COLUMNS) == ([], 0)


@needs_compiled
@LOOPS
@given(rows, changes, st.integers(0, 60), st.integers(0, 9), st.sampled_from([40, 1000, 2**40]))
def test_compiled_rows_are_those_of_the_source(
    loop: str, pack: Pack, cells: list[Cells], by: list[tuple[int, int]], missing: int, most: int, limit: int
) -> None:
    buffer = changed(b"".join(map(pack, cells)), by)
    asked = buffer, max(len(buffer) - missing, 0), most, limit
    assert outcome(getattr(cut_rows, loop), *asked) == outcome(getattr(PLAIN, loop), *asked)
