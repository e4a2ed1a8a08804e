"""Why a request has no answer, in words for people, where the connection itself is the witness."""

from callgate.model.error_codes import (
    UPSTREAM_BUSY,
    UPSTREAM_TIMEOUT,
    UPSTREAM_TOO_LARGE,
    UPSTREAM_UNAVAILABLE,
)
from callgate.model.errors import UpstreamError
from callgate.wire.connection.request_table import Pending
from callgate.wire.framing.lines import MAX_FRAME_BYTES


def timed_out(pending: Pending, now: float) -> UpstreamError:
    if pending.sends == 0:
        message = f"The server was not ready for {pending.method} within {pending.timeout_s:g} s"
    elif now >= pending.gives_up_at:
        message = f"{pending.method} reported progress, but no result in {now - pending.started:.0f} s"
    else:
        message = f"The server did not answer {pending.method} within {pending.timeout_s:g} s"
    key = "start_timeout_s" if pending.handshake else pending.limit_key
    return UpstreamError(UPSTREAM_TIMEOUT, message, hint=f"Raise {key} for this server if it needs longer")


def not_taken(pending: Pending) -> UpstreamError:
    message = f"The server did not take {pending.method} in {pending.sends} attempts"
    return UpstreamError(UPSTREAM_BUSY, message, hint="Try again in a moment")


def too_large() -> UpstreamError:
    """What a transport says with `lost` when it stops reading a frame."""
    return UpstreamError(
        UPSTREAM_TOO_LARGE, f"The server sent a message of more than {MAX_FRAME_BYTES} bytes"
    )


def down(cause: UpstreamError, wait_s: float) -> UpstreamError:
    message = f"The server is down ({cause.message}); the next attempt is in {max(0.0, wait_s):.0f} s"
    return UpstreamError(UPSTREAM_UNAVAILABLE, message, hint=cause.hint)


def closed() -> UpstreamError:
    return UpstreamError(UPSTREAM_UNAVAILABLE, "The connection to the server is closed")


def copy_of(error: UpstreamError) -> UpstreamError:
    """One for each request: an exception that many tasks raise gathers all their tracebacks."""
    return type(error)(error.code, error.message, hint=error.hint, data=error.data)
