"""What the HTTP headers of one MCP POST must say, and what they decide.

Pure: header values in, a decision or a CallerError out. (2026-07-28, basic/transports/streamable-http,
"Request Metadata" and "Server Validation"; 2025-11-25, basic/transports.)
"""

import base64
import re
from collections.abc import Mapping
from functools import lru_cache

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import (
    CALLER_HEADER_MISMATCH,
    CALLER_NOT_ACCEPTABLE,
    CALLER_WRONG_CONTENT_TYPE,
)
from callgate.model.errors import CallerError
from callgate.wire.eras.envelopes import is_modern
from callgate.wire.params import Peek, meta_of, named_in
from callgate.wire.revisions import LEGACY_REVISIONS

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
SESSION_HEADER = "mcp-session-id"

# First-copy and last-copy readers would disagree: two of one of these is refused.
SINGLE_HEADERS = frozenset(
    {VERSION_HEADER, METHOD_HEADER, NAME_HEADER, SESSION_HEADER, "host", "authorization"}
)

_B64_PREFIX, _B64_SUFFIX = "=?base64?", "?="
# Visible ASCII, with spaces and tabs only inside: white space at the ends would be trimmed on the way.
_PLAIN_VALUE = re.compile(r"[!-~]([\t -~]*[!-~])?")

Headers = Mapping[str, str]  # names in lower case


def choose_era(headers: Headers, peeked: Peek) -> Era:
    """The body's reserved member decides, then the version header; never `Mcp-Method`, which some legacy
    clients (mcp-remote) send too."""
    if peeked.meta and is_modern(meta_of(peeked)):
        return Era.MODERN
    version = headers.get(VERSION_HEADER)
    return Era.LEGACY if version is None or version in LEGACY_REVISIONS else Era.MODERN


def check_post_headers(headers: Headers) -> None:
    """Both eras: the body is JSON, and the client can read either kind of answer."""
    content_type = headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise CallerError(
            CALLER_WRONG_CONTENT_TYPE,
            f"Content-Type is {content_type[:100] or 'missing'}; MCP messages are application/json",
        )
    accept = headers.get("accept", "")
    if not (accepts(accept, "application/json") and accepts(accept, "text/event-stream")):
        raise CallerError(
            CALLER_NOT_ACCEPTABLE,
            "Accept must list both application/json and text/event-stream",
        )


@lru_cache(maxsize=256)  # a client sends the same line with every request
def prefers_stream(accept: str) -> bool:
    """Both kinds are accepted: the one named first is taken for the preferred one."""
    return accept.lstrip()[:17].lower() == "text/event-stream"


@lru_cache(maxsize=256)  # as above
def accepts(accept: str, wanted: str) -> bool:
    kind = wanted.partition("/")[0]
    offered = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return not offered.isdisjoint({wanted, f"{kind}/*", "*/*"})


def check_modern_headers(headers: Headers, method: str, peeked: Peek, envelope: Envelope) -> None:
    version = headers.get(VERSION_HEADER)
    if version != envelope.revision:
        raise _mismatch("MCP-Protocol-Version", version, envelope.revision)
    if headers.get(METHOD_HEADER) != method:
        raise _mismatch("Mcp-Method", headers.get(METHOD_HEADER), method)
    named = named_in(method, peeked)
    if named is not None and decode_header_value(headers.get(NAME_HEADER)) != named:
        raise _mismatch("Mcp-Name", headers.get(NAME_HEADER), named)


def decode_header_value(value: str | None) -> str | None:
    """Plain, or wrapped as =?base64?…?=; None for a broken wrapping, which must match nothing."""
    if value is None or not (value.startswith(_B64_PREFIX) and value.endswith(_B64_SUFFIX)):
        return value
    payload = value[len(_B64_PREFIX) : -len(_B64_SUFFIX)]
    try:
        decoded = base64.b64decode(payload, validate=True)
        text = decoded.decode()
    except ValueError:  # not base64, not ASCII, or not UTF-8
        return None
    # Two spellings of one value (loose trailing bits) would let a filter in front of us read another one.
    return text if base64.b64encode(decoded).decode() == payload else None


def encode_header_value(text: str) -> str:
    """The counterpart: plain where a header can carry it, else wrapped (2026-07-28, "Value Encoding")."""
    looks_wrapped = text.startswith(_B64_PREFIX) and text.endswith(_B64_SUFFIX)
    if _PLAIN_VALUE.fullmatch(text) and not looks_wrapped:
        return text
    payload = base64.b64encode(text.encode(errors="replace")).decode()
    return f"{_B64_PREFIX}{payload}{_B64_SUFFIX}"


def _mismatch(header: str, got: str | None, wanted: str) -> CallerError:
    said = "is missing" if got is None else f"says {got[:80]!r}"
    return CallerError(
        CALLER_HEADER_MISMATCH,
        f"Header mismatch: {header} {said}, the body says {wanted[:80]!r}",
        hint="Intermediaries route on the headers: they must repeat what the body says",
    )
