"""What an HTTP answer that is no MCP answer means for the request.

Pure: status, headers and body in, an UpstreamError out. Of a body one line is shown (`refusal_text`), of a
redirect only the host: the rest may hold what was sent. A server may answer with whatever we sent it: see
`hide_secrets`.
"""

import html
import re
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from callgate.http_client.exchange import RawHeaders, header_of, media_type_of
from callgate.model.error_codes import (
    UPSTREAM_FAILED,
    UPSTREAM_SESSION_LOST,
    UPSTREAM_TOO_LARGE,
    UPSTREAM_UNAUTHORIZED,
    UPSTREAM_UNAVAILABLE,
)
from callgate.model.errors import UpstreamError
from callgate.model.wording import clip
from callgate.upstreams.hide_secrets import Hide
from callgate.wire.framing.lines import MAX_FRAME_BYTES
from callgate.wire.json_rpc import NOT_READABLE, read_if_readable

MAX_SHOWN_CHARS = 300
# What is looked through for the line: an error page may be of any length.
MAX_READ_BYTES = 16 * 1024
_TEXT_TYPES = (b"text/", b"application/json", b"application/problem+json", b"application/xhtml")
_UNSEEN = re.compile(r"<(script|style|head)\b.*?(</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
# The members in which services say what is wrong, the most telling first.
_MEMBERS = ("error_description", "message", "detail", "error", "title")
# The server, or a proxy in front of it, says itself that this will pass.
_PASSING = frozenset({429, 502, 503, 504})


class _Error(msgspec.Struct):
    message: str = ""


class _Answer(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()


class _Fault(msgspec.Struct):
    error: _Error


_answer_decoder = msgspec.json.Decoder(_Answer)
_fault_decoder = msgspec.json.Decoder(_Fault)


def is_answer_to(frame: bytes, rpc_id: int) -> bool:
    answer = read_if_readable(_answer_decoder, frame)
    return answer is not None and bytes(answer.id) == b"%d" % rpc_id and not bytes(answer.method)


class Refusal:
    """An answer that is not the stream that was asked for: its body is read, for what it says."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: RawHeaders) -> None:
        self.status = status
        self.headers = headers
        self.body = b""

    @property
    def is_whole(self) -> bool:
        """Nothing more is worth waiting for; only an error's body is told."""
        return self.status < 400 or len(self.body) >= MAX_READ_BYTES

    def read(self, data: bytes) -> bool:
        """Whether that is enough."""
        self.body += data[: MAX_READ_BYTES - len(self.body)]
        return self.is_whole


def answer_fault(shown: str, status: int, headers: RawHeaders, body: bytes, hide: Hide) -> UpstreamError:
    """For an answer that does not hold the response. `shown` names the server; `hide`: its secrets."""
    if 300 <= status < 400:
        return _redirect(shown, status, headers)
    phrase = _phrase(status)
    message = refusal_text(headers, body, hide) if status >= 300 else _error_message(body, hide)
    if 200 <= status < 300 and not message:
        kind = media_type_of(headers).decode("latin-1")[:60] or "no content type"
        return UpstreamError(
            UPSTREAM_FAILED, f"{shown} answered {phrase} without a response to the request ({kind})"
        )
    told = f": {message}" if message else ""
    text, data = f"{shown} answered {phrase}{told}", {"status": status}
    if status in (401, 403):
        hint = "Check the headers of its entry in the configuration"
        return UpstreamError(UPSTREAM_UNAUTHORIZED, text, hint=hint, data=data)
    return UpstreamError(UPSTREAM_UNAVAILABLE if status in _PASSING else UPSTREAM_FAILED, text, data=data)


def refusal_text(headers: RawHeaders, body: bytes, hide: Hide) -> str:
    """Empty when it says nothing, or nothing that can be read."""
    kind = media_type_of(headers)
    if not body.strip() or (kind and not kind.startswith(_TEXT_TYPES)):
        return ""
    text = body[:MAX_READ_BYTES].decode("utf-8", "replace")
    told = _told_in_json(body) if body.lstrip()[:1] == b"{" else None
    if told is None and text.lstrip()[:1] == "<":
        text = html.unescape(_TAG.sub(" ", _UNSEEN.sub(" ", text)))
    text = hide(told if told is not None else text)
    printable = "".join(char if char.isprintable() else " " for char in text)
    return clip(" ".join(printable.split()), MAX_SHOWN_CHARS)


def _told_in_json(body: bytes) -> str | None:
    try:
        value: Any = msgspec.json.decode(body)
    except NOT_READABLE:
        return None
    for name in _MEMBERS:
        said: Any = value.get(name)
        if isinstance(said, dict):
            said = cast("dict[str, Any]", said).get("message")
        if isinstance(said, str) and said.strip():
            return said[:MAX_READ_BYTES]
    return None


def _redirect(shown: str, status: int, headers: RawHeaders) -> UpstreamError:
    location = (header_of(headers, b"location") or b"").decode("latin-1")
    try:
        host = urlsplit(location).netloc.rpartition("@")[2][:MAX_SHOWN_CHARS]
    except ValueError:
        host = ""
    where = f"to {host}" if host else "to another path of the same host"
    return UpstreamError(
        UPSTREAM_FAILED,
        f"{shown} redirects {where} ({status}); redirects are not followed",
        hint="Write the final address into the url of its entry",
    )


def _error_message(body: bytes, hide: Hide) -> str:
    fault = read_if_readable(_fault_decoder, body)
    return "" if fault is None else hide(fault.error.message)[:MAX_SHOWN_CHARS]


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def coded_fault(shown: str, headers: RawHeaders) -> UpstreamError | None:
    """We ask for no compression and undo none."""
    coding = header_of(headers, b"content-encoding")
    if coding is None or coding.strip().lower() in (b"", b"identity"):
        return None
    text = f"{shown} compressed its answer ({coding.decode('latin-1')[:40]}), which we did not accept"
    return UpstreamError(UPSTREAM_FAILED, text)


def too_large_fault(shown: str) -> UpstreamError:
    return UpstreamError(UPSTREAM_TOO_LARGE, f"{shown} sent a message of more than {MAX_FRAME_BYTES} bytes")


def session_lost_fault(shown: str) -> UpstreamError:
    return UpstreamError(UPSTREAM_SESSION_LOST, f"{shown} no longer knows our session")


def cut_stream_fault(shown: str) -> UpstreamError:
    return UpstreamError(UPSTREAM_UNAVAILABLE, f"{shown} ended its event stream without the response")
