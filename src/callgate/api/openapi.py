"""The OpenAPI 3.1 document, made of the operations themselves. Pure; `docs/openapi.json` is a copy of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

import callgate
from callgate.api.operation import JSON_TYPE, NoQuery, Operation
from callgate.api.shapes import Problem
from callgate.model.error_codes import (
    BUG_INTERNAL,
    CALLER_BAD_JSON,
    CALLER_BAD_PARAMS,
    CALLER_TOO_LARGE,
    CALLER_WRONG_CONTENT_TYPE,
    REFUSED_ROLE,
    REFUSED_UNAUTHENTICATED,
    SETUP_RECORD_OFF,
    ErrorCode,
)
from callgate.wire.problem_of import PROBLEM_TYPE

_Json = dict[str, Any]
_REF = "#/components/schemas/{name}"
_BODY_ERRORS = (CALLER_BAD_JSON, CALLER_WRONG_CONTENT_TYPE)
_ANY_ERRORS = (
    CALLER_BAD_PARAMS,
    CALLER_TOO_LARGE,
    REFUSED_UNAUTHENTICATED,
    REFUSED_ROLE,
    SETUP_RECORD_OFF,
    BUG_INTERNAL,
)


def openapi_document(operations: Sequence[Operation]) -> _Json:
    types: list[Any] = [Problem]
    for operation in operations:
        types += [operation.gives, *filter(None, (operation.takes, operation.not_found))]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    schema_of = {id(shape): schema for shape, schema in zip(types, schemas, strict=True)}
    paths: dict[str, _Json] = {}
    for operation in operations:
        told = _Told(operation, {key: dict(value) for key, value in schema_of.items()})
        paths.setdefault(operation.path, {})[operation.method.lower()] = told.operation()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Callgate",
            "version": callgate.__version__,
            "summary": "The record of every call, and what stands behind the gateway.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        # A gateway without tokens (on loopback only) asks for none.
        "security": [{}, {"bearer": []}],
    }


class _Told:
    def __init__(self, operation: Operation, schema_of: dict[int, _Json]) -> None:
        self._operation = operation
        self._schema_of = schema_of

    def operation(self) -> _Json:
        operation = self._operation
        told: _Json = {
            "operationId": operation.name,
            "summary": operation.summary,
            "x-callgate-role": operation.role.word,
            "responses": self._responses(),
        }
        parameters = [*_path_parameters(operation.path), *_query_parameters(operation.query)]
        parameters += _header_parameters(operation.headers)
        if parameters:
            told["parameters"] = parameters
        if operation.takes is not None:
            told["requestBody"] = {
                "required": True,
                "content": {JSON_TYPE: {"schema": self._schema_of[id(operation.takes)]}},
            }
        return told

    def _responses(self) -> _Json:
        operation = self._operation
        schema: _Json = self._schema_of[id(operation.gives)] if operation.media == (JSON_TYPE,) else {}
        responses: _Json = {
            "200": {
                "description": operation.summary,
                "content": {media: {"schema": schema} for media in operation.media},
            }
        }
        errors = _ANY_ERRORS + operation.errors + (_BODY_ERRORS if operation.takes is not None else ())
        for status in sorted({code.http_status for code in errors}):
            responses[str(status)] = self._problem([code for code in errors if code.http_status == status])
        if operation.not_found is not None:
            content = {JSON_TYPE: {"schema": self._schema_of[id(operation.not_found)]}}
            responses["404"] = {"description": "Not found", "content": content}
        return responses

    def _problem(self, codes: list[ErrorCode]) -> _Json:
        told = "; ".join(f"`{code.code}`: {code.summary}" for code in codes)
        return {"description": told, "content": {PROBLEM_TYPE: {"schema": self._schema_of[id(Problem)]}}}


def _path_parameters(path: str) -> list[_Json]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in names
    ]


def _header_parameters(headers: Mapping[str, str]) -> list[_Json]:
    return [
        {"name": name, "in": "header", "required": True, "description": about, "schema": {"type": "string"}}
        for name, about in headers.items()
    ]


def _query_parameters(shape: type[msgspec.Struct]) -> list[_Json]:
    if shape is NoQuery:
        return []
    _, components = msgspec.json.schema_components([shape], ref_template=_REF)
    members = components[shape.__name__]
    required: list[str] = members.get("required", [])
    return [
        _query_parameter(name, schema, name in required) for name, schema in members["properties"].items()
    ]


def _query_parameter(name: str, schema: _Json, is_required: bool) -> _Json:
    told: _Json = {"name": name, "in": "query", "required": is_required}
    if "description" in schema:
        told["description"] = schema["description"]
    told["schema"] = {key: value for key, value in schema.items() if key != "description"}
    return told
