"""What an HTTP refusal says in its body, as one short line that may be shown.

A server may answer with whatever we sent it: see `hide_secrets`. Pure.
"""

import html
import re
from typing import Any, cast

import msgspec

from callgate.model.wording import clip
from callgate.upstreams.hide_secrets import Hide, held_in_address, hider
from callgate.upstreams.http.address import HttpSettings
from callgate.upstreams.http.exchange import RawHeaders, media_type_of
from callgate.wire.json_rpc import NOT_READABLE

MAX_SHOWN_CHARS = 300
# What is looked through for the line: an error page may be of any length.
MAX_READ_BYTES = 16 * 1024
_TEXT_TYPES = (b"text/", b"application/json", b"application/problem+json", b"application/xhtml")
_UNSEEN = re.compile(r"<(script|style|head)\b.*?(</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
# The members in which services say what is wrong, the most telling first.
_MEMBERS = ("error_description", "message", "detail", "error", "title")


def hider_of(settings: HttpSettings) -> Hide:
    return hider(held_in_address(settings.url, dict(settings.headers).values()), settings.redact)


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
