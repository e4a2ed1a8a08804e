"""The id by which a modern client knows a subscription: in `_meta` of everything that belongs to it.

(2026-07-28, basic/patterns/subscriptions.) It is the JSON-RPC id of the `subscriptions/listen` request, so it
changes with the request's id on the way through us.
"""

from typing import Any, cast

import msgspec

from callgate.wire.json_rpc import NOT_READABLE
from callgate.wire.params import drop_meta, members_decoder, meta_members, with_member
from callgate.wire.revisions import META_SUBSCRIPTION_ID

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
# The filter of `subscriptions/listen` and the notification each of its members stands for.
LIST_CHANGED = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}

# Without its slash, which some encoders escape; a \u escape can spell any of it. Only a hint: what is decoded
# decides.
_MARK = b"subscriptionId"


def subscription_of(raw: bytes) -> bytes | None:
    """The id in these params or this result (raw JSON); None when there is none."""
    if _MARK not in raw and b"\\u" not in raw:
        return None
    try:
        meta = meta_members(members_decoder.decode(raw))
    except NOT_READABLE:
        return None  # the words are there, but not where a subscription is named
    return bytes(meta.get(META_SUBSCRIPTION_ID, b"")) or None


def with_subscription(raw: bytes, rpc_id: bytes) -> bytes:
    """The same object, belonging to that subscription; the rest of its `_meta` stays."""
    meta = meta_members(members_decoder.decode(raw)) if raw else {}
    meta[META_SUBSCRIPTION_ID] = msgspec.Raw(rpc_id)
    return with_member(raw, "_meta", msgspec.json.encode(meta))


def without_subscription(raw: bytes) -> bytes:
    """The same object, belonging to no subscription; an empty `_meta` goes."""
    if subscription_of(raw) is None:
        return raw
    members = members_decoder.decode(raw)
    drop_meta(members, (META_SUBSCRIPTION_ID,))
    return msgspec.json.encode(members)


def read_filter(params: bytes) -> dict[str, Any]:
    """What a `subscriptions/listen` asks for, or an acknowledgment grants."""
    said: Any = msgspec.json.decode(params or b"{}")
    asked = said.get("notifications")
    return cast(dict[str, Any], asked) if isinstance(asked, dict) else {}


def watched_uris(filter_: dict[str, Any]) -> list[str]:
    """The resources in a filter, each once."""
    uris = filter_.get("resourceSubscriptions")
    known = [uri for uri in cast(list[Any], uris) if isinstance(uri, str)] if isinstance(uris, list) else []
    return list(dict.fromkeys(known))
