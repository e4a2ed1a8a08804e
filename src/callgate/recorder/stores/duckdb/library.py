"""DuckDB, loaded when it is first used: it takes 12 MB, and a gateway that nobody has called does without.

Modules of this folder take it from here. They name its types in annotations only, which are never evaluated.
"""

import errno
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
else:

    class _Library:
        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module("duckdb"), name)
            setattr(self, name, found)
            return found

    duckdb = _Library()

__all__ = ["duckdb", "is_loaded", "load"]


def is_loaded() -> bool:
    return "duckdb" in sys.modules


def load() -> None:
    """Raises OSError: there may be no descriptor for it at the moment."""
    try:
        import_module("duckdb")
    except ImportError as problem:
        raise OSError(errno.ELIBACC, f"DuckDB cannot be loaded: {problem}") from problem
