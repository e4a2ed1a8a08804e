"""A DuckDB value as JSON has it, nothing rounded; what is too long is cut, and says so. Pure."""

from datetime import datetime
from typing import Any, cast

import msgspec

from callgate.sql.drivers.driver import Cell
from callgate.sql.results.cells import text_cell

JsonCell = Cell | list[Any] | dict[str, Any]

_MAX_JSON_INT = 2**53  # beyond it JavaScript rounds


def json_cell(value: Any, kind: str, limit_bytes: int) -> JsonCell:
    cell = _cell(value)
    if isinstance(cell, str):
        return text_cell(cell.encode("utf-8", "backslashreplace"), limit_bytes)
    if isinstance(cell, list | dict):
        text = msgspec.json.encode(cell)
        return cell if len(text) <= limit_bytes else text_cell(text, limit_bytes)
    return cell


def _cell(value: Any) -> JsonCell:
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _MAX_JSON_INT else str(value)
    if isinstance(value, datetime):
        return value.isoformat() + ("Z" if value.tzinfo is None else "")
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_cell(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(key): _cell(item) for key, item in cast("dict[Any, Any]", value).items()}
    return str(value)  # dates, times, intervals, decimals, UUIDs
