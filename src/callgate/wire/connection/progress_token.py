"""Progress tokens: ours on the way to the upstream, the client's own on the way back.

Tokens of two clients may be equal on one connection, so what an upstream gets is our request's id. Must not
know which requests are open.
"""

import msgspec

from callgate.wire.json_rpc import NOT_READABLE
from callgate.wire.params import meta_of, peek, with_member


class _Progress(msgspec.Struct):
    progressToken: msgspec.Raw = msgspec.Raw()  # noqa: N815 - the protocol's own spelling


_progress_decoder = msgspec.json.Decoder(_Progress)


def put_ours(params: bytes, rpc_id: int) -> tuple[bytes, bytes | None]:
    """The params for the upstream, and the client's token (raw JSON); None when it wants no progress.

    For all params that hold the member's name or an escape: a \\u can spell the same member, and a token of
    the client's choice must never reach the upstream, since it could be the id of another client's request.
    """
    peeked = peek(params)
    token = bytes(meta_of(peeked).progress_token)
    if not token or token == b"null":
        return params, None
    meta = with_member(bytes(peeked.meta), "progressToken", b"%d" % rpc_id)
    return with_member(params, "_meta", meta), token


def token_of(params: bytes) -> bytes:
    """The token that a progress notification names, raw; empty when it names none."""
    try:
        return bytes(_progress_decoder.decode(params).progressToken) if params else b""
    except NOT_READABLE:  # half a surrogate in a key
        return b""


def restore_theirs(params: bytes, client_token: bytes) -> bytes:
    return with_member(params, "progressToken", client_token)
