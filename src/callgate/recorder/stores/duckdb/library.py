"""DuckDB, loaded when it is first used: it takes 12 MB, and a gateway that nobody has called does without.

Modules of this folder take it from here. They name its types in annotations only, which are never evaluated.
"""

import ctypes
import errno
import sys
from contextlib import suppress
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

__all__ = ["duckdb", "give_back_memory", "is_loaded", "load"]

_ALL_ARENAS = b"arena.4096.purge"  # jemalloc's number for all of them


def is_loaded() -> bool:
    return "duckdb" in sys.modules


def load() -> None:
    """Raises OSError: there may be no descriptor for it at the moment."""
    try:
        import_module("duckdb")
    except ImportError as problem:
        raise OSError(errno.ELIBACC, f"DuckDB cannot be loaded: {problem}") from problem


def give_back_memory() -> None:
    """What its allocator (jemalloc) keeps for later, 30 MB after a large batch. DuckDB itself gives it back
    only when it ends. Where it was built with another allocator, nothing is done."""
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(import_module("_duckdb").__file__)
        library.duckdb_je_mallctl(_ALL_ARENAS, None, None, None, ctypes.c_size_t(0))
