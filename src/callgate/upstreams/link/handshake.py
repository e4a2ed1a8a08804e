"""Getting to know an upstream: the probe of the modern era, then the handshake of the legacy one.

(2026-07-28, basic/transports/stdio and streamable-http, "Backward Compatibility".) Says what to send and
reads what came back; who sends it is the link.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    UPSTREAM_FAILED,
    UPSTREAM_OTHER_ERA,
    UPSTREAM_TIMEOUT,
)
from callgate.model.errors import UpstreamError
from callgate.model.reply import Reply, RpcFault
from callgate.upstreams.transport import Opened
from callgate.wire.eras.capabilities import capabilities_across
from callgate.wire.eras.envelopes import name_and_version
from callgate.wire.eras.params import OUR_INFO, our_envelope, with_envelope
from callgate.wire.json_rpc import NOT_READABLE, encode_notification, read_if_readable
from callgate.wire.revisions import LEGACY_REVISIONS, META_SERVER_INFO, MODERN_REVISIONS

# A legacy server may stay silent when it is asked something before `initialize`.
PROBE_TIMEOUT_S = 3.0
_INITIALIZED = "notifications/initialized"
# A modern server's answer to a request without its headers (2026-07-28, basic/versioning, "Compatibility
# Matrix").
_REFUSING_STATUSES = frozenset({400, 404, 405})
_MODERN_ERRORS = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION})

AskHandshake = Callable[[str, bytes, float], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Introduction:
    era: Era
    revision: str
    result: bytes  # its `initialize` or `server/discover` result
    server_name: str | None
    server_version: str | None
    capabilities: dict[str, Any]


def discover_params(client: Envelope | None = None) -> bytes:
    """`client`: as of `initialize_params`. A gateway that is asked knows it from here on by one name."""
    return with_envelope(b"", client)


def initialize_params(client: Envelope | None) -> bytes:
    """`client`: the one client that this connection serves; None when it is shared, and declares nothing."""
    client = client or our_envelope("")
    revision, capabilities = client.revision, client.capabilities
    if client.era is Era.MODERN:
        revision, capabilities = LEGACY_REVISIONS[0], capabilities_across(capabilities, Era.MODERN)
    return b'{"protocolVersion":"%b","capabilities":%b,"clientInfo":%b}' % (
        revision.encode(),
        capabilities,
        client.client_info or OUR_INFO,
    )


def is_modern_evidence(fault: RpcFault | None, *also: int) -> bool:
    """A recognised modern error names a modern server; any other one does not.

    `also`: codes that mean the same as an answer to this request.
    """
    return fault is not None and fault.code in (*_MODERN_ERRORS, *also)


class _Discover(msgspec.Struct):
    supportedVersions: list[str]  # noqa: N815 - the protocol's own spelling
    capabilities: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    meta: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict[str, msgspec.Raw], name="_meta")


class _Initialize(msgspec.Struct):
    protocolVersion: str  # noqa: N815
    capabilities: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    serverInfo: msgspec.Raw = msgspec.Raw()  # noqa: N815


_discover_decoder = msgspec.json.Decoder(_Discover)


def read_discover(result: bytes) -> Introduction | None:
    """None when this is no answer of a modern server that we could speak with."""
    said = read_if_readable(_discover_decoder, result)
    if said is None or set(MODERN_REVISIONS).isdisjoint(said.supportedVersions):
        return None
    name, version = name_and_version(said.meta.get(META_SERVER_INFO, msgspec.Raw()))
    return Introduction(Era.MODERN, MODERN_REVISIONS[0], result, name, version, said.capabilities)


def read_initialize(name: str, result: bytes) -> Introduction:
    try:
        said = msgspec.json.decode(result, type=_Initialize)
    except NOT_READABLE as problem:
        raise UpstreamError(
            UPSTREAM_FAILED, f"{name} answered initialize with an invalid result: {problem}"
        ) from problem
    if said.protocolVersion not in LEGACY_REVISIONS:
        raise UpstreamError(
            UPSTREAM_FAILED,
            f"{name} wants protocol revision {said.protocolVersion[:40]!r}, which we do not support",
        )
    server_name, version = name_and_version(said.serverInfo)
    return Introduction(Era.LEGACY, said.protocolVersion, result, server_name, version, said.capabilities)


def other_era(name: str, wanted: Era, detail: str = "") -> UpstreamError:
    other = "2026-07-28" if wanted is Era.LEGACY else "the handshake era"
    return UpstreamError(
        UPSTREAM_OTHER_ERA,
        f"{name} speaks only {other}{detail}",
        hint="Update the server, or the gateway: they have no revision of the protocol in common",
    )


def is_refusal(error: UpstreamError) -> bool:
    """The server said no to the handshake itself; anything else may be a passing trouble."""
    return (
        error.code is UPSTREAM_OTHER_ERA
        or error.data.get("refused") == "initialize"
        or error.data.get("status") in _REFUSING_STATUSES
    )


async def shake_hands(
    name: str, client: Envelope | None, opened: Opened, ask: AskHandshake, start_timeout_s: float
) -> Introduction:
    """Raises UpstreamError. `client`: the one client this connection is for."""
    if opened.era is not Era.LEGACY:
        introduction = await _probe(name, opened.era, ask, client, start_timeout_s)
        if introduction is not None:
            return introduction
    reply = await ask("initialize", initialize_params(client), start_timeout_s)
    if reply.result is None:
        speaks_modern = is_modern_evidence(reply.fault, METHOD_NOT_FOUND)
        if opened.era is None and speaks_modern:
            # It was silent only because it was not up yet.
            introduction = await _probe(name, Era.MODERN, ask, client, start_timeout_s)
            if introduction is not None:
                return introduction
        told = "" if reply.fault is None else reply.fault.message[:300]
        if opened.era is Era.LEGACY and speaks_modern:
            raise other_era(name, Era.LEGACY, f" ({told})")
        text = f"{name} refused initialize: {told}"
        raise UpstreamError(UPSTREAM_FAILED, text, data={"refused": "initialize"})
    introduction = read_initialize(name, reply.result)
    opened.transport.negotiated(introduction.revision)
    opened.transport.send(encode_notification(_INITIALIZED, b""), None, _INITIALIZED)
    opened.transport.listen()
    return introduction


async def _probe(
    name: str, era: Era | None, ask: AskHandshake, client: Envelope | None, start_timeout_s: float
) -> Introduction | None:
    """None: this is a legacy server. Silence means so only where the era is not known."""
    timeout_s = start_timeout_s if era is Era.MODERN else PROBE_TIMEOUT_S
    try:
        reply = await ask("server/discover", discover_params(client), timeout_s)
    except UpstreamError as error:
        if era is Era.MODERN or error.code is not UPSTREAM_TIMEOUT:
            raise
        return None  # silence
    introduction = read_discover(reply.result) if reply.result is not None else None
    if introduction is None and (era is Era.MODERN or is_modern_evidence(reply.fault)):
        raise other_era(name, Era.MODERN)
    return introduction
