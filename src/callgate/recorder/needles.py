"""RE2, which takes linear time whatever the text: `Needles` says which are there, `Mask` takes one out.

The only place that knows the library, which has no types.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from collections.abc import Sequence
from typing import Any

import re2

from callgate.recorder.dsn import MASK

_MASK = MASK.encode()


def is_valid(pattern: str) -> bool:
    try:
        re2.compile(pattern, _options())
    except re2.error:
        return False
    return True


class Needles:
    def __init__(self, patterns: Sequence[str]) -> None:
        self._set = re2.Set.SearchSet(_options(never_capture=True))
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def found(self, hay: bytes) -> list[int]:
        """The places in `patterns` of those that are there."""
        return self._set.Match(hay) or []


class Mask:
    """Replaces what the pattern finds, but for its first group."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re2.compile(pattern.encode(), _options())
        self._replace = _mask_rest if self._pattern.groups else _mask_whole

    def apply(self, text: bytes) -> bytes:
        return self._pattern.sub(self._replace, text)


def _mask_rest(found: Any) -> bytes:
    return (found.group(1) or b"") + _MASK


def _mask_whole(found: Any) -> bytes:
    return _MASK


def _options(*, never_capture: bool = False) -> Any:
    options = re2.Options()
    options.never_capture = never_capture
    options.log_errors = False  # an operator's pattern may be at fault: said by us, and once
    options.max_mem = 64 * 1024 * 1024  # of states, made as needed; a set that runs out would answer "no"
    return options
