"""`${VAR}`, `${VAR:-default}`, `$$` in any string; `file:` in place of a whole secret. In MCP
servers also what other clients write: `${env:VAR}`, `${input:id}`, `${workspaceFolder}`, `{env:VAR}`,
`${{ secrets.VAR }}`, and `$VAR` as a whole value or as its last word.

Owns what such text means. Must not know what a value is for, except which keys bear secrets, and that a
DSN is an address: a password put into one may hold any character, so it is escaped where it lands.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from callgate.config.problem import ConfigProblem, Loc, key_path
from callgate.config.secret import MASK
from callgate.config.sources.adopt_file import Input

# "$$", "${…}", or a "${" that nothing closes. Any other "$" is itself: regular expressions end with one.
_MARK = re.compile(r"\$\$|\$\{([^}]*)\}|\$\{")
# The same in an entry of an MCP server: Continue's `${{ secrets.X }}` and opencode's `{env:X}` too.
_ENTRY_MARK = re.compile(
    r"\$\$|\$\{\{\s*(?:secrets|inputs|env)\.([A-Za-z_]\w*)\s*\}\}|\$\{([^}]*)\}|\$\{|(?<!\$)\{(env:[A-Za-z_]\w*)\}"
)
# Gemini CLI's `$VAR`. Only at the end of a value and not inside a word: passwords have dollars too.
_BARE_MARK = re.compile(r"((?:\S+ )?)\$([A-Z_][A-Z0-9_]*)")
_EDITOR_FOLDERS = frozenset({".vscode", ".cursor", ".roo", ".zed"})
_MAX_ABOUT_CHARS = 100
_INPUT_SEPARATOR = re.compile(r"[^A-Za-z0-9]+")
_DEFAULT = re.compile(r"(\$\{[^}]*?:-)[^}]*\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
# A token, a password, a DSN: 64 KiB is far beyond any, and a log file named by mistake is not read whole.
_MAX_SECRET_BYTES = 64 * 1024


@dataclass(slots=True)
class Interpolation:
    """One walk over a tree of raw values; afterwards it knows which places went wrong or were filled in."""

    environ: Mapping[str, str]
    folder: Path  # what `file:` paths are relative to
    untouched: frozenset[Loc] = frozenset()  # places whose text does not come from the file
    path_of: Callable[[Loc], str] = key_path  # how a place is called in a problem
    inputs: Mapping[str, Input] = field(default_factory=dict[str, Input])
    reads_files: bool = True  # `file:` is ours: in another client's file it is an address
    own_variables: frozenset[tuple[str, str]] = frozenset()  # server, variable: see `Draft`
    problems: list[ConfigProblem] = field(default_factory=list[ConfigProblem])
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
        if not bears_secret(loc) or not self.reads_files:
            return self._fill_in(text, loc)
        if text.startswith("keyring:"):
            self._fail(loc, "keyring: is not supported yet", "Use ${VAR} or file:/path.")
            return text
        if not text.startswith("file:"):
            return self._fill_in(text, loc, escape=_escape_in_dsn if _is_dsn(loc) else None)
        path = self._fill_in(text.removeprefix("file:"), loc)
        if loc in self.broken:
            return text
        try:
            content = _read_secret_file(self.folder / path)
        except _SecretFileError as error:
            reason = error.reason
        else:
            self.substituted[loc] = _unfilled(text)
            return content
        # A path that was filled in is not repeated: what a variable holds may be a secret.
        shown_path = "" if loc in self.substituted else f"Looked for {self.folder / path}."
        self._fail(loc, f"the file cannot be used: {reason}", shown_path)
        return text

    def _fill_in(self, text: str, loc: Loc, escape: "Escape | None" = None) -> str:
        is_entry = loc[:1] == ("mcpServers",)
        if is_entry and _is_env_or_header(loc) and (bare := _BARE_MARK.fullmatch(text)) is not None:
            text = f"{bare[1]}${{{bare[2]}}}"
        pieces: list[tuple[str, bool]] = []
        end = 0
        for mark in (_ENTRY_MARK if is_entry else _MARK).finditer(text):
            pieces.append((text[end : mark.start()], False))
            body = next((group for group in mark.groups() if group is not None), None)
            if mark[0] == "$$":
                pieces.append(("$", False))
            elif body is not None and self._is_the_program_s(loc, body):
                pieces.append((mark[0], False))
            else:
                self.substituted[loc] = _unfilled(text)
                pieces.append((self._value_of(body, loc), True))
            end = mark.end()
        pieces.append((text[end:], False))
        if escape is not None:
            pieces = escape(pieces)
        return "".join(piece for piece, _ in pieces)

    def _is_the_program_s(self, loc: Loc, name: str) -> bool:
        """`${X}` among the arguments of a server whose `env` sets X: mcp-remote and others fill it in."""
        match loc:
            case ("mcpServers", str(server), "args", int()):
                return (server, name) in self.own_variables
            case _:
                return False

    def _value_of(self, body: str | None, loc: Loc) -> str:
        if body is not None and loc[:1] == ("mcpServers",):
            if body.startswith("input:"):
                return self._input(body.removeprefix("input:"), loc)
            body = body.removeprefix("env:")
            if body not in self.environ and (known := _predefined(body, self.folder)) is not None:
                return known
        # The body is not repeated unless it is a plain name: a default can be a password.
        found = _VARIABLE.fullmatch(body) if body is not None else None
        if found is None:
            self._fail(
                loc,
                "a ${ is not closed, or no name of a variable follows it",
                "Write ${NAME}, or $$ for a plain $.",
            )
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

    def _input(self, input_id: str, loc: Loc) -> str:
        """VS Code asks the person for it; we take it from the environment."""
        asked = self.inputs.get(input_id, Input())
        variable = _INPUT_SEPARATOR.sub("_", input_id).strip("_").upper()
        value = self.environ.get(variable) or asked.default
        if value is not None:
            return value
        about = " ".join(asked.description.split())[:_MAX_ABOUT_CHARS]
        hint = f"Set the environment variable {variable}" + (
            f" ({about})." if about.isprintable() and about else "."
        )
        self._fail(loc, "this is an input that VS Code asks a person for", hint)
        return ""

    def _fail(self, loc: Loc, message: str, hint: str) -> None:
        problem = ConfigProblem(self.path_of(loc), message, hint)
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
        case ("otel", "headers", str()) | ("principals", str(), "token"):
            return True
        case _:
            return _is_env_or_header(loc) or _is_dsn(loc)


def _is_env_or_header(loc: Loc) -> bool:
    match loc:
        case ("mcpServers", str(), "headers" | "env", str()):
            return True
        case _:
            return False


def _predefined(name: str, folder: Path) -> str | None:
    """What editors fill in by themselves. Their files lie in a folder of the workspace's."""
    workspace = folder.parent if folder.name in _EDITOR_FOLDERS else folder
    match name:
        case "workspaceFolder" | "cwd":
            return str(workspace)
        case "workspaceFolderBasename":
            return workspace.name
        case "userHome":
            return str(Path.home())
        case "pathSeparator" | "/":
            return os.sep
        case _:
            return None


def _is_dsn(loc: Loc) -> bool:
    match loc:
        case ("sources", int(), "dsn") | ("record", "store") | ("replicas", "database"):
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


class _SecretFileError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _read_secret_file(path: Path) -> str:
    """A secret in a file of its own, as Docker, Kubernetes and systemd hand them over.

    Without its trailing newline. Raises _SecretFileError.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_SECRET_BYTES + 1)
        text = raw.decode("utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    except ValueError:  # not UTF-8, or a NUL in the path
        reason = "it is not UTF-8 text"
    else:
        if len(raw) <= _MAX_SECRET_BYTES:
            return text.removesuffix("\n").removesuffix("\r")
        reason = f"it is larger than {_MAX_SECRET_BYTES // 1024} KiB"
    # Raised outside the handler: an exception's context would carry the bytes that failed to decode.
    raise _SecretFileError(reason)
