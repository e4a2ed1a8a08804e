"""One server's list of tools for a client of the other era, in slices: it may be as long as a frame."""

import asyncio

import msgspec

from callgate.model.envelope import Era
from callgate.model.offers import OfferKind
from callgate.relay.lists.slices import slices
from callgate.wire.eras.result_shape import definition_across

_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list_decoder = msgspec.json.Decoder(list[msgspec.Raw])


async def tools_across(result: bytes, era: Era) -> bytes:
    """`era`: the client's. What cannot be read passes: the client may make of it what it can."""
    written_in = Era.MODERN if era is Era.LEGACY else Era.LEGACY
    try:
        members = _members_decoder.decode(result)
        entries = _list_decoder.decode(members["tools"])
    except (msgspec.DecodeError, KeyError):
        return result
    told: list[bytes] = []
    is_same = True
    for some in slices(entries):
        for entry in some:
            raw = bytes(entry)
            across = definition_across(OfferKind.TOOL, raw, written_in) if raw[:1] == b"{" else None
            is_same = is_same and across is None
            told.append(across or raw)
        await asyncio.sleep(0)
    if is_same:
        return result
    members["tools"] = msgspec.Raw(b"[%b]" % b",".join(told))
    return msgspec.json.encode(members)
