"""The few members of `params` that routing needs, read without touching the others."""

from typing import Any, cast

import msgspec

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.wire.revisions import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_PROTOCOL_VERSION,
)

_RAW = msgspec.Raw()


class Meta(msgspec.Struct):
    """`_meta`, each member raw: whether it has the right shape is for the reader to say."""

    protocol_version: msgspec.Raw = msgspec.field(default=_RAW, name=META_PROTOCOL_VERSION)
    client_info: msgspec.Raw = msgspec.field(default=_RAW, name=META_CLIENT_INFO)
    capabilities: msgspec.Raw = msgspec.field(default=_RAW, name=META_CLIENT_CAPABILITIES)
    log_level: msgspec.Raw = msgspec.field(default=_RAW, name=META_LOG_LEVEL)
    progress_token: msgspec.Raw = msgspec.field(default=_RAW, name="progressToken")
    traceparent: msgspec.Raw = _RAW


class Peek(msgspec.Struct):
    meta: msgspec.Raw = msgspec.field(default=_RAW, name="_meta")
    name: msgspec.Raw = _RAW
    uri: msgspec.Raw = _RAW
    ref: msgspec.Raw = _RAW
    requestId: msgspec.Raw = _RAW  # noqa: N815 - the protocol's own spelling


class _Named(msgspec.Struct):
    name: str


_peek_decoder = msgspec.json.Decoder(Peek)
_named_decoder = msgspec.json.Decoder(_Named)
_meta_decoder = msgspec.json.Decoder(Meta)
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
NO_META = Meta()
NO_PARAMS = Peek()


def peek(params: bytes) -> Peek:
    """`params` has been through `json_rpc.decode`: an object, or empty. What cannot be read is absent."""
    try:
        return _peek_decoder.decode(params) if params else NO_PARAMS
    except msgspec.DecodeError:  # half a surrogate in a key
        return NO_PARAMS


def meta_of(peeked: Peek) -> Meta:
    """An absent or ill-formed `_meta` reads as empty; who needs a member will miss it."""
    if not peeked.meta or bytes(peeked.meta)[:1] != b"{":
        return NO_META
    try:
        return _meta_decoder.decode(peeked.meta)
    except msgspec.DecodeError:
        return NO_META


def text_of(raw: msgspec.Raw) -> str | None:
    """A JSON string's value; None when the member is absent or not a string."""
    data = bytes(raw)
    try:
        return cast(str, msgspec.json.decode(data)) if data[:1] == b'"' else None
    except msgspec.DecodeError:  # half a surrogate is JSON, but no text
        return None


def value_of(raw: msgspec.Raw) -> Any:
    data = bytes(raw)
    try:
        return msgspec.json.decode(data) if data else None
    except (msgspec.DecodeError, RecursionError):
        return None


def name_of(params: bytes, method: str) -> str:
    try:
        return _named_decoder.decode(params).name
    except msgspec.DecodeError as problem:
        raise CallerError(CALLER_BAD_PARAMS, f'{method} needs the param "name", a string') from problem


def with_member(params: bytes, key: str, value: bytes) -> bytes:
    """The same object with one member replaced (or added last); all others keep their bytes and order."""
    try:
        members: dict[str, msgspec.Raw] = _members_decoder.decode(params) if params else {}
    except msgspec.DecodeError as problem:
        raise CallerError(
            CALLER_BAD_PARAMS, f"The object has a member that cannot be read: {problem}"
        ) from problem
    members[key] = msgspec.Raw(value)
    return msgspec.json.encode(members)
