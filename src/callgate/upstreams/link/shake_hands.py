"""The order in which a new connection gets to know its upstream: the probe, then the handshake.

(2026-07-28, basic/transports/stdio and streamable-http, "Backward Compatibility".) What is said and how
answers are read is `handshake`; who carries it is the link.
"""

from collections.abc import Awaitable, Callable

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import METHOD_NOT_FOUND, UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from callgate.model.errors import UpstreamError
from callgate.model.reply import Answer
from callgate.upstreams.link.handshake import (
    PROBE_TIMEOUT_S,
    Introduction,
    discover_params,
    error_message,
    initialize_params,
    is_modern_evidence,
    other_era,
    read_discover,
    read_initialize,
)
from callgate.upstreams.transport import Opened, Outgoing
from callgate.wire.json_rpc import encode_notification

AskHandshake = Callable[[str, bytes, float], Awaitable[Answer]]
_INITIALIZED = "notifications/initialized"


async def shake_hands(
    name: str, client: Envelope | None, opened: Opened, ask: AskHandshake, start_timeout_s: float
) -> Introduction:
    """Raises UpstreamError. `client`: the one client this connection is for."""
    if opened.era is not Era.LEGACY:
        introduction = await _probe(name, opened.era, ask, start_timeout_s)
        if introduction is not None:
            return introduction
    answer = await ask("initialize", initialize_params(client), start_timeout_s)
    if answer.result is None:
        speaks_modern = answer.error is not None and is_modern_evidence(answer.error, METHOD_NOT_FOUND)
        if opened.era is None and speaks_modern:
            # It was silent only because it was not up yet.
            introduction = await _probe(name, Era.MODERN, ask, start_timeout_s)
            if introduction is not None:
                return introduction
        if opened.era is Era.LEGACY and speaks_modern:
            raise other_era(name, Era.LEGACY, f" ({error_message(answer.error)})")
        text = f"{name} refused initialize: {error_message(answer.error)}"
        raise UpstreamError(UPSTREAM_FAILED, text, data={"refused": "initialize"})
    introduction = read_initialize(name, answer.result)
    opened.transport.negotiated(introduction.revision)
    opened.transport.send(Outgoing(encode_notification(_INITIALIZED, b""), None, _INITIALIZED))
    opened.transport.listen()
    return introduction


async def _probe(
    name: str, era: Era | None, ask: AskHandshake, start_timeout_s: float
) -> Introduction | None:
    """None: this is a legacy server. Silence means so only where the era is not known."""
    timeout_s = start_timeout_s if era is Era.MODERN else PROBE_TIMEOUT_S
    try:
        answer = await ask("server/discover", discover_params(), timeout_s)
    except UpstreamError as error:
        if era is Era.MODERN or error.code is not UPSTREAM_TIMEOUT:
            raise
        return None  # silence
    introduction = read_discover(answer.result) if answer.result is not None else None
    if introduction is None and (
        era is Era.MODERN or (answer.error is not None and is_modern_evidence(answer.error))
    ):
        raise other_era(name, Era.MODERN)
    return introduction
