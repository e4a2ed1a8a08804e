"""Values of a statement for ClickHouse, as literals in its text."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, cast

_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\x00": "\\0"})
_PARAM = re.compile(r"\$(\d+)")
# What a DateTime64 can hold.
_FIRST, _LAST = datetime(1900, 1, 1), datetime(2299, 12, 31)  # noqa: DTZ001 - as the store's moments are


def spelled(sql: str, params: Sequence[Any]) -> str:
    """A statement with its parameters $1, $2… as literals."""
    return _PARAM.sub(lambda found: literal(params[int(found[1]) - 1]), sql) if params else sql


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime):
        return f"toDateTime64('{_within(value).isoformat(' ')}', 6, 'UTC')"
    if isinstance(value, date):
        return f"toDate32('{max(_FIRST.date(), min(value, _LAST.date())).isoformat()}')"
    if isinstance(value, str):
        return f"'{value.translate(_ESCAPES)}'"
    texts = cast("Sequence[str]", value)
    return f"[{', '.join(map(literal, texts))}]" if texts else "emptyArrayString()"


def _within(moment: datetime) -> datetime:
    return max(_FIRST, min(moment, _LAST))
