"""Who called, in words for people: the first that is known."""

from collections.abc import Mapping

from callgate.model.envelope import Envelope

_MAX_CHARS = 200  # what a client says of itself is hostile input like everything else


def name_client(headers: Mapping[str, str], envelope: Envelope, peer: str | None) -> str:
    """An explicit client id, clientInfo, User-Agent, IP address, else "stdio"."""
    explicit = headers.get("x-callgate-client-id") or headers.get("x-dbhub-client-id")
    name = explicit or envelope.client_label or headers.get("user-agent") or peer or "stdio"
    return name[:_MAX_CHARS]
