"""The few members of `params` that routing needs, read without touching the others."""

from collections.abc import Collection, Mapping
from typing import cast

import msgspec

from callgate.model.error_codes import CALLER_BAD_PARAMS, CALLER_TOO_LARGE
from callgate.model.errors import CallerError
from callgate.wire.json_rpc import NOT_READABLE, read_if_readable
from callgate.wire.revisions import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_PROTOCOL_VERSION,
)

_RAW = msgspec.Raw()
_BACKSLASH = ord("\\")
# `_meta` is for a few small things about a request; it is read several times on the way.
_MAX_META_BYTES = 64 * 1024
# To replace one member of an object all others become objects of ours: a million of them took seconds. These
# may be large, and are one object each.
_MAX_OTHER_BYTES = 1024 * 1024
_LARGE_MEMBERS = (
    "arguments", "_meta", "uri", "argument", "context", "inputResponses", "requestState", "content",
    "structuredContent", "messages",
)  # fmt: skip


class Meta(msgspec.Struct, gc=False):
    """`_meta`, each member raw: whether it has the right shape is for the reader to say."""

    protocol_version: msgspec.Raw = msgspec.field(default=_RAW, name=META_PROTOCOL_VERSION)
    client_info: msgspec.Raw = msgspec.field(default=_RAW, name=META_CLIENT_INFO)
    capabilities: msgspec.Raw = msgspec.field(default=_RAW, name=META_CLIENT_CAPABILITIES)
    log_level: msgspec.Raw = msgspec.field(default=_RAW, name=META_LOG_LEVEL)
    progress_token: msgspec.Raw = msgspec.field(default=_RAW, name="progressToken")
    traceparent: msgspec.Raw = _RAW


class Peek(msgspec.Struct, gc=False):
    meta: msgspec.Raw = msgspec.field(default=_RAW, name="_meta")
    name: msgspec.Raw = _RAW
    uri: msgspec.Raw = _RAW
    ref: msgspec.Raw = _RAW
    requestId: msgspec.Raw = _RAW  # noqa: N815 - the protocol's own spelling
    progressToken: msgspec.Raw = _RAW  # noqa: N815 - of a progress notification


class CallParams(msgspec.Struct, gc=False):
    """Of what is called by its name, as far as a plain call goes."""

    name: str
    meta: msgspec.Raw = msgspec.field(default=_RAW, name="_meta")


_peek_decoder = msgspec.json.Decoder(Peek)
_call_params_decoder = msgspec.json.Decoder(CallParams)
_meta_decoder = msgspec.json.Decoder(Meta)
_Large = msgspec.defstruct(
    "_Large", [(name.strip("_"), msgspec.Raw, _RAW) for name in _LARGE_MEMBERS], rename={"meta": "_meta"}
)
_large_decoder = msgspec.json.Decoder(_Large)
# Of any object: its members, each as it stands there. Of any array: its entries.
members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
entries_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_NAMING_MEMBER = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
NO_META = Meta()
NO_PARAMS = Peek()


def peek(params: bytes) -> Peek:
    """`params` has been through `json_rpc.decode`: an object, or empty. What cannot be read is absent."""
    try:
        return _peek_decoder.decode(params) if params else NO_PARAMS
    except NOT_READABLE:  # half a surrogate in a key
        return NO_PARAMS


def meta_of(peeked: Peek) -> Meta:
    """An absent or ill-formed `_meta` reads as empty."""
    if not peeked.meta or bytes(peeked.meta)[:1] != b"{":
        return NO_META
    try:
        return _meta_decoder.decode(peeked.meta)
    except NOT_READABLE:
        return NO_META


def check_meta(peeked: Peek) -> None:
    """Raises CallerError for a `_meta` that is larger than anybody needs."""
    if len(memoryview(peeked.meta)) > _MAX_META_BYTES:
        raise CallerError(CALLER_TOO_LARGE, f"params._meta is larger than {_MAX_META_BYTES} bytes")


def text_of(raw: msgspec.Raw) -> str | None:
    """A JSON string's value; None when the member is absent or not a string."""
    data = bytes(raw)
    try:
        return cast(str, msgspec.json.decode(data)) if data[:1] == b'"' else None
    except NOT_READABLE:  # half a surrogate is JSON, but no text
        return None


