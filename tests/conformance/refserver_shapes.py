"""The shapes that the reference server's answers are built of, and the seal on its `requestState`.

Plain dictionaries with wire names, so that nothing which the suite looks for is dropped by a typed model.
"""

import hashlib
import hmac
from typing import Any

import mcp_types as t
from mcp.shared.exceptions import MCPError

MODERN = "2026-07-28"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
KEY = b"refserver request state key"
STR = {"type": "string"}
BOOL = {"type": "boolean"}


def text(s: str) -> dict[str, Any]:
    return {"type": "text", "text": s}


def res(uri: str, mime: str, body: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": body}}


def ok(*content: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(content)}


def obj(props: dict[str, Any] | None = None, **kw: Any) -> dict[str, Any]:
    return {"type": "object", "properties": props or {}, **kw}


def elicit(message: str, **props: Any) -> dict[str, Any]:
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": obj(props, required=list(props))},
    }


def sample(prompt: str, n: int) -> dict[str, Any]:
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [{"role": "user", "content": text(prompt)}], "maxTokens": n},
    }


def need(requests: dict[str, Any], state: str | None = None) -> dict[str, Any]:
    out: dict[str, Any] = {"resultType": "input_required", "inputRequests": requests}
    if state is not None:
        out["requestState"] = seal(state)
    return out


def seal(s: str) -> str:
    return hmac.new(KEY, s.encode(), hashlib.sha256).hexdigest() + "." + s


def unseal(s: str | None) -> str | None:
    if s is None:
        return None
    mac, _, body = s.partition(".")
    if not hmac.compare_digest(mac, hmac.new(KEY, body.encode(), hashlib.sha256).hexdigest()):
        raise MCPError(t.INVALID_PARAMS, "requestState failed verification")
    return body


def answer(params: Any, key: str) -> dict[str, Any] | None:
    """The client's inputResponses[key] as a plain dict (wire names)."""
    v = ((params or {}).get("inputResponses") or {}).get(key)
    return v if isinstance(v, dict) else None


def fresh(ctx: Any) -> dict[str, Any]:
    return {"ttlMs": 0, "cacheScope": "public"} if ctx.protocol_version == MODERN else {}
