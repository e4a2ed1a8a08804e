"""Errors and questions that mean the same in both eras and are written differently. The bridge for answers.

Results that cross are `result_shape`.

Only for answers that crossed from one era to the other, and for our own: within one era a server's words
are its own.
"""

import secrets
from typing import Any

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import INVALID_PARAMS
from callgate.model.reply import RpcFault
from callgate.wire.eras.input_required import NEEDED_CAPABILITY
from callgate.wire.json_rpc import NOT_READABLE, encode_error_object, read_if_readable
from callgate.wire.params import members_decoder

# 2026-07-28, changelog, minor 6: a resource that is not there.
_LEGACY_NOT_FOUND = -32002
# 2025-11-25, client/elicitation, "URL Elicitation Required Error".
URL_ELICITATION_REQUIRED = -32042
_LEGACY_QUESTION = ("_meta", "task")


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
        members = members_decoder.decode(fault.raw)
        members["code"] = msgspec.Raw(b"%d" % code)
        raw = msgspec.json.encode(members)
    return RpcFault(code, fault.message, fault.data, raw)


def url_elicitations(fault: RpcFault) -> list[bytes]:
    """The params of the url elicitations that a legacy server wants answered before it is called again."""
    if fault.code != URL_ELICITATION_REQUIRED or fault.raw is None:
        return []
    try:
        data = members_decoder.decode(members_decoder.decode(fault.raw).get("data", msgspec.Raw(b"{}")))
        asked = msgspec.json.decode(data.get("elicitations", msgspec.Raw(b"[]")), type=list[msgspec.Raw])
    except NOT_READABLE:
        return []
    return [bytes(params) for params in asked if bytes(params)[:1] == b"{"]


def question_in(era: Era, method: str, params: bytes) -> bytes:
    """The params of a server's question as a client of that era expects them.

    `elicitationId` is required in 2025-11-25 for the url mode, and gone in 2026-07-28 (changelog, minor 11).
    `task` and `_meta` are gone too: a question is no request of its own there. What cannot be read passes.
    """
    members = read_if_readable(members_decoder, params) if method in NEEDED_CAPABILITY else None
    if members is None:
        return params
    is_url = method == "elicitation/create" and bytes(members.get("mode", b"")) == b'"url"'
    if era is Era.MODERN:
        gone = (*_LEGACY_QUESTION, "elicitationId") if is_url else _LEGACY_QUESTION
        return _without(params, members, gone)
    if not is_url or "elicitationId" in members:
        return params
    members["elicitationId"] = msgspec.Raw(msgspec.json.encode(secrets.token_urlsafe(16)))
    return msgspec.json.encode(members)


def answer_in(era: Era, method: str, result: bytes) -> bytes:
    """A client's answer as a server of that era expects it: in 2026-07-28 only sampling's has a `_meta`."""
    concerned = era is Era.MODERN and method in ("elicitation/create", "roots/list")
    members = read_if_readable(members_decoder, result) if concerned else None
    return result if members is None else _without(result, members, ("_meta",))


def _without(raw: bytes, members: dict[str, msgspec.Raw], gone: tuple[str, ...]) -> bytes:
    kept = {key: value for key, value in members.items() if key not in gone}
    return raw if len(kept) == len(members) else msgspec.json.encode(kept)
