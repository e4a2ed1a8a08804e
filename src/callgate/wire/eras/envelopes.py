"""Reading the envelope: from `_meta` on every request (modern), or from `initialize` once (legacy).

The modern rungs, in the order in which the first failure is told (2026-07-28, basic, `_meta`; transports):
1. `_meta` is there with protocol version and client capabilities, else -32602.
2. Over HTTP the headers agree with the body, else -32020 (see `http_rules`).
3. The version is one we speak, else -32022 with the list.
"""

from dataclasses import replace

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import CALLER_BAD_PARAMS, CALLER_TOO_LARGE, CALLER_UNSUPPORTED_VERSION
from callgate.model.errors import CallerError
from callgate.wire.json_rpc import NOT_READABLE, read_if_readable
from callgate.wire.params import NO_META, Meta, Peek, check_meta, meta_of, text_of
from callgate.wire.revisions import (
    LEGACY_REVISIONS,
    META_CLIENT_CAPABILITIES,
    META_PROTOCOL_VERSION,
    MODERN_REVISIONS,
)

# Kept as long as the session lives, so a client must not choose how much.
_MAX_CAPABILITIES_BYTES = 16 * 1024
_MAX_INFO_BYTES = 8 * 1024
_MAX_NAME_CHARS = 200


class _Initialize(msgspec.Struct):
    protocol_version: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="protocolVersion")
    capabilities: msgspec.Raw = msgspec.Raw(b"{}")
    client_info: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="clientInfo")


class _Info(msgspec.Struct):
    name: msgspec.Raw = msgspec.Raw()
    version: msgspec.Raw = msgspec.Raw()


_initialize_decoder = msgspec.json.Decoder(_Initialize)
_info_decoder = msgspec.json.Decoder(_Info)


def is_modern(meta: Meta) -> bool:
    """The reserved key is the mark: legacy traffic may carry `_meta`, but never this member."""
    return meta is not NO_META and bool(bytes(meta.protocol_version))


def read_modern(peeked: Peek) -> Envelope:
    """Rung 1; raises CallerError. Rung 3 is `check_revision`: the header rung stands between them."""
    check_meta(peeked)
    meta = meta_of(peeked)
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
    capabilities = _bounded(bytes(meta.capabilities), META_CLIENT_CAPABILITIES)
    return Envelope(
        Era.MODERN,
        revision,
        *_client_info(meta.client_info),
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
    try:
        members = _initialize_decoder.decode(params) if params else _Initialize()
    except NOT_READABLE as problem:
        raise CallerError(
            CALLER_BAD_PARAMS, f"The params of initialize cannot be read: {problem}"
        ) from problem
    asked = text_of(members.protocol_version)
    if asked is None:
        raise CallerError(CALLER_BAD_PARAMS, 'initialize needs the param "protocolVersion", a string')
    capabilities = _bounded(bytes(members.capabilities), 'The param "capabilities"')
    revision = asked if asked in LEGACY_REVISIONS else LEGACY_REVISIONS[0]
    return Envelope(Era.LEGACY, revision, *_client_info(members.client_info), capabilities=capabilities)


def legacy_envelope(remembered: Envelope, peeked: Peek) -> Envelope:
    """A later legacy request: who it is was said in the handshake, only tokens and trace are its own.

    Raises CallerError for a `_meta` that is too large."""
    if not peeked.meta:
        return remembered
    check_meta(peeked)
    meta = meta_of(peeked)
    if meta is NO_META:
        return remembered
    token, trace = bytes(meta.progress_token) or None, text_of(meta.traceparent)
    if token is None and trace is None:
        return remembered
    return replace(remembered, progress_token=token, traceparent=trace)


def _bounded(capabilities: bytes, what: str) -> bytes:
    if capabilities[:1] != b"{":
        raise CallerError(CALLER_BAD_PARAMS, f"{what} must be an object")
    if len(capabilities) > _MAX_CAPABILITIES_BYTES:
        raise CallerError(CALLER_TOO_LARGE, f"{what} has more than {_MAX_CAPABILITIES_BYTES} bytes")
    return capabilities


def _client_info(raw: msgspec.Raw) -> tuple[str | None, str | None, bytes]:
    """Name, version, and all of it as the client wrote it, for the upstream to see; icons and the like past
    all measure are dropped."""
    data = bytes(raw)
    if data[:1] != b"{":
        return None, None, b""
    told = data if len(data) <= _MAX_INFO_BYTES else b""
    return *name_and_version(data), told


def name_and_version(info: bytes | msgspec.Raw) -> tuple[str | None, str | None]:
    """What a client or a server calls itself. It is for people: what is missing or no text is None."""
    said = read_if_readable(_info_decoder, info) or _Info()
    return _short(text_of(said.name)), _short(text_of(said.version))


def _short(text: str | None) -> str | None:
    return None if text is None else text[:_MAX_NAME_CHARS]
