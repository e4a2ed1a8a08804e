"""Errors and results that mean the same in both eras and are written differently. The bridge for answers.

Only for answers that crossed from one era to the other, and for our own: within one era a server's words
are its own.
"""

import re
import secrets
from typing import Any, cast

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import INVALID_PARAMS
from callgate.model.reply import RpcFault
from callgate.wire.json_rpc import NOT_READABLE, encode_error_object

# 2026-07-28, changelog, minor 6: a resource that is not there.
_LEGACY_NOT_FOUND = -32002
# 2025-11-25, client/elicitation, "URL Elicitation Required Error".
URL_ELICITATION_REQUIRED = -32042

# Inside of a text the quotes would be escaped: this is a member, though perhaps one of something else.
_ODD_CONTENT = re.compile(rb'"structuredContent"\s*:\s*[^{\s]')

_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def fault_in(fault: RpcFault, era: Era, method: str) -> RpcFault:
    """The same fault with the code that a client of that era knows it by."""
    if method not in ("resources/read", "resources/subscribe"):
        return fault
    if era is Era.MODERN and fault.code == _LEGACY_NOT_FOUND:
        return _with_code(fault, INVALID_PARAMS)
    if era is Era.LEGACY and fault.code == INVALID_PARAMS and _names_uri(fault):
        return _with_code(fault, _LEGACY_NOT_FOUND)
    return fault


def _names_uri(fault: RpcFault) -> bool:
    """INVALID_PARAMS may mean anything; with the uri in its data it means that resource."""
    error: Any = msgspec.json.decode(encode_error_object(fault))
    data = error.get("data")
    return isinstance(data, dict) and "uri" in data


def _with_code(fault: RpcFault, code: int) -> RpcFault:
    raw = None
    if fault.raw is not None:
        members = _members_decoder.decode(fault.raw)
        members["code"] = msgspec.Raw(b"%d" % code)
        raw = msgspec.json.encode(members)
    return RpcFault(code, fault.message, fault.data, raw)


def url_elicitations(fault: RpcFault) -> list[bytes]:
    """The params of the url elicitations that a legacy server wants answered before it is called again."""
    if fault.code != URL_ELICITATION_REQUIRED or fault.raw is None:
        return []
    try:
        data = _members_decoder.decode(_members_decoder.decode(fault.raw).get("data", msgspec.Raw(b"{}")))
        asked = msgspec.json.decode(data.get("elicitations", msgspec.Raw(b"[]")), type=list[msgspec.Raw])
    except NOT_READABLE:
        return []
    return [bytes(params) for params in asked if bytes(params)[:1] == b"{"]


def question_in(era: Era, method: str, params: bytes) -> bytes:
    """The params of a server's question as a client of that era expects them.

    `elicitationId` is required in 2025-11-25 for the url mode, and gone in 2026-07-28 (changelog, minor 11).
    """
    if method != "elicitation/create" or b'"url"' not in params:
        return params
    members = _members_decoder.decode(params)
    if bytes(members.get("mode", b"")) != b'"url"':
        return params
    if era is Era.MODERN:
        members.pop("elicitationId", None)
    elif "elicitationId" not in members:
        members["elicitationId"] = msgspec.Raw(msgspec.json.encode(secrets.token_urlsafe(16)))
    return msgspec.json.encode(members)


def result_for_legacy(result: bytes, method: str) -> bytes:
    """Without what legacy clients refuse: structured content and output schemas that are no objects.

    2026-07-28 allows any JSON value (changelog, minor 10); the text content says the same in words.
    """
    if method == "tools/call" and _ODD_CONTENT.search(result) is not None:
        members = _members_decoder.decode(result)
        if bytes(members.get("structuredContent", b"{"))[:1] != b"{":
            del members["structuredContent"]
            return msgspec.json.encode(members)
    if method == "tools/list" and b'"outputSchema"' in result:
        return _without_odd_schemas(result)
    return result


def _without_odd_schemas(result: bytes) -> bytes:
    members = _members_decoder.decode(result)
    tools = msgspec.json.decode(members.get("tools", msgspec.Raw(b"[]")), type=list[dict[str, msgspec.Raw]])
    odd = [tool for tool in tools if "outputSchema" in tool and not _is_object_schema(tool["outputSchema"])]
    if not odd:
        return result
    for tool in odd:
        del tool["outputSchema"]
    members["tools"] = msgspec.Raw(msgspec.json.encode(tools))
    return msgspec.json.encode(members)


def _is_object_schema(schema: msgspec.Raw) -> bool:
    read: Any = msgspec.json.decode(schema)
    return isinstance(read, dict) and cast(dict[str, Any], read).get("type") == "object"