def call_params(params: bytes) -> CallParams | None:
    """None: they name no tool, or cannot be read."""
    try:
        return _call_params_decoder.decode(params)
    except NOT_READABLE:
        return None


def name_of(params: bytes, method: str) -> str:
    try:
        return _call_params_decoder.decode(params).name
    except NOT_READABLE as problem:
        raise CallerError(CALLER_BAD_PARAMS, f'{method} needs the param "name", a string') from problem


def named_in(method: str, peeked: Peek) -> str | None:
    """What a request asks for by its name: a tool, a prompt, a resource. None: it names none."""
    member = _NAMING_MEMBER.get(method)
    return None if member is None else text_of(peeked.name if member == "name" else peeked.uri)


def with_member(params: bytes, key: str, value: bytes) -> bytes:
    """The same object with one member replaced (or added last); all others keep their bytes and order."""
    if len(params) > _MAX_OTHER_BYTES:
        _check_others(params)
    try:
        members: dict[str, msgspec.Raw] = members_decoder.decode(params) if params else {}
    except NOT_READABLE as problem:
        raise CallerError(
            CALLER_BAD_PARAMS, f"The object has a member that cannot be read: {problem}"
        ) from problem
    members[key] = msgspec.Raw(value)
    return msgspec.json.encode(members)


def put_our_token(params: bytes, rpc_id: int) -> tuple[bytes, bytes | None]:
    """The params for the upstream, and the client's progress token (raw JSON); None when it wants none.

    Tokens of two clients may be equal on one connection, so what an upstream gets is our request's id. For
    all params that hold the member's name or an escape: a \\u can spell the same member, and a token of the
    client's choice must never reach the upstream, since it could be the id of another client's request.
    """
    peeked = peek(params)
    token = bytes(meta_of(peeked).progress_token)
    if not token or token == b"null":
        return params, None
    meta = with_member(bytes(peeked.meta), "progressToken", b"%d" % rpc_id)
    return with_member(params, "_meta", meta), token


class Renaming(msgspec.Struct, frozen=True, gc=False):
    """Another name in all requests that ask for something by the same one."""

    name_json: bytes
    member: bytes
    new_member: bytes

    def of(self, params: bytes) -> bytes:
        """As `with_member`. `params` were read to ask for that name: where "name" is certain to come once, as
        with most clients, it is this member, and all others keep their bytes unread."""
        may_be_spelled = _BACKSLASH in params and params.find(b"\\u") >= 0
        if len(params) <= _MAX_OTHER_BYTES and params.count(b'"name"') == 1 and not may_be_spelled:
            before, member, behind = params.partition(self.member)
            if member:
                return before + self.new_member + behind
        return with_member(params, "name", self.name_json)


def renaming(name: str, new_name: str) -> Renaming:
    name_json, new_json = msgspec.json.encode(name), msgspec.json.encode(new_name)
    return Renaming(new_json, b'"name":%b' % name_json, b'"name":%b' % new_json)


def meta_members(members: Mapping[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """Of the `_meta` of an object; none where it is no object."""
    raw = members.get("_meta", _RAW)
    return members_decoder.decode(raw) if bytes(raw)[:1] == b"{" else {}


def drop_meta(members: dict[str, msgspec.Raw], keys: Collection[str]) -> bool:
    """Takes these out of the `_meta` of an object; one that is empty then goes. Whether any was there."""
    raw = members.get("_meta", _RAW)  # as `meta_members`, for each call between the eras
    meta = members_decoder.decode(raw) if bytes(raw)[:1] == b"{" else {}
    kept = {key: value for key, value in meta.items() if key not in keys}
    if len(kept) == len(meta):
        return False
    if kept:
        members["_meta"] = msgspec.Raw(msgspec.json.encode(kept))
    else:
        del members["_meta"]
    return True


def _check_others(params: bytes) -> None:
    large = read_if_readable(_large_decoder, params)
    if large is None:
        return  # the next reader says what is wrong
    if len(params) - sum(len(bytes(one)) for one in msgspec.structs.astuple(large)) > _MAX_OTHER_BYTES:
        text = (
            f"The members other than {', '.join(_LARGE_MEMBERS[:2])} have more than {_MAX_OTHER_BYTES} bytes"
        )
        raise CallerError(CALLER_TOO_LARGE, text)
