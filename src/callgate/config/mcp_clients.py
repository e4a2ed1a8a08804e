"""What each MCP client has to be told so that it uses this gateway: a text, its file, a command, a link.

The one source of it: the page asks for it over the API, `docs/connect.md` is written from it
(tests/docs/connect_page.py). The forms are those of the clients' own manuals. Must not know this machine.
"""

import base64
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, urlencode

NAME = "callgate"  # what the gateway is called in every client
TOKEN = "CALLGATE_TOKEN"  # noqa: S105  the variable, not a token
EVERYWHERE = "all systems"
PROJECT = "this project only"
_HEADER = "Authorization"


@dataclass(frozen=True, slots=True)
class Door:
    """How a client reaches the gateway."""

    url: str  # of the MCP endpoint
    needs_token: bool = False
    program: str = NAME  # what starts `callgate`, for clients that start their servers
    arguments: tuple[str, ...] = ("stdio",)  # of it


@dataclass(frozen=True, slots=True)
class ClientFile:
    system: str
    path: str


@dataclass(frozen=True, slots=True)
class McpClient:
    key: str
    title: str
    calls_itself: tuple[str, ...]  # how the name that it sends begins, in small letters
    files: tuple[ClientFile, ...]
    syntax: Literal["json", "toml", "yaml"]
    transport: Literal["http", "stdio"]
    entry: Callable[[Door], str]  # the text for a file that holds nothing else
    command: Callable[[Door], str] | None = None  # does the same, in a shell
    link: Callable[[Door], str] | None = None  # opens the client, which asks whether to add it
    note: str = ""


def _files(linux: str, macos: str, windows: str) -> tuple[ClientFile, ...]:
    return ClientFile("Linux", linux), ClientFile("macOS", macos), ClientFile("Windows", windows)


def _everywhere(path: str, project: str = "") -> tuple[ClientFile, ...]:
    return (ClientFile(EVERYWHERE, path), *([ClientFile(PROJECT, project)] if project else []))


def _json(key: str, entry: dict[str, Any]) -> str:
    return json.dumps({key: {NAME: entry}}, indent=2)


def _with_token(door: Door, entry: dict[str, Any], placeholder: str) -> dict[str, Any]:
    """The client itself puts the token in: none of these texts holds one."""
    return entry | {"headers": {_HEADER: f"Bearer {placeholder}"}} if door.needs_token else entry


def _header_option(door: Door) -> str:
    """The shell reads the token, and says so if there is none."""
    return f' --header "{_HEADER}: Bearer ${{{TOKEN}:?is not set to your token}}"' if door.needs_token else ""


def _claude_code(door: Door) -> str:
    return _json("mcpServers", _with_token(door, {"type": "http", "url": door.url}, f"${{{TOKEN}}}"))


def claude_code_command(door: Door) -> str:
    """As a shell takes it."""
    return f"claude mcp add --transport http {NAME} {shlex.quote(door.url)}{_header_option(door)}"


def _claude_desktop(door: Door) -> str:
    return _json("mcpServers", {"command": door.program, "args": list(door.arguments)})


def _cursor_server(door: Door) -> dict[str, Any]:
    return _with_token(door, {"url": door.url}, f"${{env:{TOKEN}}}")


def _cursor(door: Door) -> str:
    return _json("mcpServers", _cursor_server(door))


