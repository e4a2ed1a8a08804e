"""`${VAR}`, `${VAR:-default}`, `$$` in any string; `file:` in place of a whole secret.

Owns what such text means. Must not know what a value is for, except which keys bear secrets, and that a
DSN is an address: a password put into one may hold any character, so it is escaped where it lands.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from callgate.config.problem import Loc, Problem, key_path
from callgate.config.secret import MASK
from callgate.config.secret_file import SecretFileError, read_secret_file

# "$$", "${…}", or a "${" that nothing closes. Any other "$" is itself: regular expressions end with one.
_MARK = re.compile(r"\$\$|\$\{([^}]*)\}|\$\{")
_DEFAULT = re.compile(r"(\$\{[^}]*?:-)[^}]*\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


@dataclass(slots=True)
class Interpolation:
    """One walk over a tree of raw values; afterwards it knows which places went wrong or were filled in."""

    environ: Mapping[str, str]
    folder: Path  # what `file:` paths are relative to
    untouched: frozenset[Loc] = frozenset()  # places whose text does not come from the file
    problems: list[Problem] = field(default_factory=list[Problem])
    broken: set[Loc] = field(default_factory=set[Loc])
    # Places that were filled in, and what may be shown of them instead: `${TOKEN}`, `file:/run/secrets/x`.
    substituted: dict[Loc, str] = field(default_factory=dict[Loc, str])

    def resolve(self, value: Any, loc: Loc = ()) -> Any:
        if loc in self.untouched:
            return value
        if isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            return {key: self.resolve(item, (*loc, key)) for key, item in table.items()}
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return [self.resolve(item, (*loc, index)) for index, item in enumerate(items)]
        return self._resolve_text(value, loc) if isinstance(value, str) else value

    def _resolve_text(self, text: str, loc: Loc) -> str:
        if not bears_secret(loc):
            return self._fill_in(text, loc)
        if text.startswith("keyring:"):
            self._fail(loc, "keyring: is not in this version yet", "Use ${VAR} or file:/path.")
            return text
        if not text.startswith("file:"):
            return self._fill_in(text, loc, escape=_escape_in_dsn if _is_dsn(loc) else None)
        path = self._fill_in(text.removeprefix("file:"), loc)
        if loc in self.broken:
            return text
        try:
            content = read_secret_file(self.folder / path)
        except SecretFileError as error:
            reason = error.reason
        else:
            self.substituted[loc] = _unfilled(text)
            return content
        # A path that was filled in is not repeated: what a variable holds may be a secret.
        shown_path = "" if loc in self.substituted else f"Looked for {self.folder / path}."
        self._fail(loc, f"the file cannot be used: {reason}", shown_path)
        return text

    def _fill_in(self, text: str, loc: Loc, escape: "Escape | None" = None) -> str:
        pieces: list[tuple[str, bool]] = []
        end = 0
        for mark in _MARK.finditer(text):
            pieces.append((text[end : mark.start()], False))
            if mark[0] == "$$":
                pieces.append(("$", False))
            else:
                self.substituted[loc] = _unfilled(text)
                pieces.append((self._value_of(mark[1], loc), True))
            end = mark.end()
        pieces.append((text[end:], False))
        if escape is not None:
            pieces = escape(pieces)
        return "".join(piece for piece, _ in pieces)

    def _value_of(self, body: str | None, loc: Loc) -> str:
        # The body is not repeated unless it is a plain name: a default can be a password.
        found = _VARIABLE.fullmatch(body) if body is not None else None
        if found is None:
            self._fail(loc, "a ${ is not closed or names no variable", "Write ${NAME}, or $$ for a plain $.")
            return ""
        name, default = found[1], cast("str | None", found[2])
        value = self.environ.get(name)
        if default is not None:
            return value or default
        if value is None:
            hint = f"Set the environment variable {name}, or write ${{{name}:-default}}."
            self._fail(loc, f"the variable {name} is not set", hint)
            return ""
        return value

    def _fail(self, loc: Loc, message: str, hint: str) -> None:
        problem = Problem(key_path(loc), message, hint)
        self.broken.add(loc)
        if problem not in self.problems:
            self.problems.append(problem)


def _unfilled(text: str) -> str:
    """The text as it was written, without its defaults: a default can be a password."""
    return _DEFAULT.sub(rf"\1{MASK}}}", text)


def bears_secret(loc: Loc) -> bool:
    """The keys where a whole value may be `file:…`."""
    match loc:
        case ("server", "tokens", int()) | ("server", "tokens", int(), "token"):
            return True
        case ("mcpServers", str(), "headers" | "env", str()) | ("otel", "headers", str()):
            return True
        case _:
            return _is_dsn(loc)


def _is_dsn(loc: Loc) -> bool:
    match loc:
        case ("sources", int(), "dsn"):
            return True
        case _:
            return False


Escape = Callable[[list[tuple[str, bool]]], list[tuple[str, bool]]]


def _escape_in_dsn(pieces: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Percent-encode what was filled in as user, password or param; leave a whole DSN or a host alone."""
    # Each filled-in piece stands as one NUL, so that its own "@" and "?" do not count.
    skeleton = "".join("\x00" * bool(piece) if filled else piece for piece, filled in pieces)
    begin = skeleton.find("://")
    at = skeleton.rfind("@")
    question = skeleton.find("?", max(at, 0))
    escaped: list[tuple[str, bool]] = []
    position = 0
    for piece, filled in pieces:
        in_credentials = 0 <= begin < position < at
        in_params = 0 <= question < position
        escaped.append(
            (quote(piece, safe=""), True) if filled and (in_credentials or in_params) else (piece, filled)
        )
        position += bool(piece) if filled else len(piece)
    return escaped
