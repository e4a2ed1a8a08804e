"""RE2, which takes linear time whatever the text: `PatternSet` says which patterns are there, `Mask` takes
one out, `Places` says where one is.

The only place that knows the library, which has no types.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import re2

from callgate.recorder.redact.dsn import MASK

_MASK = MASK.encode()


class PatternSet:
    def __init__(self, patterns: Sequence[str]) -> None:
        self._set = re2.Set.SearchSet(_options(never_capture=True))
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def found(self, text: bytes) -> list[int]:
        """The numbers of the patterns that are there, in order."""
        found = cast("list[int] | None", self._set.Match(text))
        return sorted(found or ())


class Mask:
    """Replaces what the pattern finds, but for its first and second group.

    `is_secret`: asked about what would be replaced.
    """

    def __init__(self, pattern: str, is_secret: Callable[[str], bool] | None = None) -> None:
        self._pattern = re2.compile(pattern.encode(), _options())
        self._groups: int = self._pattern.groups
        self._is_secret = is_secret

    def apply(self, text: bytes) -> bytes:
        return self._pattern.sub(self._replace, text)

    def _replace(self, found: Any) -> bytes:
        before: bytes = (found.group(1) or b"") if self._groups else b""
        after: bytes = (found.group(2) or b"") if self._groups > 1 else b""
        if self._is_secret is not None:
            whole: bytes = found.group(0)
            if not self._is_secret(whole[len(before) : len(whole) - len(after)].decode(errors="replace")):
                return whole
        return before + _MASK + after


class Places:
    def __init__(self, pattern: str) -> None:
        self._pattern = re2.compile(pattern.encode(), _options(never_capture=True))

    def find(self, text: bytes) -> Iterator[tuple[int, int]]:
        """From left to right, none over another."""
        return (found.span() for found in self._pattern.finditer(text))


def literal(text: str) -> str:
    """As a part of a pattern, also for `vector_scan` if it is ASCII."""
    return "".join(
        char if (char.isascii() and char.isalnum()) or char == "_" else rf"\x{{{ord(char):x}}}"
        for char in text
    )


def _options(*, never_capture: bool = False) -> Any:
    options = re2.Options()
    options.never_capture = never_capture
    options.log_errors = False  # an operator's pattern may be at fault: said by us, and once
    options.max_mem = 64 * 1024 * 1024  # of states, made as needed; a set that runs out would answer "no"
    return options
