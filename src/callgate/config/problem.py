"""What is wrong with the operator's words, and where: one `ConfigProblem` each, all of them in one error.

Owns the wording's safety: a value reaches a sentence only through `shown`, which keeps back whatever could
be a secret.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from callgate.model.error_codes import SETUP_CONFIG, ErrorCode
from callgate.model.errors import SetupError

# Where a value sits in the file: ("sources", 0, "mode").
Loc = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
# A name may also be a package's: `io.github.owner/server`, `@owner/server`. A ":" would be an address's.
_HARMLESS_KEY = re.compile(r"[\w .,+@/()-]{0,64}")
# No "/", ":" or "@": a DSN pasted under the wrong key must not come back with its password.
_HARMLESS = re.compile(r"[\w .,+-]{0,40}")
# Nobody corrects more in one go; the next look at the file shows the next ones.
_MAX_PRINTED = 100


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    key_path: str  # `sources[0].mode`, a variable's name, a flag, or the file itself
    message: str
    hint: str = ""
    code: ErrorCode = SETUP_CONFIG

    def __str__(self) -> str:
        return f"{self.key_path}: {self.message}." + (f" {self.hint}" if self.hint else "")


class ConfigProblems(SetupError):  # noqa: N818 - it is the report, not one error
    """Every problem found, so that one look at the report is enough. Of very many the first are printed."""

    max_message_chars = 100_000

    def __init__(
        self,
        problems: Sequence[ConfigProblem],
        origin: Path | None = None,
        notes: Sequence[ConfigProblem] = (),
    ) -> None:
        """`notes`: what was ignored. They are no part of the message."""
        self.problems = tuple(problems)
        self.notes = tuple(notes)
        self.origin = origin
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        where = f" in {origin}" if origin is not None else ""
        lines = "".join(f"\n  {problem}" for problem in self.problems[:_MAX_PRINTED])
        if len(self.problems) > _MAX_PRINTED:
            lines += f"\n  and {len(self.problems) - _MAX_PRINTED:,} more"
        codes = {problem.code for problem in self.problems}
        code = codes.pop() if len(codes) == 1 else SETUP_CONFIG
        super().__init__(code, f"{count}{where}:{lines}", hint="docs/configuration.md lists every key")


def key_path(loc: Loc) -> str:
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            name = part if _BARE_KEY.fullmatch(part) else _shown_key(part)
            path += f".{name}" if path else name
    return path


def _shown_key(part: str) -> str:
    """What cannot be shown whole is told apart by its beginning."""
    if _HARMLESS_KEY.fullmatch(part) and part.isprintable():
        return f'"{part}"'
    harmless = _HARMLESS_KEY.match(part)
    beginning = "" if harmless is None else harmless[0][:20]
    return f'"{beginning if beginning.isprintable() else ""}…"'


def shown(value: object, *, otherwise: str = "the value") -> str:
    """The value in quotes when it is short and plain; else words that do not repeat it."""
    if isinstance(value, str) and _HARMLESS.fullmatch(value):
        return f'"{value}"'
    return otherwise
