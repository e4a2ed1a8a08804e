"""The kinds of values that several specs share: names, counts, seconds, folders."""

import re
from pathlib import Path
from typing import Annotated, Any

import re2  # pyright: ignore[reportMissingTypeStubs]

from callgate.config.problem import shown
from callgate.config.reading.markers import After, Before, Bounds, Described, ReadBy, ShownBy
from callgate.config.reading.mistakes import refusal

# "__" parts the upstream's name from the tool's in public names (`shop__query`), so a name cannot hold it.
ENTRY_NAME_PATTERN = "^[a-z0-9](?:[a-z0-9-]|_(?!_))*$"
TOOL_NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_-]*$"
PARAM_NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_]*$"
# `cwd` of a server that runs in the folder of its client.
WORKSPACE = "@workspace"
ENTRY_NAME_HINT = 'Use a-z, 0-9, "-" and "_", beginning with a letter or digit, without "__".'


def is_entry_name(name: str) -> bool:
    # "$" alone lets a trailing newline through; the patterns are JSON Schema's too, so they keep it.
    return re.fullmatch(ENTRY_NAME_PATTERN, name) is not None and not name.endswith("\n")


def check_entry_name(name: str) -> str:
    if not is_entry_name(name):
        raise refusal(f"{shown(name)} cannot be a name here", ENTRY_NAME_HINT)
    return name


def check_tool_name(name: str) -> str:
    if not re.fullmatch(TOOL_NAME_PATTERN, name) or name.endswith("\n"):
        raise refusal(f"{shown(name)} cannot be a tool's name", 'Use letters, digits, "-" and "_".')
    return name


def check_param_name(name: str) -> str:
    if not re.fullmatch(PARAM_NAME_PATTERN, name) or name.endswith("\n"):
        raise refusal(f"{shown(name)} cannot be a parameter's name", 'Use letters, digits and "_".')
    return name


def check_no_bool(value: Any) -> Any:
    # true counts as 1; `max_rows = true` is a mistake worth a word.
    if isinstance(value, bool):
        raise refusal("a number is expected, not true or false")
    return value


def _read_path(value: Any) -> Path:
    if not isinstance(value, (str, Path)) or not str(value) or "\x00" in str(value):
        raise refusal("a path is expected")
    # An address here would be shown as a path, password and all.
    if "://" in str(value):
        raise refusal("a path is expected, not an address")
    return Path(value)


def _read_pattern(value: str) -> str:
    """As RE2 takes it, which searches any text in linear time: no look-around, no references back."""
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(value, options)  # pyright: ignore[reportUnknownMemberType]
    except re2.error:  # pyright: ignore[reportUnknownMemberType]
        pass
    else:
        return value
    raise refusal(
        "this is not a valid regular expression", "The syntax is RE2: no look-around, no backreferences."
    )


EntryName = Annotated[str, After(check_entry_name), Described({"pattern": ENTRY_NAME_PATTERN}, is_added=True)]
ToolName = Annotated[str, After(check_tool_name), Described({"pattern": TOOL_NAME_PATTERN}, is_added=True)]
ParamName = Annotated[str, After(check_param_name)]
Count = Annotated[int, Bounds(ge=1), Before(check_no_bool)]
# A day is beyond any call; it keeps inf and nan out as well.
Seconds = Annotated[float, Bounds(gt=0, le=86400), Before(check_no_bool)]
FilePath = Annotated[Path, ReadBy(_read_path, {"type": "string"}), ShownBy(str)]
Pattern = Annotated[str, After(_read_pattern), Described({"format": "regex"}, is_added=True)]
