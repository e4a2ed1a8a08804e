"""Reading what a caller sent to `tools/call`: raw JSON in, checked arguments or what is wrong out. Pure."""

from dataclasses import dataclass
from typing import Any

import msgspec

from callgate.model import error_codes as codes
from callgate.model.errors import CallerError
from callgate.sql.policy import MAX_QUERY_CHARS

FORMATS = ("markdown", "json")


class CallParams(msgspec.Struct):
    name: str
    arguments: Any = None


@dataclass(frozen=True, slots=True)
class QueryArguments:
    query: str
    response_format: str = "markdown"


_params = msgspec.json.Decoder(CallParams)


def read_params(raw: bytes) -> CallParams:
    try:
        return _params.decode(raw or b"{}")
    except msgspec.DecodeError as error:
        raise CallerError(
            codes.CALLER_BAD_PARAMS, f"tools/call needs a name and an object of arguments: {error}."
        ) from None


def check_arguments(arguments: object) -> QueryArguments | list[str]:
    """All problems at once, each as `key: what is wrong`."""
    if not isinstance(arguments, dict):
        return ["query: Required"] if arguments is None else ["arguments: Expected an object"]
    given: dict[str, object] = {str(key): value for key, value in arguments.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    problems = [*_query_problems(given), *_format_problems(given)]
    problems += [
        f"{key[:60]}: Unrecognized parameter" for key in given if key not in ("query", "response_format")
    ]
    if problems:
        return problems
    return QueryArguments(str(given["query"]), str(given.get("response_format", "markdown")))


def _query_problems(given: dict[str, object]) -> list[str]:
    if "query" not in given:
        return ["query: Required"]
    query = given["query"]
    if not isinstance(query, str):
        return ["query: Expected a string"]
    if not query:
        return ["query: Query cannot be empty"]
    if len(query) > MAX_QUERY_CHARS:
        return [f"query: Query cannot exceed {MAX_QUERY_CHARS:,} characters"]
    return []


def _format_problems(given: dict[str, object]) -> list[str]:
    if given.get("response_format", "markdown") in FORMATS:
        return []
    return ["response_format: Expected 'markdown' or 'json'"]
