"""Files as clients write them, in many shapes, each with a planted secret."""

import json

PLANTED = "QZ7planted-by-the-test"
# Where each client's file is below the home folder, and under which keys it has its servers.
FILES = {
    "claude-code": (".claude.json", ("mcpServers",)),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", ("mcpServers",)),
    "cursor": (".cursor/mcp.json", ("mcpServers",)),
    "vscode": (".config/Code/User/mcp.json", ("servers",)),
    "windsurf": (".codeium/windsurf/mcp_config.json", ("mcpServers",)),
    "gemini-cli": (".gemini/settings.json", ("mcpServers",)),
    "opencode": (".config/opencode/opencode.jsonc", ("mcp",)),
    "zed": (".config/zed/settings.json", ("context_servers",)),
    "codex": (".codex/config.toml", ("mcp_servers",)),
}
_ENV = {"API_TOKEN": PLANTED}
# One entry as the client's manual has it, with all the words that it knows and one that nobody does.
ENTRIES: dict[str, dict[str, object]] = {
    "claude-code": {"type": "stdio", "command": "true", "args": ["-y"], "env": _ENV, "alwaysLoad": True},
    "claude-desktop": {"command": "true", "args": ["a b"], "env": _ENV},
    "cursor": {"command": "true", "env": _ENV, "envFile": ".env", "auth": {"CLIENT_ID": PLANTED}},
    "vscode": {"type": "stdio", "command": "true", "env": _ENV, "dev": {"watch": "*"}, "gallery": True},
    "windsurf": {"serverUrl": "http://127.0.0.1:9/", "headers": _ENV, "disabledTools": ["x"]},
    "gemini-cli": {"command": "true", "env": _ENV, "trust": True, "timeout": 5, "includeTools": ["a"]},
    "opencode": {"type": "local", "command": ["true", "-y"], "environment": _ENV, "enabled": False},
    "zed": {"source": "custom", "command": "true", "env": _ENV, "settings": {"a": [1]}},
    "codex": {"command": "true", "env": _ENV, "startup_timeout_sec": 3, "enabled_tools": ["a"]},
}
# What stands beside the servers.
_AROUND: dict[str, dict[str, object]] = {
    "claude-code": {
        "numStartups": 7,
        "projects": {
            "/home/me/shop": {"mcpServers": {"of-project": {"command": "true", "env": _ENV}}, "history": []},
            "/home/me/empty": {"mcpServers": {}, "allowedTools": [PLANTED]},
        },
    },
    "vscode": {"inputs": [{"id": "other", "type": "promptString", "password": True}]},
    "gemini-cli": {"theme": "dark", "mcp": {"excluded": ["odd"]}},
    "opencode": {"$schema": "https://opencode.ai/config.json", "model": "x"},
    "zed": {"theme": "One Dark", "vim_mode": False},
}


def shapes(client: str) -> dict[str, bytes]:
    return _toml_shapes() if client == "codex" else _json_shapes(client)


def _json_shapes(client: str) -> dict[str, bytes]:
    key = FILES[client][1][0]
    entry = {**ENTRIES[client], "odd": [1, {"deep": "x"}]}
    tree = {**_AROUND.get(client, {}), key: {"mine": entry, "odd": {"command": "true"}}, "last": 1.50}
    normal = json.dumps(tree, indent=2) + "\n"
    small = json.dumps(entry)
    texts = {
        "normal": normal,
        "empty": "",
        "blank": " \n\n",
        "empty object": "{}",
        "without servers": '{\n\t"a": 1\n}',
        "minified": json.dumps(tree, separators=(",", ":")),
        "comments": f'// "{key}": {{\n{{\n  "{key}": {{ // }}\n    "mine": {small}, /* , */\n  }},\n}}\n',
        "crlf": normal.replace("\n", "\r\n"),
        "bom": "\ufeff" + normal,
        "our own entry": json.dumps({key: {"callgate": {"url": "http://old/"}, "mine": entry}}),
        "a key twice elsewhere": f'{{"a": {{"b": 1, "b": 2}}, "a": 3, "{key}": {{"mine": {small}}}}}',
        "a server twice": f'{{"{key}": {{"mine": {small}, "mine": {small}}}}}',
        "deep": f'{{"deep": {"[" * 300}{"]" * 300}, "{key}": {{"mine": {small}}}}}',
        "10 MB": f'{{"history": {json.dumps([PLANTED] * 400_000)}, "{key}": {{"mine": {small}}}}}',
    }
    return {name: text.encode() for name, text in texts.items()}


def _toml_shapes() -> dict[str, bytes]:
    normal = (
        f'# mine\nmodel = "x"\n\n[mcp_servers.mine]\ncommand = "true"\nenv = {{ API_TOKEN = "{PLANTED}" }}\n'
        'startup_timeout_sec = 3\nenabled_tools = ["a"]\nodd = [1, { deep = "x" }]\n\n[tui]\nnotify = true\n'
    )
    texts = {
        "normal": normal,
        "empty": "",
        "comments": "# nothing yet\n",
        "crlf": normal.replace("\n", "\r\n"),
        "bom": "\ufeff" + normal,
        "our own entry": f'{normal}[mcp_servers.callgate]\nurl = "http://old/"\n',
        "inline": f'mcp_servers = {{ mine = {{ command = "true", env = {{ API_TOKEN = "{PLANTED}" }} }} }}\n',
        "deep": f"deep = {'[' * 100}{']' * 100}\n{normal}",
        "10 MB": f"history = {json.dumps([PLANTED] * 400_000)}\n{normal}",
    }
    return {name: text.encode() for name, text in texts.items()}
