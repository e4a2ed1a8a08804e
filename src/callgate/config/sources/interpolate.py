"""`${VAR}`, `${VAR:-default}`, `$$` in any string; `file:`, `secret:` and `exec:` in place of a whole secret,
`${secret:name}` as a part of one. In MCP servers also what other clients write: `${env:VAR}`, `${input:id}`,
`${workspaceFolder}`, `{env:VAR}`, `${{ secrets.VAR }}`, and `$VAR` as a whole value or as its last word.

Owns what such text means. Must not know what a value is for, except which keys bear secrets, and that a
DSN is an address: a password put into one may hold any character, so it is escaped where it lands.
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from callgate.config.problem import ConfigProblem, Loc, key_path
from callgate.config.secret import MASK, FilledIn, Secret
from callgate.config.secret_source import EXEC, SECRET, SECRET_NAME, SecretSource, StatePlace
from callgate.config.sources.adopt_file import Input, variable_of_input
from callgate.config.sources.secret_places import (
    STATE_KEY,
    Escape,
    SecretFileError,
    bears_secret,
    escape_in_dsn,
    is_dsn,
    is_env_or_header,
    read_secret_file,
)
from callgate.model.error_codes import SETUP_CONFIG, SETUP_SECRET, ErrorCode
from callgate.model.errors import SetupError

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
_DEFAULT = re.compile(r"(\$\{[^}]*?:-)[^}]*\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


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
    secrets: SecretSource | None = None  # None: where only other values are wanted
    state_place: Callable[[], StatePlace] = lambda: StatePlace(Path())  # where `secrets` are kept
    problems: list[ConfigProblem] = field(default_factory=list[ConfigProblem])
    broken: set[Loc] = field(default_factory=set[Loc])
    # Places that were filled in, and what may be shown of them instead: `${TOKEN}`, `file:/run/secrets/x`.
    substituted: dict[Loc, str] = field(default_factory=dict[Loc, str])
    # What came there, for the redaction of the record.
    filled_in: dict[Loc, tuple[FilledIn, ...]] = field(default_factory=dict[Loc, tuple[FilledIn, ...]])

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
        if text.startswith(SECRET):
            self.substituted[loc] = text
            return self._stored(text.removeprefix(SECRET), loc)
        if text.startswith(EXEC):
            self.substituted[loc] = EXEC + MASK  # its arguments may name more than a stranger should know
            return self._printed(text.removeprefix(EXEC), loc)
        if not text.startswith("file:"):
            return self._fill_in(text, loc, escape=escape_in_dsn if is_dsn(loc) else None)
        path = self._fill_in(text.removeprefix("file:"), loc)
        if loc in self.broken:
            return text
        try:
            content = read_secret_file(self.folder / path)
        except SecretFileError as error:
            reason = error.reason
        else:
            self.substituted[loc] = _unfilled(text)
            return self._remembered(content, loc)
        # A path that was filled in is not repeated: what a variable holds may be a secret.
        shown_path = "" if loc in self.substituted else f"Looked for {self.folder / path}."
        self._fail(loc, f"the file cannot be used: {reason}", shown_path)
        return text

    def _fill_in(self, text: str, loc: Loc, escape: Escape | None = None) -> str:
        is_entry = loc[:1] == ("mcpServers",)
        if is_entry and is_env_or_header(loc) and (bare := _BARE_MARK.fullmatch(text)) is not None:
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

    def _stored(self, name: str, loc: Loc) -> str:
        if loc == STATE_KEY:
            self._fail(
                loc, "secrets are sealed with this key, so it cannot be one", "Use ${VAR} or file:/path."
            )
            return ""
        if not bears_secret(loc):
            hint = "Others can read the arguments of programs. Use it in env, headers, tokens or a dsn."
            self._fail(loc, "a secret cannot stand here", hint)
            return ""
        if not SECRET_NAME.fullmatch(name):
            hint = "Letters, digits, dots, dashes and underscores, as in secret:shop-password."
            self._fail(loc, "this is not the name of a secret", hint)
            return ""
        return self._from_source(loc, lambda source: source.stored(name, self.state_place()))

    def _printed(self, command: str, loc: Loc) -> str:
        try:
            words = [self._fill_in(word, loc) for word in shlex.split(command)]
        except ValueError:
            words = []
        self.substituted[loc] = EXEC + MASK
        if not words:
            self._fail(loc, "this is not a command line", 'Write "exec:op read op://vault/item".')
        return "" if loc in self.broken else self._from_source(loc, lambda source: source.printed(words))

    def _from_source(self, loc: Loc, read: Callable[[SecretSource], str]) -> str:
        if self.secrets is None:
            self._fail(loc, "secrets are not read here", "", SETUP_SECRET)
            return ""
        try:
            return self._remembered(read(self.secrets), loc)
        except SetupError as error:
            message, hint = error.message, error.hint
            hint = hint if not hint or hint.endswith(".") else f"{hint}."
            self._fail(loc, f"{message[:1].lower()}{message[1:]}", hint, error.code)
            return ""

    def _value_of(self, body: str | None, loc: Loc) -> str:
        if body is not None and body.startswith(SECRET) and self.reads_files:
            return self._stored(body.removeprefix(SECRET), loc)
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
            return self._remembered(value or default, loc, name)
        if value is None:
            hint = f"Set the environment variable {name}, or write ${{{name}:-default}}."
            self._fail(loc, f"the variable {name} is not set", hint)
            return ""
        return self._remembered(value, loc, name)

    def _input(self, input_id: str, loc: Loc) -> str:
        """VS Code asks the person for it; we take it from the environment."""
        asked = self.inputs.get(input_id, Input())
        variable = variable_of_input(input_id)
        value = self.environ.get(variable) or asked.default
        if value is not None:
            return self._remembered(value, loc, variable)
        about = " ".join(asked.description.split())[:_MAX_ABOUT_CHARS]
        hint = f"Set the environment variable {variable}" + (
            f" ({about})." if about.isprintable() and about else "."
        )
        self._fail(loc, "this is an input that VS Code asks a person for", hint)
        return ""

    def _remembered(self, value: str, loc: Loc, variable: str | None = None) -> str:
        self.filled_in[loc] = (*self.filled_in.get(loc, ()), FilledIn(Secret(value), variable))
        return value

    def _fail(self, loc: Loc, message: str, hint: str, code: ErrorCode = SETUP_CONFIG) -> None:
        problem = ConfigProblem(self.path_of(loc), message, hint, code)
        self.broken.add(loc)
        if problem not in self.problems:
            self.problems.append(problem)


def _unfilled(text: str) -> str:
    """The text as it was written, without its defaults: a default can be a password."""
    return _DEFAULT.sub(rf"\1{MASK}}}", text)


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
