"""A tool's parameters: one declaration behind its input schema and the check of what a caller sent. Pure.

Because both are read from here, a tool cannot promise what it then refuses.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from callgate.model import error_codes as codes
from callgate.model.errors import CallerError
from callgate.sql.guard.judgement import Bound
from callgate.sql.guard.policy import MAX_QUERY_CHARS

FORMATS = ("markdown", "json")
# What every engine can bind.
_INT64 = (-(2**63), 2**63 - 1)
# Of unknown parameters so many are named, and the rest is counted.
_MAX_NAMED = 10
# What a caller may write around its values: names, spaces, a few parameters that do not exist.
_SPARE_BYTES = 64 * 1024
# The longest way to write a character: two \u escapes.
_MAX_CHARACTER_BYTES = 12
_EXPECTED = {"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false"}


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str  # "string" | "integer" | "number" | "boolean"
    description: str = ""
    required: bool = False
    default: Bound = None
    choices: tuple[str, ...] = ()
    min_chars: int = 0
    max_chars: int = MAX_QUERY_CHARS
    bounds: tuple[int, int] = _INT64

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": self.type}
        if self.choices:
            schema["enum"] = list(self.choices)
        elif self.type == "string":
            if self.min_chars:
                schema["minLength"] = self.min_chars
            schema["maxLength"] = self.max_chars
        elif self.type == "integer" and self.bounds != _INT64:
            schema["minimum"], schema["maximum"] = self.bounds
        if self.default is not None:
            schema["default"] = self.default
        if self.description:
            schema["description"] = self.description
        return schema

    def problem_with(self, value: object) -> str | None:
        if self.choices:
            if value in self.choices:
                return None
            return "Expected " + " or ".join(f"'{choice}'" for choice in self.choices)
        if isinstance(value, str) and self.type == "string":
            return self._problem_with_length(len(value))
        if not self._fits(value):
            return f"Expected {_EXPECTED[self.type]}"
        low, high = self.bounds
        if self.type == "integer" and isinstance(value, (int, float)) and not low <= value <= high:
            return f"Expected an integer from {low} to {high}"
        return None

    def _fits(self, value: object) -> bool:
        """A bool is an int in Python, but not in JSON; 5.0 is an integer in JSON Schema."""
        match self.type:
            case "string":
                return isinstance(value, str)
            case "boolean":
                return isinstance(value, bool)
            case "integer":
                is_whole = isinstance(value, float) and value.is_integer()
                return (isinstance(value, int) or is_whole) and not isinstance(value, bool)
            case _:
                return isinstance(value, (int, float)) and type(value) is not bool and math.isfinite(value)

    def _problem_with_length(self, length: int) -> str | None:
        if self.min_chars <= length <= self.max_chars:
            return None
        title = self.name.capitalize()
        if length < self.min_chars:
            return f"{title} cannot be empty"
        return f"{title} cannot exceed {self.max_chars:,} characters"


RESPONSE_FORMAT = Parameter(
    "response_format",
    "string",
    "Output format: 'markdown' for human-readable or 'json' for machine-readable",
    default=FORMATS[0],
    choices=FORMATS,
)


class ToolCallParams(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"null")  # decoded once it is known how long they may be


_params = msgspec.json.Decoder(ToolCallParams)


def read_params(raw: bytes) -> ToolCallParams:
    try:
        return _params.decode(raw or b"{}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise CallerError(
            codes.CALLER_BAD_PARAMS, f"tools/call needs a name and an object of arguments: {error}."
        ) from None


def input_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema() for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def read_arguments(parameters: Sequence[Parameter], raw: msgspec.Raw) -> dict[str, Bound] | list[str]:
    """What `check_arguments` says of them. Longer ones than any valid call could have are not decoded."""
    if len(bytes(raw)) > _SPARE_BYTES:
        most_bytes = _SPARE_BYTES + _MAX_CHARACTER_BYTES * sum(one.max_chars for one in parameters)
        if len(bytes(raw)) > most_bytes:
            return [f"arguments: Expected at most {most_bytes:,} bytes"]
    try:
        arguments: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CallerError(codes.CALLER_BAD_PARAMS, f"The arguments cannot be read: {error}.") from None
    return check_arguments(parameters, arguments)


def check_arguments(parameters: Sequence[Parameter], arguments: object) -> dict[str, Bound] | list[str]:
    """Every parameter with its value or default; else all problems at once, as `key: what is wrong`."""
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return ["arguments: Expected an object"]
    given = cast(dict[str, Any], arguments)
    values: dict[str, Bound] = {}
    problems: list[str] = []
    known = 0
    for parameter in parameters:
        name = parameter.name
        known += name in given
        if name not in given:
            values[name] = _value_of(parameter, parameter.default)
            if parameter.required:
                problems.append(f"{name}: Required")
        elif problem := parameter.problem_with(given[name]):
            problems.append(f"{name}: {problem}")
        else:
            values[name] = _value_of(parameter, given[name])
    if known < len(given):
        problems += _unknown(given, {parameter.name for parameter in parameters})
    return problems or values


def _unknown(given: dict[str, Any], known: set[str]) -> list[str]:
    unknown = [key for key in given if key not in known]
    problems = [f"{key[:60]}: Unrecognized parameter" for key in unknown[:_MAX_NAMED]]
    if len(unknown) > _MAX_NAMED:
        problems.append(f"{len(unknown) - _MAX_NAMED:,} more unrecognized parameters")
    return problems


def _value_of(parameter: Parameter, value: Bound) -> Bound:
    return int(value) if parameter.type == "integer" and isinstance(value, float) else value
