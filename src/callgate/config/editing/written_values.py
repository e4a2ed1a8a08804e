"""How keys and values are written in TOML, and key paths as people and the API write them. Pure.

A key path is `record.keep`, `mcpServers."my server".url`, `sources.shop.dsn` (a source by its id) or
`tools[0].sql`.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any, cast

from callgate.config.problem import Loc
from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_PART = re.compile(r'\.?(?:(?P<bare>[A-Za-z0-9_-]+)|(?P<quoted>"(?:[^"\\]|\\.)*")|\[(?P<at>[0-9]{1,4})\])')
# TOML forbids DEL in a text, JSON does not escape it.
_DEL = "\x7f"
_MAX_PATH_CHARS = 1_000
_MAX_DEPTH = 20


def written_key(part: str) -> str:
    return part if _BARE_KEY.fullmatch(part) else _text(part)


def written(value: Any, depth: int = 0) -> str:
    """The value on one line. Raises CallerError for what TOML does not have."""
    if depth > _MAX_DEPTH:
        raise CallerError(CALLER_BAD_PARAMS, "A value is nested too deeply")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {"inf": "inf", "-inf": "-inf"}.get(str(value), "nan")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(written(one, depth + 1) for one in cast('list[Any]', value))}]"
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        members = ", ".join(f"{written_key(key)} = {written(one, depth + 1)}" for key, one in table.items())
        return f"{{ {members} }}" if members else "{}"
    raise CallerError(
        CALLER_BAD_PARAMS, "A value is null, which the file cannot hold", hint="Name the key under unset"
    )


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CallerError(CALLER_BAD_PARAMS, "A text is not valid Unicode") from None
    return json.dumps(text, ensure_ascii=False).replace(_DEL, "\\u007F")


def read_key_path(text: str) -> Loc:
    """Raises CallerError."""
    loc: list[str | int] = []
    end = 0
    while end < len(text) <= _MAX_PATH_CHARS:
        part = _PART.match(text, end)
        if part is None or text.startswith(".", end) is (not loc):
            is_item = part is not None and part["at"] is not None and bool(loc)
            if not is_item or part is None:
                break
        if part["at"] is not None:
            loc.append(int(part["at"]))
        else:
            loc.append(part["bare"] or json.loads(part["quoted"]))
        end = part.end()
    if not loc or end < len(text) or len(loc) > _MAX_DEPTH or isinstance(loc[0], int):
        raise CallerError(
            CALLER_BAD_PARAMS,
            f"{text[:100]!r} is not a key path",
            hint='Write record.keep, sources.<id>.dsn, or mcpServers."a name".url',
        )
    return tuple(loc)


def written_path(loc: Loc) -> str:
    """As `read_key_path` reads it."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{written_key(part)}" if path else written_key(part)
    return path
