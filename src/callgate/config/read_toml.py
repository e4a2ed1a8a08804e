"""TOML as tables. Nesting that Python cannot follow is an error of the text like any other."""

import tomllib
from typing import Any


class TooDeepTomlError(tomllib.TOMLDecodeError):
    def __init__(self) -> None:
        ValueError.__init__(self, "it is nested too deeply")


def read_toml(text: str) -> dict[str, Any]:
    """Raises tomllib.TOMLDecodeError."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TooDeepTomlError from None
