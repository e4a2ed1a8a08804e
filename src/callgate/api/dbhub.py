"""`/api/requests` and `/api/sources` exactly as DBHub answers them, for tools made for it.

Their names and their error bodies are DBHub's, not ours.
"""

from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from callgate.api.json_object import object_in
from callgate.api.operation import Asked, Operation, json_response
from callgate.api.record.queries import given
from callgate.model.identity import Role
from callgate.model.offers import Offer
from callgate.ports.record_reader import RecordReader, SourceRequest
from callgate.ports.status import SourceFacts, Status


class RequestsQuery(msgspec.Struct):
    source_id: str | UnsetType = UNSET


class RequestShape(msgspec.Struct, rename="camel", kw_only=True):
    id: str
    timestamp: str
    source_id: str
    tool_name: str
    sql: str
    duration_ms: float
    client: str
    success: bool
    error: str | UnsetType = UNSET
    error_code: str | UnsetType = UNSET  # ours, beside theirs


class RequestList(msgspec.Struct):
    requests: list[RequestShape]
    total: int


class ParameterShape(msgspec.Struct):
    name: str
    type: str
    required: bool
    description: str


class SourceToolShape(msgspec.Struct):
    name: str
    description: str
    parameters: list[ParameterShape]


class SourceShape(msgspec.Struct, kw_only=True):
    id: str
    type: str
    host: str | UnsetType = UNSET
    port: int | UnsetType = UNSET
    database: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    readonly: bool
    max_rows: int | UnsetType = UNSET
    tools: list[SourceToolShape]


class SourceNotFound(msgspec.Struct):
    error: str
    source_id: str


class DbhubApi:
    def __init__(
        self,
        record: RecordReader | None,
        status: Status,
        sources: Callable[[], Sequence[SourceFacts]],
        redact_document: Callable[[bytes], bytes],
    ) -> None:
        self._record = record
        self._status = status
        self._sources = sources
        self._redact_document = redact_document

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/requests",
                "listRequests",
                "The newest 100 calls of each source (DBHub's form)",
                self.requests,
                RequestList,
                RequestsQuery,
                role=Role.WATCH,
            ),
            Operation(
                "/api/sources",
                "listSources",
                "The databases (DBHub's form)",
                self.sources,
                list[SourceShape],
                role=Role.WATCH,
            ),
            Operation(
                "/api/sources/{source_id}",
                "getSource",
                "One database (DBHub's form)",
                self.source,
                SourceShape,
                not_found=SourceNotFound,
                role=Role.WATCH,
            ),
        ]

    async def requests(self, asked: Asked[RequestsQuery, None]) -> RequestList:
        source_id = given(asked.query.source_id) or None
        found = await self._record.source_requests(source_id) if self._record is not None else []
        return RequestList([_request(entry) for entry in found], len(found))

    async def sources(self, asked: Asked[None, None]) -> list[SourceShape]:
        offers = await self._status.tools()
        return [_source(facts, offers, self._redact_document) for facts in self._sources()]

    async def source(self, asked: Asked[None, None]) -> Any:
        source_id = asked.path["source_id"]
        for facts in self._sources():
            if facts.source_id == source_id:
                return _source(facts, await self._status.tools(), self._redact_document)
        return json_response(SourceNotFound("Source not found", source_id), 404)


def _request(entry: SourceRequest) -> RequestShape:
    return RequestShape(
        id=entry.event_id,
        timestamp=entry.ts.replace(tzinfo=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        source_id=entry.source_id,
        tool_name=entry.tool_name,
        sql=entry.sql,
        duration_ms=round(entry.duration_ms, 3),
        client=entry.client,
        success=entry.ok,
        error=UNSET if entry.error is None else entry.error,
        error_code=UNSET if entry.error_code is None else entry.error_code,
    )


def _source(
    facts: SourceFacts, offers: Sequence[Offer], redact_document: Callable[[bytes], bytes]
) -> SourceShape:
    return SourceShape(
        id=facts.source_id,
        type=facts.engine,
        host=facts.host or UNSET,
        port=facts.port or UNSET,
        database=facts.database or UNSET,
        user=facts.user or UNSET,
        readonly=facts.is_read_only,
        max_rows=facts.max_rows or UNSET,
        tools=[_tool(offer, redact_document) for offer in offers if offer.route.upstream == facts.source_id],
    )


def _tool(offer: Offer, redact_document: Callable[[bytes], bytes]) -> SourceToolShape:
    definition = object_in(redact_document(offer.definition)) or {}
    schema: dict[str, Any] = definition.get("inputSchema") or {}
    required: list[str] = schema.get("required") or []
    properties: dict[str, dict[str, Any]] = schema.get("properties") or {}
    parameters = [
        ParameterShape(name, _type(about), name in required, about.get("description", ""))
        for name, about in properties.items()
    ]
    return SourceToolShape(offer.public_name, definition.get("description", ""), parameters)


def _type(about: dict[str, Any]) -> str:
    kind: Any = about.get("type", "any")
    return kind if isinstance(kind, str) else "any"
