"""What clients and servers declare. Pure.

Which questions a client may be asked: exactly those whose capability it declared (2026-07-28 and 2025-11-25,
client/elicitation, client/sampling, client/roots). And who a server is, in the words of the other era:
`initialize` results as `server/discover` ones, and back. Members that both eras know keep their bytes; what
only one era has is left out, because a client would use it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_MISSING_CAPABILITY
from callgate.model.errors import CallerError
from callgate.model.wording import clip
from callgate.wire.eras.input_required import NEEDED_CAPABILITY
from callgate.wire.json_rpc import NOT_READABLE, read_if_readable
from callgate.wire.params import members_decoder, meta_members
from callgate.wire.revisions import LEGACY_REVISIONS, META_SERVER_INFO, MODERN_REVISIONS

# 2025-11-25 has tasks in its core and 2026-07-28 as an extension of another shape (changelog, major 6).
_ONLY_IN = {Era.LEGACY: "tasks", Era.MODERN: "extensions"}


class _Mode(msgspec.Struct):
    mode: str = "form"


@lru_cache(maxsize=1024)
def declared(capabilities: bytes) -> dict[str, msgspec.Raw]:
    """The members of a client's capabilities; what cannot be read declares nothing."""
    return read_if_readable(members_decoder, capabilities) or {}


@lru_cache(maxsize=1024)
def capabilities_across(capabilities: bytes, written_in: Era) -> bytes:
    """A client's or a server's, without what only that era has: the other side would use it."""
    members = declared(capabilities)
    gone = _ONLY_IN[written_in]
    if gone not in members:
        return capabilities
    return msgspec.json.encode({key: raw for key, raw in members.items() if key != gone})


def questions_declared(capabilities: bytes) -> frozenset[str]:
    """Those of sampling, elicitation and roots that it declares."""
    return frozenset(declared(capabilities).keys() & NEEDED_CAPABILITY.values())


def answers_questions(capabilities: bytes) -> bool:
    """Whether it declares any of sampling, elicitation and roots."""
    return not declared(capabilities).keys().isdisjoint(NEEDED_CAPABILITY.values())


# What of a client's declaration may decide what a server lists; anything else makes no other view.
_ELICITATION_MODES = ("form", "url")
_TASK_QUESTIONS = (("elicitation", "create"), ("sampling", "createMessage"))
# Declares all of it: a server that lists the same to this as to nothing does not look at capabilities.
EVERY_QUESTION = (
    '{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"tools":{}},'
    '"tasks":{"requests":{"elicitation":{"create":{}},"sampling":{"createMessage":{}}}}}'
)
# What clients that can be asked declare, in its plainest form.
PLAIN_QUESTIONS = '{"elicitation":{},"roots":{},"sampling":{}}'


@lru_cache(maxsize=1024)
def view_declared(capabilities: bytes, era: Era) -> str:
    """The capabilities by which a server may ask this client something, in one spelling; "" for none.

    It can be declared as it is. Words we do not know are left out, so that there are few such views.
    """
    members = declared(capabilities)
    told: dict[str, Any] = {}
    if "elicitation" in members:
        modes = declared(bytes(members["elicitation"]))
        told["elicitation"] = {mode: {} for mode in _ELICITATION_MODES if mode in modes and "url" in modes}
    if "roots" in members:
        told["roots"] = {}
    if "sampling" in members:
        told["sampling"] = {"tools": {}} if "tools" in declared(bytes(members["sampling"])) else {}
    if era is Era.LEGACY and "tasks" in members and told:
        requests = declared(bytes(declared(bytes(members["tasks"])).get("requests", b"")))
        asked: dict[str, Any] = {
            what: {method: {}}
            for what, method in _TASK_QUESTIONS
            if method in declared(bytes(requests.get(what, b"")))
        }
        if asked:
            told["tasks"] = {"requests": asked}
    return msgspec.json.encode(told).decode() if told else ""


