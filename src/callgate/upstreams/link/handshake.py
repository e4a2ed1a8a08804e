"""Getting to know an upstream: the probe of the modern era, the handshake of the legacy one.

(2026-07-28, basic/transports/stdio and streamable-http, "Backward Compatibility".) Says what to send and
reads what came back; who sends it is the link.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    UPSTREAM_FAILED,
    UPSTREAM_OTHER_ERA,
)
from callgate.model.errors import UpstreamError
from callgate.wire.eras.capabilities import capabilities_across
from callgate.wire.eras.params import OUR_INFO, with_envelope
from callgate.wire.fault_of import read_fault
from callgate.wire.json_rpc import NOT_READABLE
from callgate.wire.revisions import (
    LEGACY_REVISIONS,
    META_SERVER_INFO,
    MODERN_REVISIONS,
)

# A legacy server may stay silent when it is asked something before `initialize`.
PROBE_TIMEOUT_S = 3.0
_MODERN_ERRORS = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION})


@dataclass(frozen=True, slots=True)
class Introduction:
    """What the upstream said of itself."""

    era: Era
    revision: str
    result: bytes  # its `initialize` or `server/discover` result
    server_name: str | None
    server_version: str | None
    capabilities: dict[str, Any]


def discover_params() -> bytes:
    return with_envelope(b"", None)


def initialize_params(client: Envelope | None) -> bytes:
    """`client`: the one client that this connection serves; None when it is shared, and declares nothing."""
    if client is None:
        revision, capabilities, info = LEGACY_REVISIONS[0], b"{}", OUR_INFO
    else:
        revision = client.revision if client.era is Era.LEGACY else LEGACY_REVISIONS[0]
        capabilities, info = client.capabilities, client.client_info or OUR_INFO
        if client.era is Era.MODERN:
            capabilities = capabilities_across(capabilities, Era.MODERN)
    return b'{"protocolVersion":"%b","capabilities":%b,"clientInfo":%b}' % (
        revision.encode(),
        capabilities,
        info,
    )


def error_message(error: bytes | None) -> str:
    return read_fault(error or b"{}").message[:300]


def is_modern_evidence(error: bytes, *also: int) -> bool:
    """A recognised modern error names a modern server; any other one does not.

    `also`: codes that mean the same as an answer to this request.
    """
    return read_fault(error).code in (*_MODERN_ERRORS, *also)


class _Info(msgspec.Struct):
    name: Any = None
    version: Any = None

    @classmethod
    def read(cls, raw: msgspec.Raw) -> tuple[str | None, str | None]:
        """A name is for people: one that is odd is no reason not to work with the server."""
        try:
            info = msgspec.json.decode(raw, type=cls) if bytes(raw) else cls()
        except NOT_READABLE:
            return None, None
        return _text(info.name), _text(info.version)


def _text(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) else None


class _DiscoverMeta(msgspec.Struct):
    server_info: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name=META_SERVER_INFO)


class _Discover(msgspec.Struct):
    supportedVersions: list[str]  # noqa: N815 - the protocol's own spelling
    capabilities: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    meta: _DiscoverMeta = msgspec.field(default_factory=_DiscoverMeta, name="_meta")


class _Initialize(msgspec.Struct):
    protocolVersion: str  # noqa: N815
    capabilities: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    serverInfo: msgspec.Raw = msgspec.Raw()  # noqa: N815


def read_discover(result: bytes) -> Introduction | None:
    """None when this is no answer of a modern server that we could speak with."""
    try:
        said = msgspec.json.decode(result, type=_Discover)
    except NOT_READABLE:
        return None
    if set(MODERN_REVISIONS).isdisjoint(said.supportedVersions):
        return None
    name, version = _Info.read(said.meta.server_info)
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
    server_name, version = _Info.read(said.serverInfo)
    return Introduction(Era.LEGACY, said.protocolVersion, result, server_name, version, said.capabilities)


def other_era(name: str, wanted: Era, detail: str = "") -> UpstreamError:
    other = "2026-07-28" if wanted is Era.LEGACY else "the handshake era"
    return UpstreamError(
        UPSTREAM_OTHER_ERA,
        f"{name} speaks only {other}{detail}",
        hint="Update the server, or the gateway: they have no revision of the protocol in common",
    )
