"""Durations ("30d") and sizes ("2GiB"): text outside, numbers with their unit in the field's name inside.

Pure. A bare number is no duration (30 what?), but it is a size (bytes), as people write it.
"""

import re
from typing import Annotated

from callgate.config.problem import shown
from callgate.config.reading.markers import ReadBy, ShownBy
from callgate.config.reading.mistakes import refusal

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_BYTES = {
    "B": 1,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "TiB": 1024**4,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
}
_BYTES_BY_LOWER = {unit.lower(): factor for unit, factor in _BYTES.items()}

# Twelve digits are enough for anything real and keep the arithmetic finite.
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)"
_DURATION = re.compile(_NUMBER + r" ?(ms|s|m|h|d|w)")
_SIZE = re.compile(_NUMBER + r" ?(B|[KMGT]i?B)?", re.IGNORECASE)


def parse_duration_s(text: str) -> float | None:
    """Seconds, or None when the text is no duration."""
    found = _DURATION.fullmatch(text.strip())
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


def format_duration(seconds: float) -> str:
    """The largest unit that keeps a whole number: 2592000 is "30d", 5400 is "90m"."""
    if not seconds:
        return "0s"
    for unit in ("d", "h", "m", "s"):
        count = seconds / _SECONDS[unit]
        if count >= 1 and count == int(count):
            return f"{int(count)}{unit}"
    milliseconds = round(seconds * 1000, 6)
    return f"{milliseconds:f}".rstrip("0").rstrip(".") + "ms"  # no exponent: `parse_duration_s` knows none


def parse_size_bytes(text: str) -> int | None:
    """Bytes, or None when the text is no size."""
    found = _SIZE.fullmatch(text.strip())
    return None if found is None else int(float(found[1]) * _BYTES_BY_LOWER[(found[2] or "B").lower()])


def format_size(size_bytes: int) -> str:
    """The largest unit that keeps a whole number; binary units first, as we write them."""
    for unit in ("TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "KB"):
        if size_bytes and size_bytes % _BYTES[unit] == 0:
            return f"{size_bytes // _BYTES[unit]}{unit}"
    return str(size_bytes)


def _read_duration_s(value: object) -> float:
    seconds = parse_duration_s(value) if isinstance(value, str) else None
    if seconds is None:
        what = shown(value) if isinstance(value, str) else "the value"
        raise refusal(f"{what} is not a duration", 'Write a number and ms, s, m, h, d or w, as in "30m".')
    return seconds


def _read_size_bytes(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    size_bytes = parse_size_bytes(value) if isinstance(value, str) else None
    if size_bytes is None:
        what = shown(value) if isinstance(value, str) else "the value"
        raise refusal(f"{what} is not a size", 'Write bytes, or a number and KiB, MiB or GiB, as in "16MiB".')
    return size_bytes


DurationS = Annotated[
    float,
    ReadBy(
        _read_duration_s,
        {"type": "string", "pattern": f"^{_DURATION.pattern}$", "examples": ["30d", "90s"]},
    ),
    ShownBy(format_duration),
]
SizeBytes = Annotated[
    int,
    ReadBy(
        _read_size_bytes,
        {
            "anyOf": [
                {"type": "string", "pattern": f"^{_NUMBER} ?([Bb]|[KMGTkmgt][Ii]?[Bb])?$"},
                {"type": "integer", "minimum": 0},
            ],
            "examples": ["2GiB", "500MB"],
        },
    ),
    ShownBy(format_size),
]
