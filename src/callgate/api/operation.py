"""One operation of the API: where it is, what it takes and gives, and who answers.

The same declaration reads a request, checks it, and describes itself in the OpenAPI document, so that these
cannot disagree. Counterpart: `openapi`. Must not know what any operation is about.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from callgate.model.error_codes import (
    CALLER_BAD_JSON,
    CALLER_BAD_PARAMS,
    CALLER_WRONG_CONTENT_TYPE,
    REFUSED_ROLE,
    REFUSED_UNAUTHENTICATED,
    ErrorCode,
)
from callgate.model.errors import CallerError, RefusedError
from callgate.model.identity import Principal, Role
from callgate.model.near_miss import did_you_mean

_Query = TypeVar("_Query")
_Body = TypeVar("_Body")

JSON_TYPE = "application/json"


class NoQuery(msgspec.Struct, forbid_unknown_fields=True):
    pass


class NoBody(msgspec.Struct, forbid_unknown_fields=True):
    """`{}`"""


@dataclass(frozen=True, slots=True)
class Asked(Generic[_Query, _Body]):
    query: _Query
    body: _Body
    path: Mapping[str, str]
    headers: Mapping[str, str]
    principal: Principal
    peer: str | None


Handler = Callable[[Asked[Any, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    path: str
    name: str  # operationId
    summary: str
    handler: Handler  # gives a value of `gives`, or a whole Response
    gives: Any  # a type that msgspec can encode
    role: Role = field(kw_only=True)  # who may: this role and those above it
    query: type[msgspec.Struct] = NoQuery
    takes: type[msgspec.Struct] | None = None  # the body's type; None: a GET
    media: tuple[str, ...] = (JSON_TYPE,)
    errors: tuple[ErrorCode, ...] = ()  # beside those that any operation may have
    not_found: type[msgspec.Struct] | None = None  # a 404 that is no problem body of ours
    headers: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # those that it needs, and what they say
    verb: str | None = None  # None: GET, or POST for what takes a body
    # What the record keeps of one that needs an operator, beside the names in its path. No value.
    tells: Callable[[Asked[Any, Any]], Mapping[str, Any]] | None = None

    @property
    def method(self) -> str:
        return self.verb or ("GET" if self.takes is None else "POST")

    async def answer(self, request: Request) -> Response:
        principal = admitted(request, self.role)
        asked = Asked(
            query=_read_query(request, self.query),
            body=None if self.takes is None else await _read_body(request, self.takes),
            path=request.path_params,
            headers=request.headers,
            principal=principal,
            peer=request.client and request.client.host,
        )
        answer = await self.handler(asked)
        return answer if isinstance(answer, Response) else json_response(answer)


def routes_of(operations: Sequence[Operation]) -> list[Route]:
    """One for each path: whoever comes with another method is told all that there are."""
    by_path: dict[str, list[Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, []).append(operation)
    return [_route(path, offered) for path, offered in by_path.items()]


def _route(path: str, offered: Sequence[Operation]) -> Route:
    by_method = {operation.method: operation for operation in offered}

    async def answer(request: Request) -> Response:
        return await by_method["GET" if request.method == "HEAD" else request.method].answer(request)

    route = Route(path, answer, methods=list(by_method))
    if any(operation.media != (JSON_TYPE,) for operation in offered) and route.methods is not None:
        route.methods.discard("HEAD")  # all the work, or an endless stream, for an answer without a body
    return route


def admitted(request: Request, role: Role) -> Principal:
    """Who asks. Raises RefusedError unless it has this role, or one above it."""
    principal: Principal | None = request.state.principal
    if principal is None:
        raise RefusedError(REFUSED_UNAUTHENTICATED, "A bearer token is needed")
    if principal.role < role:
        raise RefusedError(
            REFUSED_ROLE,
            f"{principal.name!r} has the role {principal.role.word}, and this needs {role.word}",
            hint=f"Use a token with the role {role.word}, or ask an operator for one",
        )
    return principal


def json_response(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type=JSON_TYPE)


def _read_query(request: Request, shape: type[_Query]) -> _Query:
    """No parameter that we do not know, and only those twice that take several: a misspelt filter must not
    show everything.

    (DBHub's own addresses take anything.)
    """
    given: dict[str, str | list[str]] = {}
    fields = {field.encode_name: field for field in msgspec.structs.fields(cast(Any, shape))}
    is_strict = cast(Any, shape).__struct_config__.forbid_unknown_fields
    for name, value in request.query_params.multi_items():
        if name not in fields and is_strict:
            hint = did_you_mean(name, fields) or f"There are: {', '.join(fields) or 'none'}"
            raise bad_params(f"There is no parameter {name[:100]!r} here", hint)
        if name in fields and fields[name].default == ():
            cast(list[str], given.setdefault(name, [])).append(value)
        elif name in given and is_strict:
            raise bad_params(f"{name[:100]!r} is given twice")
        else:
            given[name] = value
    try:
        return msgspec.convert(given, shape, strict=False)
    except (msgspec.ValidationError, ValueError, OverflowError) as problem:
        raise bad_params(_sentence(problem)) from problem


async def _read_body(request: Request, shape: type[_Body]) -> _Body:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON_TYPE:
        # Also what keeps a foreign page's form from reaching us without the browser asking first.
        raise CallerError(CALLER_WRONG_CONTENT_TYPE, "The body must be application/json")
    try:
        return msgspec.json.decode(await request.body(), type=shape)
    except msgspec.ValidationError as problem:
        raise bad_params(_sentence(problem)) from problem
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise CallerError(CALLER_BAD_JSON, f"The body is not valid JSON: {problem}"[:300]) from problem


def bad_params(message: str, hint: str = "") -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, message, hint=hint)


def _sentence(problem: Exception) -> str:
    """msgspec ends with the place: "Expected `int`, got `str` - at `$.limit`"."""
    text, _, place = str(problem).partition(" - at `$")
    return f"{place.strip('.`') or 'The request'}: {text}"[:300]
