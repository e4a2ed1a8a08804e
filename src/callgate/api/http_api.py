"""The API's routes.

`GET /api/requests` answers exactly in the shape of seed 000 (DBHub), with optional fields of our own beside.
"""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import callgate
from callgate.model.error_codes import CALLER_NOT_FOUND, CALLER_WRONG_HTTP_METHOD
from callgate.model.errors import CallerError, CallgateError
from callgate.model.health import Health, State
from callgate.ports.http_app import HttpApp
from callgate.ports.record_reader import RecordReader, SourceRequest
from callgate.ports.status import Status
from callgate.wire.problem_of import PROBLEM_TYPE, bug_problem, problem_of

_WELCOME = f"""Callgate {callgate.__version__}

  MCP endpoint      /mcp                    (point your client here)
  one server alone  /servers/<name>/mcp
  recent requests   /api/requests
  health            /healthz
"""


class HttpApi:
    def __init__(self, record: RecordReader | None, status: Status) -> None:
        self._record = record
        self._status = status

    def app(self) -> HttpApp:
        return Starlette(
            routes=[
                Route("/", self.welcome),
                Route("/healthz", self.healthz),
                Route("/api/requests", self.requests),
            ],
            exception_handlers={
                CallgateError: _on_error,
                HTTPException: _on_http_exception,
                Exception: _on_bug,
            },
        )

    async def welcome(self, request: Request) -> Response:
        return PlainTextResponse(_WELCOME)

    async def healthz(self, request: Request) -> Response:
        """200 as long as we serve at all: one dead upstream is no reason to restart the gateway."""
        health = self._status.health()
        record_problem = self._record.problem() if self._record is not None else None
        degraded = record_problem is not None or any(entry.state is not State.UP for entry in health)
        body: dict[str, Any] = {"status": "degraded" if degraded else "ok", "version": callgate.__version__}
        if request.state.principal is not None:  # names and reasons are for those who may call
            body["servers"] = [_health(entry) for entry in health]
            if record_problem is not None:
                body["record"] = record_problem
        return _json(body)

    async def requests(self, request: Request) -> Response:
        source_id = request.query_params.get("source_id")
        found = await self._record.source_requests(source_id) if self._record is not None else []
        return _json({"requests": [_source_request(entry) for entry in found], "total": len(found)})


def _health(entry: Health) -> dict[str, Any]:
    body = {"name": entry.name, "kind": entry.kind, "state": entry.state.value, "detail": entry.detail}
    return body if entry.error_code is None else {**body, "code": entry.error_code}


def _source_request(entry: SourceRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": entry.event_id,
        "timestamp": entry.ts.replace(tzinfo=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "sourceId": entry.source_id,
        "toolName": entry.tool_name,
        "sql": entry.sql,
        "durationMs": round(entry.duration_ms, 3),
        "client": entry.client,
        "success": entry.success,
    }
    if entry.error is not None:
        body["error"] = entry.error
    if entry.error_code is not None:
        body["errorCode"] = entry.error_code
    return body


def _json(body: Mapping[str, Any]) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json")


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, CallgateError)
    status, body = problem_of(error)
    return Response(body, status, media_type=PROBLEM_TYPE)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "GET")
        problem = CallerError(
            CALLER_WRONG_HTTP_METHOD, f"{request.method} is not offered here; use {allowed}"
        )
    else:
        problem = CallerError(CALLER_NOT_FOUND, f"Nothing lives at {request.url.path[:100]}")
    status, body = problem_of(problem)
    return Response(body, status, headers=error.headers, media_type=PROBLEM_TYPE)


async def _on_bug(request: Request, error: Exception) -> Response:
    # Starlette raises the error on after this answer; the listener logs it.
    status, body = bug_problem()
    return Response(body, status, media_type=PROBLEM_TYPE)
