"""JSON as editors write their settings: with comments and trailing commas. Pure.

What is taken out is replaced by blanks, so that an error's line and column are those of the file.
"""

import json
import re
from typing import Any, cast

# A string is matched whole, so that nothing inside it counts as a comment or a comma.
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|(//[^\n]*|/\*.*?\*/)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|(,)(?=\s*[}}\]])", re.DOTALL)
_NOT_LINE_BREAK = re.compile(r"[^\r\n]")


class JsonTextError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def read_json_object(text: str) -> dict[str, Any]:
    """Raises JsonTextError, whose message repeats no value."""
    plain = _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
    try:
        value = json.loads(plain)
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


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else _NOT_LINE_BREAK.sub(" ", found[0])