def _cursor_link(door: Door) -> str:
    config = base64.b64encode(json.dumps(_cursor_server(door)).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?{urlencode({'name': NAME, 'config': config})}"


_INPUT = {
    "id": "callgate-token",
    "type": "promptString",
    "description": "Token of Callgate",
    "password": True,
}


def _vscode_server(door: Door) -> dict[str, Any]:
    return _with_token(door, {"type": "http", "url": door.url}, f"${{input:{_INPUT['id']}}}")


def _vscode(door: Door) -> str:
    servers: dict[str, Any] = {"servers": {NAME: _vscode_server(door)}}
    return json.dumps(servers | ({"inputs": [_INPUT]} if door.needs_token else {}), indent=2)


def _vscode_whole(door: Door) -> str:
    inputs = {"inputs": [_INPUT]} if door.needs_token else {}
    return json.dumps({"name": NAME} | _vscode_server(door) | inputs, separators=(",", ":"))


def _vscode_link(door: Door) -> str:
    return f"vscode:mcp/install?{quote(_vscode_whole(door), safe='')}"


def _vscode_command(door: Door) -> str:
    return f"code --add-mcp {shlex.quote(_vscode_whole(door))}"


def _windsurf(door: Door) -> str:
    return _json("mcpServers", _with_token(door, {"serverUrl": door.url}, f"${{env:{TOKEN}}}"))


def _codex(door: Door) -> str:
    lines = [f"[mcp_servers.{NAME}]", f"url = {json.dumps(door.url)}"]
    return "\n".join(lines + ([f'bearer_token_env_var = "{TOKEN}"'] if door.needs_token else []))


def _codex_command(door: Door) -> str:
    token = f" --bearer-token-env-var {TOKEN}" if door.needs_token else ""
    return f"codex mcp add {NAME} --url {shlex.quote(door.url)}{token}"


def _gemini(door: Door) -> str:
    return _json("mcpServers", _with_token(door, {"httpUrl": door.url}, f"${TOKEN}"))


def _gemini_command(door: Door) -> str:
    return f"gemini mcp add --transport http {NAME} {shlex.quote(door.url)}{_header_option(door)}"


def _opencode(door: Door) -> str:
    server = _with_token(door, {"type": "remote", "url": door.url}, f"{{env:{TOKEN}}}")
    return json.dumps({"mcp": {"servers": {NAME: server}}}, indent=2)


def _goose(door: Door) -> str:
    lines = ["extensions:", f"  {NAME}:", f"    name: {NAME}", "    type: streamable_http"]
    lines += [f"    uri: {json.dumps(door.url)}", "    enabled: true", "    timeout: 300"]
    if door.needs_token:
        lines += ["    env_keys:", f"      - {TOKEN}"]
        lines += ["    headers:", f'      {_HEADER}: "Bearer ${{{TOKEN}}}"']
    return "\n".join(lines)


def _goose_link(door: Door) -> str:
    about = {"url": door.url, "type": "streamable_http", "id": NAME, "name": "Callgate"}
    about["description"] = "Databases and MCP servers behind one endpoint"
    if door.needs_token:
        about["header"] = f"{_HEADER}=Bearer ${{{TOKEN}}}"
    return f"goose://extension?{urlencode(about, quote_via=quote, safe='')}"


def _zed(door: Door) -> str:
    return _json("context_servers", {"command": door.program, "args": list(door.arguments)})


CLIENTS = (
    McpClient(
        "claude-code",
        "Claude Code",
        ("claude-code",),
        _everywhere("~/.claude.json", ".mcp.json"),
        "json",
        "http",
        _claude_code,
        command=claude_code_command,
        note="It replaces ${VARIABLES} only in .mcp.json. For all projects, use the command.",
    ),
    McpClient(
        "claude-desktop",
        "Claude Desktop",
        ("claude-ai", "claude-desktop"),
        _files(
            "~/.config/Claude/claude_desktop_config.json",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
            r"%APPDATA%\Claude\claude_desktop_config.json",
        ),
        "json",
        "stdio",
        _claude_desktop,
        note="Its file takes no address: an entry with url is skipped in silence. Settings, Developer, Edit "
        "Config opens the file. Restart it afterwards.",
    ),
    McpClient(
        "cursor",
        "Cursor",
        ("cursor",),
        _everywhere("~/.cursor/mcp.json", ".cursor/mcp.json"),
        "json",
        "http",
        _cursor,
        link=_cursor_link,
    ),
    McpClient(
        "vscode",
        "VS Code",
        ("visual studio code", "visual-studio-code", "vscode"),
        (
            *_files(
                "~/.config/Code/User/mcp.json",
                "~/Library/Application Support/Code/User/mcp.json",
                r"%APPDATA%\Code\User\mcp.json",
            ),
            ClientFile(PROJECT, ".vscode/mcp.json"),
        ),
        "json",
        "http",
        _vscode,
        command=_vscode_command,
        link=_vscode_link,
    ),
    McpClient(
        "windsurf",
        "Windsurf",
        ("windsurf",),
        _everywhere("~/.codeium/windsurf/mcp_config.json"),
        "json",
        "http",
        _windsurf,
    ),
    McpClient(
        "codex",
        "Codex",
        ("codex",),
        _everywhere("~/.codex/config.toml"),
        "toml",
        "http",
        _codex,
        command=_codex_command,
    ),
    McpClient(
        "gemini-cli",
        "Gemini CLI",
        ("gemini-cli",),
        _everywhere("~/.gemini/settings.json", ".gemini/settings.json"),
        "json",
        "http",
        _gemini,
        command=_gemini_command,
        note="The key is httpUrl; url would mean the older SSE transport.",
    ),
    McpClient(
        "opencode",
        "OpenCode",
        ("opencode",),
        _everywhere("~/.config/opencode/opencode.json", "opencode.json"),
        "json",
        "http",
        _opencode,
        note="If there is an opencode.jsonc, write into that one: it hides opencode.json. OpenCode 1 has no "
        "level servers: there the entry stands directly under mcp.",
    ),
    McpClient(
        "goose",
        "Goose",
        ("goose",),
        (
            ClientFile("Linux, macOS", "~/.config/goose/config.yaml"),
            ClientFile("Windows", r"%APPDATA%\Block\goose\config\config.yaml"),
        ),
        "yaml",
        "http",
        _goose,
        link=_goose_link,
    ),
    McpClient(
        "zed",
        "Zed",
        ("zed",),
        (
            ClientFile("Linux, macOS", "~/.config/zed/settings.json"),
            ClientFile("Windows", r"%APPDATA%\Zed\settings.json"),
        ),
        "json",
        "stdio",
        _zed,
    ),
)
