"""DuckDB, loaded when it is first used: it takes 12 MB, and a gateway that nobody has called does without.

Modules of this folder take it from here. They name its types in annotations only, which are never evaluated.
What is loaded is `_duckdb`, which is all of DuckDB. The package `duckdb` puts tables as Python objects around
it: 25,000 blocks of memory, which a gateway that only speaks SQL has no use for. It also tells `_duckdb` how
objects with Arrow columns are read. That is done here, for the only ones that we have.
"""

import ctypes
import errno
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from callgate.recorder.stores.duckdb.body_columns import ArrowSources

if TYPE_CHECKING:
    import duckdb
else:

    class _Library:
        def __getattr__(self, name: str) -> Any:
            found = getattr(_loaded(), name)
            setattr(self, name, found)
            return found

    duckdb = _Library()

__all__ = ["duckdb", "give_back_memory", "is_loaded", "load"]

_NAME = "_duckdb"
_ALL_ARENAS = b"arena.4096.purge"  # jemalloc's number for all of them


def is_loaded() -> bool:
    return _NAME in sys.modules


def load() -> None:
    """Raises OSError: there may be no descriptor for it at the moment."""
    try:
        _loaded()
    except ImportError as problem:
        raise OSError(errno.ELIBACC, f"DuckDB cannot be loaded: {problem}") from problem


def _loaded() -> Any:
    library = import_module(_NAME)
    if "duckdb" not in sys.modules:  # else somebody else wants the whole package, which reads ours too
        library._set_arrow_sources(ArrowSources)  # noqa: SLF001 - see above; `tests/stores` holds it
    return library


def give_back_memory() -> None:
    """What its allocator (jemalloc) keeps for later, 30 MB after a large batch. DuckDB itself gives it back
    only when it ends. Where it was built with another allocator, nothing is done."""
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(import_module(_NAME).__file__)
        library.duckdb_je_mallctl(_ALL_ARENAS, None, None, None, ctypes.c_size_t(0))
