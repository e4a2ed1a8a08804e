"""Where a client's file is on this machine, and what stands in it for us.

The forms of entries are those of `mcp_clients`; here they get a token and a place in a file that holds more.

Rules
1. A token is written only into a file of the person's own. Files of a project are shared, so they name a
   variable or an input; VS Code and Codex take theirs that way in every file.
2. A client that starts its servers gets the token in the environment of our process.
"""

import json
import sys
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from callgate.config.mcp_clients import CLIENTS, EVERYWHERE, NAME, PROJECT, TOKEN, Door, McpClient
from callgate.config.raw_values import list_of, table_of
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean

_SYSTEMS = {"darwin": "macOS", "win32": "Windows"}
_BY_NAME = ("vscode", "codex")  # they do not take a token as it is, or should not
_HIDES = ("opencode", "opencode.jsonc")  # OpenCode reads this one, if it is there


@dataclass(frozen=True, slots=True)
class ClientEntry:
    """What is written into a client's file."""

    loc: tuple[str, ...]
    value: dict[str, Any] = field(repr=False)
    inputs: tuple[dict[str, Any], ...] = ()  # what VS Code asks the person for
    has_token: bool = True  # else the person puts it where the entry says


def find_client(key: str) -> McpClient:
    """Raises CallerError."""
    known = {client.key: client for client in CLIENTS}
    if key not in known:
        hint = did_you_mean(key, known) or f"There are: {', '.join(known)}"
        raise CallerError(CALLER_BAD_ARGUMENTS, f"There is no client {key[:40]!r}", hint=hint)
    return known[key]


def client_paths(client: McpClient, project: Path | None = None) -> list[Path]:
    """Its file on this machine, or of this project; the one that counts first. They need not exist."""
    system = _SYSTEMS.get(sys.platform, "Linux")
    paths = [
        project / file.path if project is not None else Path(file.path).expanduser()
        for file in client.files
        if (file.system == PROJECT) is (project is not None)
        and (project is not None or file.system == EVERYWHERE or system in file.system)
    ]
    if client.key == _HIDES[0]:
        paths = [path.with_name(_HIDES[1]) for path in paths] + paths
    return paths


def choose_path(client: McpClient, project: Path | None) -> Path:
    """Raises CallerError."""
    paths = client_paths(client, project)
    if not paths:
        where = "for a project" if project is not None else "on this system"
        raise CallerError(CALLER_BAD_ARGUMENTS, f"{client.title} has no file {where}")
    return next((path for path in paths if path.exists()), paths[-1])


def entry_for(
    client: McpClient, door: Door, token: str, tree: dict[str, Any], *, is_shared: bool
) -> ClientEntry:
    """`tree`: what its file holds. `is_shared`: it is a project's."""
    text = client.entry(replace(door, needs_token=True))
    whole: dict[str, Any] = tomllib.loads(text) if client.syntax == "toml" else json.loads(text)
    inputs = tuple(list_of(whole.pop("inputs", [])))
    loc: tuple[str, ...] = ()
    value = whole
    while loc[-1:] != (NAME,):
        key = next(iter(value))
        loc, value = (*loc, key), table_of(value[key])
    if client.key == "opencode" and not _has_level(tree):
        loc = ("mcp", NAME)
    has_token = not is_shared and client.key not in _BY_NAME
    if client.transport == "stdio":
        value = {**value, "env": {TOKEN: token}}
    elif has_token:
        value = {**value, "headers": {"Authorization": f"Bearer {token}"}}
    return ClientEntry(loc, value, inputs, has_token)


def _has_level(tree: dict[str, Any]) -> bool:
    """OpenCode 1 has its servers directly under `mcp`; later ones under `mcp.servers`."""
    servers = table_of(tree.get("mcp"))
    return not servers or isinstance(servers.get("servers"), dict)
