"""Multi round-trip requests: the result that asks for input, and the retry that brings it.

The bridge for questions. What was a server's own request in the legacy era is a member of `inputRequests`
here, and its answer a member of `inputResponses`; both keep their bytes. (2026-07-28, basic/patterns/mrtr.)
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.wire.json_rpc import NOT_READABLE, read_if_readable
from callgate.wire.params import members_decoder, with_member

# The only ones that may be answered so ("Supported Requests").
ROUND_TRIP_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})
# The methods a server may ask, and the capability that a client declares for each.
NEEDED_CAPABILITY = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
CALL_ANEW = "Make the call again, without requestState and inputResponses"
_RETRY_MEMBERS = frozenset({"inputResponses", "requestState"})
_MARK = b"input_required"


class InputRequest(msgspec.Struct, frozen=True):
    """One question of a server to its client."""

    method: str
    params: msgspec.Raw = msgspec.Raw(b"{}")


class InputRequired(msgspec.Struct, frozen=True):
    """What a server wants to know before it goes on."""

    resultType: str  # noqa: N815 - the protocol's own spelling
    inputRequests: dict[str, InputRequest] = {}  # noqa: N815
    requestState: msgspec.Raw = msgspec.Raw()  # noqa: N815


class _Retry(msgspec.Struct):
    requestState: str | None = None  # noqa: N815
    inputResponses: msgspec.Raw = msgspec.Raw()  # noqa: N815


@dataclass(frozen=True, slots=True)
class Retry:
    state: str
    responses: Mapping[str, bytes]


_required_decoder = msgspec.json.Decoder(InputRequired)
_retry_decoder = msgspec.json.Decoder(_Retry)


def read_input_required(result: bytes) -> InputRequired | None:
    """None for every other result, and for one that only looks like it."""
    if result.find(_MARK) < 0:
        return None
    required = read_if_readable(_required_decoder, result)
    return required if required is not None and required.resultType == _MARK.decode() else None


def says_input_required(result: bytes) -> bool:
    """Whether it is meant as one, however malformed."""
    if result.find(_MARK) < 0:
        return False
    members = read_if_readable(members_decoder, result) or {}
    return bytes(members.get("resultType", b"")) == b'"%b"' % _MARK


def input_required_result(questions: Mapping[str, InputRequest], state: str) -> bytes:
    return msgspec.json.encode(
        {"resultType": _MARK.decode(), "inputRequests": questions, "requestState": state}
    )


def retry_params(params: bytes, responses: Mapping[str, bytes], required: InputRequired) -> bytes:
    """The params of the same request once more, with what was asked for and the exact state."""
    answers = msgspec.json.encode({key: msgspec.Raw(answer) for key, answer in responses.items()})
    state = bytes(required.requestState)
    if state == b"null":
        state = b""
    again = with_member(first_params(params), "inputResponses", answers)
    return with_member(again, "requestState", state) if state else again


def first_params(params: bytes) -> bytes:
    """The params without what only a retry carries."""
    members = members_decoder.decode(params) if params else {}
    if _RETRY_MEMBERS.isdisjoint(members):
        return params
    return msgspec.json.encode({key: raw for key, raw in members.items() if key not in _RETRY_MEMBERS})


def read_retry(params: bytes) -> Retry | None:
    """None when this is no retry, or its state no string: then it is nothing that we ever gave out."""
    if params.find(b"requestState") < 0:
        return None
    try:
        retry = _retry_decoder.decode(params)
        if retry.requestState is None:
            return None
        raw = bytes(retry.inputResponses)
        responses = members_decoder.decode(raw) if raw[:1] == b"{" else {}
    except NOT_READABLE:
        return None
    return Retry(retry.requestState, {key: bytes(answer) for key, answer in responses.items()})


def request_digest(target: str | None, method: str, params: bytes) -> str:
    """Says whether a retry repeats the request it belongs to: address, method, and all params of its own.

    Clients may write the same params in another order the second time.
    """
    try:
        members: dict[str, Any] = msgspec.json.decode(params) if params else {}
    except NOT_READABLE as problem:  # a number beyond all measure, nesting without end
        raise CallerError(CALLER_BAD_PARAMS, f"The params cannot be read: {problem}") from problem
    salient = {key: value for key, value in members.items() if key not in (*_RETRY_MEMBERS, "_meta")}
    text = msgspec.json.encode([target, method, salient], order="sorted")
    return hashlib.sha256(text).hexdigest()[:32]
