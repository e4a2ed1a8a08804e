"""Changes to `callgate.toml` that leave everything else of it as it was: comments, order, line ends.

Rules
1. The new text is checked as a whole before it is written. A change that brings a problem that was not there
   before is not made.
2. It is written beside the file and takes its place at once, so that a reader sees the old file or the new
   one. The text before the last change stays beside it, as `<name>.bak`.
3. A file that somebody else changed since it was read is left alone.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable

from callgate.config.load import Loaded
from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.config.sources.file import find_config_file
from callgate.config.sources.flags import Flags
from callgate.model.error_codes import CALLER_STALE, SETUP_CONFIG, SETUP_CONFIG_LOCKED
from callgate.model.errors import CallerError, SetupError

_Table = tomlkit.TOMLDocument | AbstractTable | OutOfOrderTableProxy


class FileEdit:
    """One change: read, set and remove, then write."""

    def __init__(self, path: Path, before: bytes, load: Callable[[Flags], Loaded]) -> None:
        """`load`: how the new text is checked, with the secrets that it names."""
        self.path = path
        self._load = load
        self._before = before
        text = before.decode()
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        self._document = tomlkit.parse(text)

    @property
    def text(self) -> str:
        lines = tomlkit.dumps(self._document).replace("\r\n", "\n")
        return lines if self._line_end == "\n" else lines.replace("\n", self._line_end)

    def has(self, loc: Sequence[str]) -> bool:
        table = self._table(loc[:-1])
        return table is not None and loc[-1] in table

    def set(self, loc: Sequence[str], value: Mapping[str, Any]) -> None:
        """A table at `loc`, in the place of what was there; tables on the way are made."""
        parent: Any = self._document
        for part in loc[:-1]:
            if part not in parent:
                parent[part] = tomlkit.table(is_super_table=True)
            parent = parent[part]
        table = tomlkit.table()
        for name, one in value.items():
            table.add(name, one)
        parent[loc[-1]] = table

    def remove(self, loc: Sequence[str]) -> None:
        table: Any = self._table(loc[:-1])
        del table[loc[-1]]
        if not table and len(loc) > 1:
            self.remove(loc[:-1])

    def write(self) -> None:
        """Raises CallerError, SetupError and ConfigProblems."""
        after = self.text.encode()
        if self.path.read_bytes() != self._before:
            raise CallerError(
                CALLER_STALE, f"{self.path} was changed by somebody else meanwhile", hint="Try again"
            )
        try:
            mode = stat.S_IMODE(self.path.stat().st_mode)
            descriptor, name = tempfile.mkstemp(".toml", f".{self.path.name}.", self.path.parent)
            draft = Path(name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(after)
                    os.fchmod(file.fileno(), mode)
                    os.fsync(file.fileno())
                self._check(draft)
                _replace(self.path.with_name(f"{self.path.name}.bak"), self._before, mode)
                draft.replace(self.path)
            finally:
                with suppress(FileNotFoundError):
                    draft.unlink()
        except OSError as problem:
            raise self._locked(problem) from None

    def _check(self, draft: Path) -> None:
        known = {str(problem) for problem in self._problems_of(self.path)}
        new = [problem for problem in self._problems_of(draft) if str(problem) not in known]
        if new:
            raise ConfigProblems(new, self.path)

    def _problems_of(self, path: Path) -> list[ConfigProblem]:
        try:
            self._load(Flags(config=path))
        except ConfigProblems as found:
            return list(found.problems)
        return []

    def _table(self, loc: Sequence[str]) -> _Table | None:
        found: Any = self._document
        for part in loc:
            if not isinstance(found, _Table) or part not in found:
                return None
            found = found[part]
        return found if isinstance(found, _Table) else None

    def _locked(self, problem: OSError) -> SetupError:
        return SetupError(
            SETUP_CONFIG_LOCKED,
            f"{self.path} cannot be written ({problem.strerror})",
            hint="Make the change where the file comes from",
        )


def edit_file(flag: Path | None, environ: Mapping[str, str], load: Callable[[Flags], Loaded]) -> FileEdit:
    """The file that a gateway would read. Raises SetupError where it is none of ours."""
    found = find_config_file(flag, environ)
    if found.origin is None:
        raise SetupError(
            SETUP_CONFIG, "There is no callgate.toml to change", hint="Make one with: callgate init"
        )
    if found.adopted.is_foreign or found.origin.suffix != ".toml":
        raise SetupError(
            SETUP_CONFIG, f"{found.origin} is another program's file", hint="Make one with: callgate init"
        )
    if found.problems:
        raise ConfigProblems(list(found.problems), found.origin)
    path = found.origin.resolve()  # a link stays a link
    try:
        return FileEdit(path, path.read_bytes(), load)
    except (TOMLKitError, UnicodeDecodeError, OSError) as problem:
        raise SetupError(SETUP_CONFIG, f"{path} cannot be read: {problem}") from None


def _replace(path: Path, content: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
    Path(name).replace(path)
