"""What the head of a request says about its framing, and what of that is not taken.

Pure. One framing only: a length, or chunks and nothing else (RFC 9112, 6). What a proxy in front of us could
read in another way is refused.
"""

from collections.abc import Mapping

from callgate.model.error_codes import CALLER_HTTP_VERSION, CALLER_MALFORMED, CALLER_TRANSFER_CODING
from callgate.model.errors import CallerError
from callgate.wire.http_rules import SINGLE_HEADERS


def check_version(version: str, method: bytes) -> None:
    if method == b"CONNECT":
        raise CallerError(CALLER_MALFORMED, "CONNECT is not supported")
    if version not in ("1.1", "1.0"):
        raise CallerError(CALLER_HTTP_VERSION, f"HTTP/{version} is not supported; use HTTP/1.1")


def by_name(headers: list[tuple[str, str]]) -> Mapping[str, str]:
    """Those that decide something may come once, others are joined as HTTP says."""
    if len(each := dict(headers)) == len(headers):
        return each
    merged: dict[str, str] = {}
    for name, value in headers:
        if name not in merged:
            merged[name] = value
        elif name in SINGLE_HEADERS:
            raise CallerError(CALLER_MALFORMED, f"The header {name} came twice")
        else:
            merged[name] += f", {value}"
    return merged


def body_length(fields: Mapping[str, str], version: str) -> int:
    """The length of the body, as far as the head tells it."""
    coding = fields.get("transfer-encoding")
    if coding is not None:
        if version == "1.0":
            raise CallerError(CALLER_MALFORMED, "HTTP/1.0 has no Transfer-Encoding")
        if coding.lower() != "chunked":
            raise CallerError(
                CALLER_TRANSFER_CODING, f"Transfer-Encoding {coding[:40]!r} is not supported; use chunked"
            )
    length = fields.get("content-length", "")
    # The parser has read it: digits, and not more than 64 bits.
    return int(length) if length.isdigit() else 0
