"""Compiles the drivers' hot loops into the wheel, also the editable one, when there is a C compiler.

Without one the wheel holds the same file as plain Python: slower, and nothing else
(docs/decisions/0019-compiled-rows.md).
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_MODULE = "callgate.sql.drivers.network.cut_rows"


class CompiledRows(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        source = Path(self.root, "src", *_MODULE.split(".")).with_suffix(".py")
        for old in source.parent.glob(f"{source.stem}.*.so"):  # it would run instead of what is there now
            old.unlink()
        try:
            built = _compile(source)
        except Exception as problem:  # noqa: BLE001 - whatever is missing, the plain file does the same
            print(f"{_MODULE} stays plain Python: {problem}", file=sys.stderr)  # noqa: T201
            return
        build_data["artifacts"].append(f"/{built.relative_to(self.root).as_posix()}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def _compile(source: Path) -> Path:
    """The compiled module, beside its source."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    with tempfile.TemporaryDirectory() as folder:
        extension = Extension(_MODULE, [str(source)])
        command = build_ext(
            Distribution({"ext_modules": cythonize([extension], build_dir=folder, quiet=True)})
        )
        command.build_lib, command.build_temp = folder, folder
        command.ensure_finalized()
        command.run()
        built = Path(command.get_ext_fullpath(_MODULE))
        return Path(shutil.copy(built, source.parent))
