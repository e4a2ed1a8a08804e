"""Which keys of `[mcpServers.<name>]` go together: `url` with headers, or `command` with args, env and cwd.

Works on the draft for the same reason as `cross_check`.
"""

from collections.abc import Iterator
from typing import Any, cast

from callgate.config.draft import Draft
from callgate.config.problem import Problem
from callgate.config.specs.mcp_server import McpServerSpec
from callgate.config.specs.spec import known_keys
from callgate.model.near_miss import nearest

_URL_KEYS = ("headers",)
_COMMAND_KEYS = ("args", "env", "cwd")


def check_mcp_servers(draft: Draft) -> list[Problem]:
    found: list[Problem] = []
    for name, raw in draft.table("mcpServers").items():
        if isinstance(raw, dict):
            found += _check(draft, name, cast("dict[str, Any]", raw))
    return found


def _check(draft: Draft, name: str, raw: dict[str, Any]) -> Iterator[Problem]:
    def path_of(*keys: str) -> str:
        return draft.path_of(("mcpServers", name, *keys))

    path = path_of()
    has_url, has_command = "url" in raw, "command" in raw
    if has_url and has_command:
        yield Problem(path, "url and command cannot stand together", "Keep one of the two.")
        return
    if not has_url and not has_command:
        known = known_keys(McpServerSpec)
        if any(nearest(key, known) in ("url", "command") for key in raw if key not in known):
            return  # `urll` is one mistake, and `parse` has spoken about it
        yield Problem(path, "url or command is missing", 'Write url = "https://…" or command = "…".')
        return
    for key in _COMMAND_KEYS if has_url else _URL_KEYS:
        if key in raw:
            what = "url" if has_url else "command"
            yield Problem(path_of(key), f"this key does not go with {what}", "Remove it.")
    said = {key: raw[key] for key in ("type", "transport") if isinstance(raw.get(key), str)}
    for key, kind in said.items():
        if kind in ("http", "sse") and has_command:
            yield Problem(path_of(key), "a command is spoken to over stdio", f"Remove {key}.")
        if kind == "stdio" and has_url:
            yield Problem(path_of(key), "a url is spoken to over HTTP", f"Remove {key}.")
    if len(set(said.values()) & {"http", "sse"}) == 2 and has_url:
        yield Problem(path_of("transport"), "type and transport disagree", "Keep one of the two.")
