"""Changes to `callgate.toml` that leave everything else of it as it was: comments, order, line ends.

Rules
1. The new text is checked as a whole before it is written. A change that brings a problem that was not there
   before is not made.
2. It is written beside the file and takes its place at once, so that a reader sees the old file or the new
   one. The text before the last change stays beside it, as `<name>.bak`.
3. A file that somebody else changed since it was read is left alone.
"""

import errno
import hashlib
import os
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from callgate.config.editing.masked_lines import changed_lines
from callgate.config.editing.toml_text import TomlEditError, TomlText
from callgate.config.load import load_config  # noqa: TID251 - who edits may ask with secrets (`Check`)
from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.config.sources.file import ConfigFile, find_config_file, read_config_text
from callgate.config.sources.flags import Flags
from callgate.config.whole_file import alone_in, whole_file
from callgate.model.error_codes import CALLER_STALE, SETUP_CONFIG, SETUP_CONFIG_LOCKED
from callgate.model.errors import CallerError, SetupError

_ANY_WRITE = 0o222
_NEW_FILE = b"version = 1\n"

# The problems of a file that is not written yet.
Check = Callable[[ConfigFile], Sequence[ConfigProblem]]


class FileEdit:
    """One change: read, set and remove, then write."""

    def __init__(self, path: Path, before: bytes | None) -> None:
        """`before`: None for a file that is to be made. Raises ValueError for what is not TOML."""
        self.path = path
        self._before = before
        self._toml = TomlText((_NEW_FILE if before is None else before).decode())

    @property
    def text(self) -> str:
        return self._toml.text

    @property
    def tree(self) -> dict[str, Any]:
        return self._toml.tree

    @property
    def is_there(self) -> bool:
        return self._before is not None

    @property
    def is_writable(self) -> bool:
        """As far as one can tell without trying."""
        if self._before is None:
            return os.access(self.path.parent, os.W_OK)
        is_meant = bool(stat.S_IMODE(self.path.stat().st_mode) & _ANY_WRITE) and os.access(self.path, os.W_OK)
        return is_meant and os.access(self.path.parent, os.W_OK)

    @property
    def digest(self) -> str:
        """Of what was read."""
        return digest_of(self._before)

    @property
    def new_digest(self) -> str:
        return digest_of(self.text.encode())

    def has(self, loc: Sequence[str | int]) -> bool:
        return self._toml.has(loc)

    def place_of(self, loc: Sequence[str | int]) -> tuple[str | int, ...]:
        """With positions instead of the names of sources."""
        return self._toml.placed(loc)

    def line_of(self, loc: Sequence[str | int]) -> int | None:
        return self._toml.line_of(tuple(loc))

    def set(self, loc: Sequence[str | int], value: Any) -> None:
        """The value at `loc`, in the place of what was there; tables on the way are made. Sources are named
        by their ids. Raises CallerError and SetupError."""
        try:
            self._toml.set(loc, value)
        except TomlEditError:
            raise self._unfit() from None

    def remove(self, loc: Sequence[str | int]) -> None:
        """Raises SetupError."""
        try:
            self._toml.remove(loc)
        except TomlEditError:
            raise self._unfit() from None

    def check(self, problems_of: Check | None = None) -> None:
        """Raises ConfigProblems for those that were not there before."""
        asked = problems_of or _problems_of
        known: set[str] = set()
        if self._before is not None:
            known = {str(one) for one in asked(read_config_text(self.path, self._before.decode("utf-8-sig")))}
        after = read_config_text(self.path, self.text)
        new = [problem for problem in (*after.problems, *asked(after)) if str(problem) not in known]
        if new:
            raise ConfigProblems(list(dict.fromkeys(new)), self.path)

    def write(self, problems_of: Check | None = None) -> None:
        """Raises CallerError, SetupError and ConfigProblems."""
        self.check(problems_of)
        try:
            with alone_in(self.path.parent):
                self._replace()
        except OSError as problem:
            raise self._locked(problem) from None

    def _replace(self) -> None:
        try:
            found = self.path.read_bytes()
            mode = stat.S_IMODE(self.path.stat().st_mode)
        except FileNotFoundError:
            found, mode = None, 0o600
        if found != self._before:
            raise CallerError(
                CALLER_STALE, f"{self.path} was changed by somebody else meanwhile", hint="Try again"
            )
        if found is not None:
            # A file that nobody may write is not meant to change, even if its folder can be written.
            if not self.is_writable:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            with whole_file(self.path.with_name(f"{self.path.name}.bak"), mode) as file:
                file.write(found)
        with whole_file(self.path, mode) as file:
            file.write(self.text.encode())

    def _locked(self, problem: OSError) -> SetupError:
        return SetupError(
            SETUP_CONFIG_LOCKED,
            f"{self.path} cannot be written ({problem.strerror})",
            hint="Make the change where the file comes from",
            data={"toml": self._new_lines()},
        )

    def _new_lines(self) -> list[str]:
        """What would have come, to be pasted by somebody who may write the file. Secrets are masked."""
        before = "" if self._before is None else self._before.decode()
        return [line[1:] for line in changed_lines(before, self.text) if line.startswith("+")]

    def _unfit(self) -> SetupError:
        return SetupError(
            SETUP_CONFIG_LOCKED,
            f"{self.path} is written in a way in which this change cannot be made for you",
            hint="Change it with an editor",
        )


def digest_of(content: bytes | None) -> str:
    """Of a file that is not there: of nothing."""
    return hashlib.sha256(content or b"").hexdigest()


def edit_file(flag: Path | None, environ: Mapping[str, str]) -> FileEdit:
    """The file that a gateway would read. Raises SetupError where it is none of ours."""
    found = find_config_file(flag, environ)
    if found.origin is None:
        raise SetupError(
            SETUP_CONFIG, "There is no callgate.toml to change", hint="Make one with: callgate init"
        )
    return edit_of(found)


def edit_of(found: ConfigFile) -> FileEdit:
    """Raises SetupError where it is none of ours."""
    assert found.origin is not None
    if found.adopted.is_foreign or found.origin.suffix != ".toml":
        raise SetupError(
            SETUP_CONFIG, f"{found.origin} is another program's file", hint="Make one with: callgate init"
        )
    if found.problems:
        raise ConfigProblems(list(found.problems), found.origin)
    path = found.origin.resolve()  # a link stays a link
    try:
        return FileEdit(path, path.read_bytes())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as problem:
        raise SetupError(SETUP_CONFIG, f"{path} cannot be read: {problem}") from None


def _problems_of(file: ConfigFile) -> Sequence[ConfigProblem]:
    try:
        load_config(Flags(), file=file)
    except ConfigProblems as found:
        return list(found.problems)
    return []
