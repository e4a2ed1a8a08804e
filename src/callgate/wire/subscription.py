"""The id by which a modern client knows a subscription: in `_meta` of everything that belongs to it.

(2026-07-28, basic/patterns/subscriptions.) It is the JSON-RPC id of the `subscriptions/listen` request, so it
changes with the request's id on the way through us.
"""

import msgspec

from callgate.wire.params import with_member
from callgate.wire.revisions import META_SUBSCRIPTION_ID

_MARK = META_SUBSCRIPTION_ID.encode()
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def subscription_of(raw: bytes) -> bytes | None:
    """The id in these params or this result (raw JSON); None when there is none."""
    if _MARK not in raw:
        return None
    try:
        meta = _members_decoder.decode(_members_decoder.decode(raw).get("_meta", msgspec.Raw(b"{}")))
    except msgspec.DecodeError:
        return None  # the words are there, but not where a subscription is named
    return bytes(meta.get(META_SUBSCRIPTION_ID, b"")) or None


def with_subscription(raw: bytes, rpc_id: bytes) -> bytes:
    """The same object, belonging to that subscription; the rest of its `_meta` stays."""
    members = _members_decoder.decode(raw) if raw else {}
    meta = bytes(members.get("_meta", b""))
    meta = with_member(meta if meta[:1] == b"{" else b"", META_SUBSCRIPTION_ID, rpc_id)
    return with_member(raw, "_meta", meta)
