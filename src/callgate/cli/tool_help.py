"""What a tool does and which arguments it takes, as its definition says, for the terminal."""

import json
from typing import Any, cast

from callgate.cli.terminal import print_text
from callgate.model.terminal_text import one_safe_line
from callgate.model.wording import clip

_Json = dict[str, Any]
_MAX_CHOICES_CHARS = 200
_HINTS = {
    "readOnlyHint": "only reads",
    "destructiveHint": "may destroy",
    "idempotentHint": "the same when called again",
    "openWorldHint": "reaches outside",
}


def print_tool(tool: _Json) -> None:
    """Everything in it is somebody's text, and may be of any shape."""
    schema = _table(tool.get("inputSchema"))
    properties = {name: _table(value) for name, value in _table(schema.get("properties")).items()}
    required = [name for name in properties if name in _list(schema.get("required"))]
    lines = [one_safe_line(str(tool.get("name"))), ""]
    lines += [*str(tool.get("description") or tool.get("title") or "").strip().splitlines(), ""]
    annotations = _table(tool.get("annotations"))
    said = [words for hint, words in _HINTS.items() if annotations.get(hint) is True]
    if said:
        lines += [f"It says of itself: {', '.join(said)}.", ""]
    if not properties:
        lines.append("It takes no arguments.")
    else:
        lines.append("Arguments:")
    for name in sorted(properties, key=lambda name: name not in required):
        lines += _argument(name, properties[name], is_required=name in required)
    lines += ["", _usage(str(tool.get("name")), properties, required)]
    print_text("\n".join(lines))


def _argument(name: str, about: _Json, *, is_required: bool) -> list[str]:
    kind = about.get("type")
    words = [str(kind) if isinstance(kind, str) else " or ".join(map(str, _list(kind))) or "any value"]
    words.append("required" if is_required else "optional")
    if "default" in about:
        words.append(f"default {json.dumps(about['default'], ensure_ascii=False)}")
    lines = [one_safe_line(f"  {name}  ({', '.join(words)})")]
    choices = _list(about.get("enum"))
    if choices:
        told = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
        lines.append(one_safe_line(f"      one of {clip(told, _MAX_CHOICES_CHARS)}"))
    told = map(str.strip, str(about.get("description") or "").splitlines())
    return lines + [f"      {one_safe_line(line)}" for line in told if line]


def _usage(name: str, properties: _Json, required: list[str]) -> str:
    shown = required or list(properties)[:1]
    values = (
        f"{key}=…" if properties[key].get("type") in ("string", None) else f"{key}:=JSON" for key in shown
    )
    return one_safe_line(" ".join(["callgate call", name, *values]))


def _table(value: object) -> _Json:
    return cast(_Json, value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
