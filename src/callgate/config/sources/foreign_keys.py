"""The words of other clients' entries, and what becomes of each.

From the documentation of Claude Desktop and Claude Code, Cursor, VS Code, Windsurf, Cline, Roo Code, Zed,
Gemini CLI, Codex, Continue, LM Studio, Amazon Q, Goose, Copilot CLI and opencode. What is read is in
`adopt_entry`.
"""

from collections.abc import Mapping

# Another word for one of ours.
RENAMED: Mapping[str, str] = {
    "serverUrl": "url",  # Windsurf
    "httpUrl": "url",  # Gemini CLI
    "uri": "url",  # Goose
    "cmd": "command",  # Goose
    "environment": "env",  # opencode
    "envs": "env",  # Goose
    "http_headers": "headers",  # Codex
    "transportType": "type",  # Cline, Amazon Q
}
# Which of its tools a client was shown.
ONLY = ("includeTools", "enabled_tools", "enabledTools", "available_tools")
LEFT_OUT = ("excludeTools", "disabled_tools", "disabledTools")
# False means disabled.
ENABLED = ("enabled", "isActive")
# Names of variables that are passed to the program.
FORWARDED = ("env_vars", "env_keys")

TYPES: Mapping[str, str] = {
    "local": "stdio",
    "remote": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
}

_TIME = "Clients count it in seconds or in milliseconds. Write timeout_s, in seconds"
_CONSENT = ""
# Known words that mean nothing here, with what to write instead where that matters.
IGNORED: Mapping[str, str] = {
    "timeout": _TIME,
    "networkTimeout": _TIME,
    "initTimeout": _TIME,
    "connectionTimeout": _TIME,
    "tool_timeout_sec": "Write timeout_s",
    "startup_timeout_sec": "",
    "startup_timeout_ms": "",
    "envFile": "Write its variables under env: ${NAME} takes one from the environment",
    "headersHelper": "Write what it prints under headers",
    "http_headers_helper": "Write what it prints under headers",
    "oauth": "Callgate does not log in. Write a token under headers",
    "auth": "Callgate does not log in. Write a token under headers",
    "auth_provider_type": "Callgate does not log in. Write a token under headers",
    "authProviderType": "Callgate does not log in. Write a token under headers",
    "oauth_resource": "",
    "scopes": "",
    "targetAudience": "",
    "targetServiceAccount": "",
    "sandbox": "The program is started without it",
    "sandboxEnabled": "The program is started without it",
    "autoApprove": _CONSENT,
    "alwaysAllow": _CONSENT,
    "trust": _CONSENT,
    "alwaysLoad": "",
    "default_tools_approval_mode": _CONSENT,
    "required": "",
    "gallery": "",
    "version": "",
    "dev": "",
    "watchPaths": "",
    "source": "",
    "settings": "",
    "name": "",
    "id": "",
    "description": "",
    "displayName": "",
    "serverName": "",
    "icon": "",
    "faviconUrl": "",
    "sourceFile": "",
    "extension": "",
    "extensionName": "",
    "remoteConfigured": "",
    "metadata": "",
    "requestOptions": "Only its headers are read",
    "bundled": "",
    "registryUrl": "",
    "provider": "",
    "tags": "",
    "experimental_environment": "",
    "withCredentials": "",
    "error": "",
}
