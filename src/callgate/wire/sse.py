"""Server-sent events: how a stream of messages is written into one HTTP answer."""

from callgate.wire.lines import flat


def encode_event(data: bytes, event_id: str | None = None) -> bytes:
    """`data` is one JSON message."""
    prefix = b"" if event_id is None else b"id: %b\n" % event_id.encode()
    return b"%bevent: message\ndata: %b\n\n" % (prefix, flat(data))


# Keeps intermediaries from closing a quiet stream; clients must ignore comments.
KEEP_ALIVE = b":\n\n"
