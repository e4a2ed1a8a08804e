"""What the directory keeps of a handshake session, so that another replica can go on with it. Pure.

A session whose envelope holds a secret is not written down: whoever reads the directory would have it.
"""

from collections.abc import Callable

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.session import Session
from callgate.ports.homes import AdoptedSession
from callgate.replicas.directory import HomeRow


class _Written(msgspec.Struct, frozen=True, array_like=True):
    """An envelope, target and workspace as the directory has them."""

    created_at: float
    target: str | None
    workspace: str | None
    revision: str
    client_name: str | None
    client_version: str | None
    client_info: str
    capabilities: str


def written_of(session: Session, redact: Callable[[bytes], bytes]) -> str | None:
    """None: it holds a secret."""
    envelope = session.envelope
    raw = msgspec.json.encode(
        _Written(
            session.created_at,
            session.target,
            session.workspace,
            envelope.revision,
            envelope.client_name,
            envelope.client_version,
            envelope.client_info.decode(errors="replace"),
            envelope.capabilities.decode(errors="replace"),
        )
    )
    # Each by itself too: what a name says of its value is seen in a document, not in a text.
    documents = [document for document in (raw, envelope.client_info, envelope.capabilities) if document]
    has_secret = any(redact(document) != document for document in documents)
    # PostgreSQL has no text with this character.
    return None if has_secret or b"\\u0000" in raw else raw.decode()


def read_row(row: HomeRow) -> AdoptedSession | None:
    try:
        written = msgspec.json.decode(row.envelope, type=_Written)
    except (msgspec.DecodeError, RecursionError):
        return None
    envelope = Envelope(
        Era.LEGACY,
        written.revision,
        written.client_name,
        written.client_version,
        written.client_info.encode(),
        written.capabilities.encode(),
    )
    return AdoptedSession(row.session_id, envelope, written.created_at, written.target, written.workspace)
