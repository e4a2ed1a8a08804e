"""One MCP server as any client writes it, in the words of `[mcpServers.<name>]`.

Owns what other clients' words mean. Works on the raw table, before `${VAR}` is filled in. Must not judge
values: what is wrong with them `parse` and `cross_check` say, under the words that were written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from callgate.config.problem import key_path
from callgate.config.raw_values import list_of, table_of
from callgate.config.sources.foreign_keys import ENABLED, FORWARDED, IGNORED, LEFT_OUT, ONLY, RENAMED, TYPES
from callgate.config.specs.mcp_server import McpServerSpec
from callgate.config.specs.spec import known_keys

_OURS = frozenset(known_keys(McpServerSpec))
_OF_COMMAND = ("args", "env", "cwd")
_OF_URL = ("headers",)
# Of each kind so many are named in a note.
_MAX_NAMED = 12


@dataclass(slots=True)
class AdoptedEntry:
    table: dict[str, Any] = field(default_factory=dict[str, Any])
    written: dict[str, str] = field(default_factory=dict[str, str])  # our word: the one that was written
    ignored: list[str] = field(default_factory=list[str])
    advice: list[str] = field(default_factory=list[str])  # what to write instead

    def put(self, ours: str, value: Any, written: str) -> None:
        if ours not in self.table:
            self.table[ours] = value
            if ours != written:
                self.written[ours] = written

    def ignore(self, key: str, advice: str = "") -> None:
        self.ignored.append(key)
        if advice:
            self.advice.append(f"{key}: {advice}.")

    @property
    def note(self) -> str:
        named = ", ".join(key_path((key,)) for key in self.ignored[:_MAX_NAMED])
        more = len(self.ignored) - _MAX_NAMED
        return f"ignored: {named}" + (f" and {more} more" if more > 0 else "")


def adopt_entry(raw: Mapping[str, Any], *, is_foreign: bool) -> AdoptedEntry:
    """`is_foreign`: the whole file is another client's, so words that we do not know are its own."""
    adopted = AdoptedEntry()
    raw = _flattened(raw)
    theirs = {key for key, value in raw.items() if _is_theirs(key, value, is_foreign=is_foreign)}
    for key, value in raw.items():
        if key in _OURS and key != "tools" and key not in theirs:
            adopted.put(key, value, key)
    for key, value in raw.items():
        if key in RENAMED:
            adopted.put(RENAMED[key], value, key)
        elif key not in _OURS or key in theirs:
            _take_foreign(adopted, key, value, is_foreign=is_foreign)
    _take_tools(adopted, raw)
    _take_type(adopted)
    _take_command(adopted)
    _take_variables(adopted, raw)
    _drop_other_side(adopted, is_foreign=is_foreign)
    return adopted


def _is_theirs(key: str, value: Any, *, is_foreign: bool) -> bool:
    """Whether a word of ours means something else here: Gemini's `trust = true` asks its user nothing, and
    VS Code's `sandbox` is a table of its own."""
    return (key == "trust" and isinstance(value, bool)) or (key == "sandbox" and is_foreign)


def _flattened(raw: Mapping[str, Any]) -> dict[str, Any]:
    """`transport = { type, command, … }` (Cline) and `command = { path, args, env }` (Zed) as one table.

    JSON's null says that nothing is said.
    """
    flat = {key: value for key, value in raw.items() if value is not None}
    if isinstance(flat.get("transport"), dict):
        flat = {**table_of(flat.pop("transport")), **flat}
    if isinstance(flat.get("command"), dict):
        command = table_of(flat.pop("command"))
        flat = {**{("command" if key == "path" else key): value for key, value in command.items()}, **flat}
    if "headers" in (options := table_of(flat.get("requestOptions"))):  # Continue
        flat = {"headers": options["headers"], **flat}
    return {key: value for key, value in flat.items() if value is not None}