def lacks(capabilities: bytes, method: str, params: bytes) -> bytes | None:
    """The capability (raw JSON) that this question needs and the client did not declare; None when it may
    be put.

    Methods that we do not know may be put: whether the client answers them is between it and the server.
    """
    needed = NEEDED_CAPABILITY.get(method)
    if needed is None:
        return None
    has = bytes(declared(capabilities).get(needed, b""))
    if has[:1] != b"{":
        return b'{"%b":{}}' % needed.encode()
    if needed == "elicitation":
        return _lacks_mode(has, params)
    # 2025-11-25, client/sampling, "Capabilities".
    may_use_tools = needed == "sampling" and b'"tools"' in params and b'"tools"' not in has
    if may_use_tools and "tools" in (read_if_readable(members_decoder, params) or {}):
        return b'{"sampling":{"tools":{}}}'
    return None


def _lacks_mode(elicitation: bytes, params: bytes) -> bytes | None:
    """An empty declaration means forms only ("for backwards compatibility")."""
    try:
        mode = msgspec.json.decode(params or b"{}", type=_Mode).mode
        modes = members_decoder.decode(elicitation)
    except NOT_READABLE:
        return None  # odd, but for the client to judge
    if mode in modes or (mode == "form" and "url" not in modes) or mode not in ("form", "url"):
        return None
    return b'{"elicitation":{"%b":{}}}' % mode.encode()


def missing_for_tool(name: str, lacking: Sequence[str]) -> CallerError:
    """The same error, of a tool that only some clients are offered: those that declare more than this one.

    `lacking`: what all of them had declared beside. Of several, one may be enough.
    """
    named = " and ".join(lacking)
    declares = f"{named}: this one does not" if len(lacking) == 1 else f"more than this one, such as {named}"
    return CallerError(
        CALLER_MISSING_CAPABILITY,
        f"{clip(name, 100)} is offered to clients that declare {declares}",
        hint="Use a client that declares the capability, or another tool",
        data={"requiredCapabilities": {capability: {} for capability in lacking}},
    )


def missing_capability(capability: bytes) -> CallerError:
    """The specification's own error, with a hint. `capability`: as it would have to be declared."""
    return CallerError(
        CALLER_MISSING_CAPABILITY,
        "The server asks for something that this client did not declare as a capability",
        hint="Use a client that declares the capability, or a tool that does not ask",
        data={"requiredCapabilities": msgspec.json.decode(capability)},
    )


def discover_of(initialize_result: bytes) -> bytes:
    said = members_decoder.decode(initialize_result)
    members: dict[str, msgspec.Raw] = {
        "resultType": msgspec.Raw(b'"complete"'),
        "supportedVersions": msgspec.Raw(msgspec.json.encode(MODERN_REVISIONS)),
        "capabilities": _across(said, Era.LEGACY),
    }
    if "instructions" in said:
        members["instructions"] = said["instructions"]
    # The server may be another one after its next start: not fresh beyond now, not to be shared.
    members["ttlMs"], members["cacheScope"] = msgspec.Raw(b"0"), msgspec.Raw(b'"private"')
    meta = meta_members(said)
    if "serverInfo" in said:
        meta[META_SERVER_INFO] = said["serverInfo"]
    members["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(members)


def initialize_of(discover_result: bytes) -> bytes:
    """Speaks the newest legacy revision; whoever hands it to a client says which one was agreed on."""
    said = members_decoder.decode(discover_result)
    meta = meta_members(said)
    info = meta.pop(META_SERVER_INFO, msgspec.Raw(b'{"name":"unknown","version":""}'))
    members: dict[str, msgspec.Raw] = {
        "protocolVersion": msgspec.Raw(msgspec.json.encode(LEGACY_REVISIONS[0])),
        "capabilities": _across(said, Era.MODERN),
        "serverInfo": info,
    }
    if "instructions" in said:
        members["instructions"] = said["instructions"]
    if meta:
        members["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(members)


def _across(said: dict[str, msgspec.Raw], written_in: Era) -> msgspec.Raw:
    raw = bytes(said.get("capabilities", b""))
    return msgspec.Raw(capabilities_across(raw if raw[:1] == b"{" else b"{}", written_in))
