"""From the record's rows to what the API tells. Pure.

A row comes from the store (moments are datetimes in UTC without a zone) or from the live feed (microseconds).
"""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
from msgspec import UNSET

from callgate.api.json_object import object_in
from callgate.api.shapes import (
    Annotations,
    ExchangeShape,
    HopShape,
    Json,
    LaneEvent,
    Replay,
    SaidShape,
    SessionShape,
    WholeExchange,
)
from callgate.ports.record_reader import Row

MASK = "***"  # what the recorder leaves of a secret
_ARGUMENTS_CHARS = 2048
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# The record's names beside the API's, where they differ.
_RENAMED = {"timestamp": "ts", "server": "server_name", "tool": "tool_name"}


def session_of(row: Row) -> SessionShape:
    return SessionShape(
        session_id=row["session_id"],
        status="open" if row.get("ended_at") is None else "closed",
        created_at=moment(row.get("created_at")),
        last_seen_at=moment(row.get("last_seen_at")),
        ended_at=moment(row.get("ended_at")),
        client_name=row.get("client_name"),
        client_version=row.get("client_version"),
        client_protocol=row.get("client_protocol"),
        era=row.get("era"),
        transport=row.get("transport"),
        principal=row.get("principal"),
        workspace=row.get("workspace"),
        handshake_session_id=row.get("handshake_session_id"),
        tool_call_count=row.get("tool_call_count") or 0,
        error_count=row.get("error_count") or 0,
        total_tokens=row.get("total_tokens") or 0,
    )


def exchange_of(row: Row) -> ExchangeShape:
    return ExchangeShape(**_members(row))


def whole_exchange_of(row: Row, replay: Replay) -> WholeExchange:
    return WholeExchange(
        **_members(row),
        rpc_id=row.get("rpc_id"),
        request_json=row.get("request_json"),
        response_json=row.get("response_json"),
        hops=[_hop_of(hop) for hop in row.get("hops", ())],
        said=[_said_of(said, moment(row["ts"])) for said in row.get("said", ())],
        replay=replay,
    )


def lane_event_of(row: Row, begun: datetime | None) -> LaneEvent:
    return LaneEvent(**_mark(row, begun))


def _said_of(row: Row, begun: datetime | None) -> SaidShape:
    return SaidShape(**_mark(row, begun), params=row["request_json"], answer=row["response_json"])


def _mark(row: Row, begun: datetime | None) -> dict[str, Any]:
    at = moment(row["ts"])
    assert at is not None
    return {
        "id": row["id"],
        "started_ms": round((at - (begun or at)) / timedelta(milliseconds=1), 3),
        "duration_ms": None if row["duration_ms"] is None else round(row["duration_ms"], 3),
        "kind": row["kind"] or "request",
        "sender": row["sender"] or "client",
        "method": row["method"],
        "server": row["server_name"],
        "tool": row["tool_name"],
        "outcome": row["outcome"],
        "error_code": row["error_code"],
    }


def recorded_arguments(row: Row) -> Json | None:
    """What the tool was called with; None when not all of it is in the record."""
    text = row.get("request_json")
    if row.get("method") != "tools/call" or text is None or MASK in text:
        return None
    params = object_in(text)
    if params is None:  # cut
        return None
    arguments = params.get("arguments", {})
    return cast(Json, arguments) if isinstance(arguments, dict) else None


def moment(value: datetime | int | None) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    return _EPOCH + timedelta(microseconds=value)


def _members(row: Row) -> dict[str, Any]:
    told = {name: row.get(_RENAMED.get(name, name)) for name in ExchangeShape.__struct_fields__}
    told["id"] = str(row["id"])
    told["timestamp"] = moment(row.get("ts"))
    told["kind"], told["sender"] = row.get("kind") or "request", row.get("sender") or "client"
    told["arguments"] = _arguments(row.get("request_json"), row["method"])
    told["annotations"] = annotations_of(object_in(row.get("annotations")))
    return told


def _arguments(text: str | None, method: str) -> str | None:
    """Of a call its arguments, of anything else its params."""
    if text is None:
        return None
    if method == "tools/call":
        params = object_in(text)
        if params is not None:
            text = msgspec.json.encode(params.get("arguments", {})).decode()
    return text[:_ARGUMENTS_CHARS]


def annotations_of(declared: Json | None) -> Annotations | None:
    """What is of another type than the specification says was not declared."""
    if declared is None:
        return None
    hints = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    title = declared.get("title", UNSET)
    return Annotations(
        title if isinstance(title, str) else UNSET,
        *(value if isinstance(value := declared.get(hint), bool) else UNSET for hint in hints),
    )


def _hop_of(hop: Row) -> HopShape:
    return HopShape(
        server=hop.get("server_name"),
        ok=hop.get("ok"),
        started_ms=hop.get("started_ms"),
        duration_ms=hop.get("duration_ms"),
        rpc_id=hop.get("rpc_id"),
        request_json=hop.get("request_json"),
        response_json=hop.get("response_json"),
        error=hop.get("error"),
        cached=hop.get("cached"),
        server_version=hop.get("server_version"),
        server_protocol=hop.get("server_protocol"),
    )