def _take_foreign(adopted: AdoptedEntry, key: str, value: Any, *, is_foreign: bool) -> None:
    if key in ENABLED and (isinstance(value, bool) or _is_no(value)):
        if not value or _is_no(value):
            adopted.table["disabled"] = True
            adopted.written["disabled"] = key
    elif key in (*ONLY, *LEFT_OUT, *FORWARDED, "bearer_token_env_var", "env_http_headers"):
        return  # read later, beside what it belongs to
    elif key in IGNORED:
        adopted.ignore(key, IGNORED[key])
    elif is_foreign or key.startswith(("_", "//", "#", "$")):
        adopted.ignore(key)
    else:
        adopted.table[key] = value  # nobody's word: `parse` says so


def _take_tools(adopted: AdoptedEntry, raw: Mapping[str, Any]) -> None:
    """`tools` is a table of ours, or a client's list of all that it was shown."""
    tools = raw.get("tools", {})
    made: dict[str, Any] = {} if isinstance(tools, list) else dict(table_of(tools))
    allowed = list_of(raw["tools"]) if isinstance(tools, list) else None
    for key in (key for key in ONLY if key in raw and allowed is None):
        allowed = _named(raw[key])
        adopted.written["tools"] = key
    for key in (key for key in LEFT_OUT if key in raw):
        made["leave_out"] = [*list_of(made.get("leave_out")), *_named(raw[key])]
        adopted.written["tools"] = key
    if allowed is not None and "*" not in allowed:
        # A client that is shown nothing is not shown all of it.
        made |= {"only": allowed} if allowed else {"leave_out": ["*"]}
    if not isinstance(tools, list | dict):
        adopted.table["tools"] = tools  # `parse` says so
    elif made:
        adopted.table["tools"] = made


def _named(value: Any) -> list[Any]:
    """One name may be written without a list; what is neither is for `parse` to refuse."""
    return list_of(value) or ([] if value == [] else [value])


def _is_no(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in {"false", "no", "off", "0"}


def _take_type(adopted: AdoptedEntry) -> None:
    for key in ("type", "transport"):
        said = adopted.table.get(key)
        if isinstance(said, str) and said in TYPES:
            adopted.table[key] = TYPES[said]
    # `httpUrl` is Streamable HTTP; Gemini CLI's `url` may be either.
    if adopted.written.get("url") == "httpUrl":
        adopted.put("type", "http", "httpUrl")


def _take_command(adopted: AdoptedEntry) -> None:
    table = adopted.table
    words = list_of(table.get("command"))
    if words and isinstance(table.get("args", []), list):
        table["command"], table["args"] = words[0], [*words[1:], *list_of(table.get("args"))]
    if isinstance(table.get("args"), list):
        table["args"] = [_as_text(arg) for arg in table["args"]]
    if isinstance(table.get("env"), dict):
        env = table_of(table["env"])
        table["env"] = {name: _as_text(value) for name, value in env.items() if value is not None}


def _as_text(value: Any) -> Any:
    """JSON's `"PORT": 80` and `true` are texts to a program."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _take_variables(adopted: AdoptedEntry, raw: Mapping[str, Any]) -> None:
    """What is named by its variable instead of written."""
    for key in FORWARDED:
        for name in list_of(raw.get(key)):
            if isinstance(name, str):
                _add(adopted, "env", name, f"${{{name}}}", key)
    bearer = raw.get("bearer_token_env_var")
    if isinstance(bearer, str):
        _add(adopted, "headers", "Authorization", f"Bearer ${{{bearer}}}", "bearer_token_env_var")
    for name, variable in table_of(raw.get("env_http_headers")).items():
        _add(adopted, "headers", name, f"${{{variable}}}", "env_http_headers")


def _add(adopted: AdoptedEntry, table: str, name: str, value: str, written: str) -> None:
    held = adopted.table.setdefault(table, dict[str, Any]())
    if isinstance(held, dict) and name not in held:
        held[name] = value
        adopted.written[f"{table}.{name}"] = written


def _drop_other_side(adopted: AdoptedEntry, *, is_foreign: bool) -> None:
    """Some clients write `env = {}` beside a url. In their own files what is not empty is ignored too."""
    table = adopted.table
    if ("url" in table) is ("command" in table):
        return
    for key in _OF_COMMAND if "url" in table else _OF_URL:
        if key in table and table[key] in ([], {}, ""):
            del table[key]
        elif key in table and is_foreign:
            del table[key]
            adopted.ignore(key, f"It cannot be used with {'url' if 'url' in table else 'command'}")
