"""Reading the envelope: from `_meta` on every request (modern), or from `initialize` once (legacy).

The modern rungs, in the order in which the first failure is told (2026-07-28, basic, `_meta`; transports):
1. `_meta` is there with protocol version and client capabilities, else -32602.
2. Over HTTP the headers agree with the body, else -32020 (see `http_rules`).
3. The version is one we speak, else -32022 with the list.
"""

from dataclasses import replace
from typing import Any, cast

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import CALLER_BAD_PARAMS, CALLER_UNSUPPORTED_VERSION
from callgate.model.errors import CallerError
from callgate.wire.params import Meta, Peek, meta_of, text_of, value_of
from callgate.wire.revisions import (
    LEGACY_REVISIONS,
    META_CLIENT_CAPABILITIES,
    META_PROTOCOL_VERSION,
    MODERN_REVISIONS,
)


def is_modern(meta: Meta) -> bool:
    """The reserved key is the mark: legacy traffic may carry `_meta`, but never this member."""
    return bool(bytes(meta.protocol_version))


def read_modern(meta: Meta) -> Envelope:
    """Rung 1; raises CallerError. Rung 3 is `check_revision`: the header rung stands between them."""
    missing = [
        key
        for key, raw in (
            (META_PROTOCOL_VERSION, meta.protocol_version),
            (META_CLIENT_CAPABILITIES, meta.capabilities),
        )
        if not bytes(raw)
    ]
    if missing:
        raise CallerError(
            CALLER_BAD_PARAMS,
            f"params._meta lacks {' and '.join(missing)}",
            hint="A 2026-07-28 request carries both on every request; an older client starts with initialize",
        )
    revision = text_of(meta.protocol_version)
    if revision is None:
        raise CallerError(CALLER_BAD_PARAMS, f"{META_PROTOCOL_VERSION} must be a string")
    capabilities = bytes(meta.capabilities)
    if capabilities[:1] != b"{":
        raise CallerError(CALLER_BAD_PARAMS, f"{META_CLIENT_CAPABILITIES} must be an object")
    name, version = _client_info(meta.client_info)
    return Envelope(
        era=Era.MODERN,
        revision=revision,
        client_name=name,
        client_version=version,
        client_info=bytes(meta.client_info),
        capabilities=capabilities,
        progress_token=bytes(meta.progress_token) or None,
        log_level=text_of(meta.log_level),
        traceparent=text_of(meta.traceparent),
    )


def check_revision(envelope: Envelope) -> None:
    if envelope.revision not in MODERN_REVISIONS:
        raise CallerError(
            CALLER_UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            data={"supported": list(MODERN_REVISIONS), "requested": envelope.revision},
        )


def read_initialize(params: bytes) -> Envelope:
    """The handshake's envelope, its revision already negotiated: the asked one, or the newest legacy one."""
    members = cast(dict[str, Any], msgspec.json.decode(params, type=dict[str, msgspec.Raw]) if params else {})
    asked = text_of(members.get("protocolVersion", msgspec.Raw()))
    if asked is None:
        raise CallerError(CALLER_BAD_PARAMS, 'initialize needs the param "protocolVersion", a string')
    capabilities = bytes(members.get("capabilities", msgspec.Raw(b"{}")))
    if capabilities[:1] != b"{":
        raise CallerError(CALLER_BAD_PARAMS, 'The param "capabilities" must be an object')
    name, version = _client_info(members.get("clientInfo", msgspec.Raw()))
    return Envelope(
        era=Era.LEGACY,
        revision=asked if asked in LEGACY_REVISIONS else LEGACY_REVISIONS[0],
        client_name=name,
        client_version=version,
        client_info=bytes(members.get("clientInfo", b"")),
        capabilities=capabilities,
    )


def legacy_envelope(remembered: Envelope, peeked: Peek) -> Envelope:
    """A later legacy request: who it is was said in the handshake, only tokens and trace are its own."""
    meta = meta_of(peeked)
    token, trace = bytes(meta.progress_token) or None, text_of(meta.traceparent)
    if token is None and trace is None:
        return remembered
    return replace(remembered, progress_token=token, traceparent=trace)


def _client_info(raw: msgspec.Raw) -> tuple[str | None, str | None]:
    info = value_of(raw)
    if not isinstance(info, dict):
        return None, None
    members = cast(dict[str, Any], info)
    name, version = members.get("name"), members.get("version")
    return (name if isinstance(name, str) else None, version if isinstance(version, str) else None)
