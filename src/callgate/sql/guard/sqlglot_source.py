"""sqlglot as Python source, also where its compiled modules (`sqlglotc`) are installed. Import this first.

A compiled parser cannot be inherited from, so its steps could not be counted (`guard.parse`), and a short
text could hold it for minutes.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import ModuleType


class _FromSource(MetaPathFinder):
    """Finds the modules of sqlglot as Python source only."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("sqlglot.") or path is None:
            return None
        finders = (FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)) for folder in path)
        return next((spec for finder in finders if (spec := finder.find_spec(fullname)) is not None), None)


def _is_compiled() -> bool:
    package = PathFinder.find_spec("sqlglot")
    folders = package.submodule_search_locations or () if package is not None else ()
    compiled = [f"parser{suffix}" for suffix in EXTENSION_SUFFIXES]
    return any(Path(folder, name).exists() for folder in folders for name in compiled)


if _is_compiled():
    sys.meta_path.insert(0, _FromSource())


def refuse_compiled(parser: ModuleType) -> None:
    """Somebody else in this process may have loaded it before us."""
    if not (parser.__file__ or "").endswith(".py"):
        raise RuntimeError(
            "sqlglot was loaded in its compiled form (sqlglotc) before Callgate's guard. Uninstall sqlglotc."
        )
