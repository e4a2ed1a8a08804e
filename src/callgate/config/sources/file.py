"""Which file speaks, and its tables, as `callgate.toml` would have them, whichever program's it is.

Search order: --config, CALLGATE_CONFIG, ./callgate.toml, the user's config folder, none. A file that was
named must exist; one that was only looked for need not.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from platformdirs import user_config_path

from callgate.config.problem import ConfigProblem
from callgate.config.read_toml import read_toml
from callgate.config.sources.adopt_file import AdoptedFile, adopt_file

# JSON as editors write their settings has comments and trailing commas. They are replaced by blanks, so that
# an error's line and column are those of the file. A string is matched whole: nothing inside it is a comment.
# One that is not closed is matched to the end, and so is a comment: each character is looked at once.
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
_COMMENT = re.compile(rf"{_STRING}|(//[^\n]*|/\*.*?(?:\*/|\Z))", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|(,)(?=\s*[}}\]])", re.DOTALL)
_NOT_LINE_BREAK = re.compile(r"[^\r\n]")


class JsonTextError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def read_json_object(text: str) -> dict[str, Any]:
    """Raises JsonTextError, whose message repeats no value."""
    try:
        value = _loads(text)
    except json.JSONDecodeError as error:
        what = f"{error.msg[:1].lower()}{error.msg[1:]}"
        raise JsonTextError(f"line {error.lineno}, column {error.colno}: {what}") from None
    except RecursionError:
        raise JsonTextError("this is nested too deeply") from None
    except ValueError:  # a number with thousands of digits
        raise JsonTextError("this holds a number that is too long") from None
    if not isinstance(value, dict):
        raise JsonTextError("a JSON object is expected")
    return cast("dict[str, Any]", value)


def _loads(text: str) -> Any:
    try:
        return json.loads(text)  # most files have no comment, and this is many times as fast
    except json.JSONDecodeError:
        return json.loads(_TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text)))


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else _NOT_LINE_BREAK.sub(" ", found[0])


FILE_NAME = "callgate.toml"
_MAX_BYTES = 2 * 1024**2  # reading it takes two seconds, each time it is saved
_JSON_SUFFIXES = frozenset({".json", ".jsonc", ".json5"})
_YAML_SUFFIXES = frozenset({".yaml", ".yml"})
_POSITION = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ConfigFile:
    origin: Path | None = None  # absolute
    adopted: AdoptedFile = field(default_factory=lambda: AdoptedFile({}))
    problems: tuple[ConfigProblem, ...] = ()  # for which it could not be read

    @property
    def is_readable(self) -> bool:
        return self.origin is not None and not self.problems

    @property
    def folder(self) -> Path:
        return self.origin.parent if self.origin is not None else Path.cwd()


def search_paths() -> tuple[Path, ...]:
    """Where a file is looked for when none is named, first match wins."""
    return (Path.cwd() / FILE_NAME, user_config_path("callgate") / FILE_NAME)


def find_config_file(flag: Path | None, environ: Mapping[str, str], *, searches: bool = True) -> ConfigFile:
    """Without `searches` only a file that was named."""
    if flag is not None:
        return _read_named(flag, "--config")
    if variable := environ.get("CALLGATE_CONFIG"):
        return _read_named(Path(variable), "CALLGATE_CONFIG")
    for path in search_paths() if searches else ():
        if _is_file(path):
            return _read(path)
    return ConfigFile()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder on the way that we may not enter
        return False


def _read_named(path: Path, named_by: str) -> ConfigFile:
    absolute = Path.cwd() / path
    if not _is_file(absolute):
        hint = "Check the path, or leave it out to search the usual places."
        return ConfigFile(
            absolute, problems=(ConfigProblem(named_by, f"there is no readable file {absolute}", hint),)
        )
    return _read(absolute)


def _read(path: Path) -> ConfigFile:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return _too_large(path)
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        message = "the file is not UTF-8 text"
    except OSError as error:
        message = f"the file cannot be read: {error.strerror}"
    else:
        return read_config_text(path, text)
    return ConfigFile(path, problems=(ConfigProblem(path.name, message),))


def _too_large(path: Path) -> ConfigFile:
    message = f"the file is larger than {_MAX_BYTES // 1024**2} MiB"
    return ConfigFile(path, problems=(ConfigProblem(path.name, message),))


def read_config_text(path: Path, text: str) -> ConfigFile:
    """As if it were the content of that file."""
    if len(text) > _MAX_BYTES or len(text.encode()) > _MAX_BYTES:
        return _too_large(path)
    hint = ""
    try:
        if path.suffix.lower() in _YAML_SUFFIXES:
            message = "this is a YAML file, which is not read"
            hint = "Write its servers as JSON or TOML: docs/configuration.md shows both."
        else:
            is_json = path.suffix.lower() in _JSON_SUFFIXES or text.lstrip()[:1] == "{"
            tables = read_json_object(text) if is_json else read_toml(text)
            return ConfigFile(path, adopt_file(tables, is_json=is_json))
    except tomllib.TOMLDecodeError as error:
        message = _where_and_what(str(error))
    except JsonTextError as error:
        message = error.message
    return ConfigFile(path, problems=(ConfigProblem(path.name, message, hint),))


def _where_and_what(text: str) -> str:
    """tomllib names single characters and keys, never values: its words can be passed on."""
    found = _POSITION.fullmatch(text)
    if found is None:
        return f"this is not TOML: {text}"
    where = f"line {found[2]}, column {found[3]}" if found[2] else "end of the file"
    what = found[1]
    return f"{where}: {what[:1].lower()}{what[1:]}"
