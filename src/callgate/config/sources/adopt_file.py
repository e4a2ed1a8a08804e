"""A file's tables as `callgate.toml` has them, whichever program's file it is.

Rules
1. A file with `version` as a whole number is ours, TOML or JSON: every key in it must be known.
2. A JSON file without it is another client's, and so is a TOML file with `[mcp_servers]` (Codex): only its
   MCP servers are read.
3. In both, servers may stand under any client's word for them. Their entries are read by `adopt_entry`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from callgate.config.problem import ConfigProblem, Loc, key_path
from callgate.config.raw_values import list_of, table_of
from callgate.config.sources.adopt_entry import adopt_entry

OURS = "mcpServers"
_TABLES = (OURS, "servers", "mcp_servers", "context_servers")
# VS Code's settings have `mcp.servers`, opencode has its servers in `mcp` itself.
_NESTED = "mcp"
_SILENT = frozenset({"$schema", "inputs", *_TABLES, _NESTED})
_MAX_NAMED = 12
_NOT_IN_VARIABLE = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Input:
    """What VS Code would ask the person for."""

    default: str | None = None
    description: str = ""


def variable_of_input(input_id: str) -> str:
    """The variable of the environment that is taken in its place."""
    return _NOT_IN_VARIABLE.sub("_", input_id).strip("_").upper()


@dataclass(slots=True)
class AdoptedFile:
    tables: dict[str, Any]
    is_foreign: bool = False
    inputs: dict[str, Input] = field(default_factory=dict[str, Input])
    written: dict[Loc, Loc] = field(default_factory=dict[Loc, Loc])  # where in the file a place of ours is
    notes: list[ConfigProblem] = field(default_factory=list[ConfigProblem])
    problems: list[ConfigProblem] = field(default_factory=list[ConfigProblem])


def adopt_file(tables: dict[str, Any], *, is_json: bool) -> AdoptedFile:
    version = tables.get("version")
    is_ours = type(version) is int or not (is_json or "mcp_servers" in tables)
    servers: dict[str, Any] = {}
    adopted = AdoptedFile(_rest(tables) if is_ours else {}, not is_ours, _inputs(tables.get("inputs")))
    found = False
    for place, entries in server_tables(tables):
        found = True
        if not isinstance(entries, dict):
            adopted.problems.append(
                ConfigProblem(key_path(place), "a table is expected", "Write [mcpServers.<name>].")
            )
            continue
        for name, raw in cast("dict[str, Any]", entries).items():
            _take(adopted, servers, (OURS, name), _place_of(place, name, tables), raw)
    if found:
        adopted.tables[OURS] = servers
    if adopted.is_foreign:
        _disable_excluded(servers, table_of(tables.get(_NESTED)))
        _tell_foreign(adopted, tables, found)
    return adopted


def _disable_excluded(servers: dict[str, Any], rules: dict[str, Any]) -> None:
    """Gemini CLI's `mcp = { allowed = […], excluded = […] }`: which of its servers it connects to."""
    allowed, excluded = list_of(rules.get("allowed")), list_of(rules.get("excluded"))
    for name, entry in servers.items():
        if isinstance(entry, dict) and (name in excluded or (allowed and name not in allowed)):
            entry["disabled"] = True


def _rest(tables: dict[str, Any]) -> dict[str, Any]:
    read = {key for place, _ in server_tables(tables) for key in place[:1]}
    return {key: value for key, value in tables.items() if key not in read and key != "inputs"}


def server_tables(tables: dict[str, Any]) -> Iterator[tuple[Loc, Any]]:
    for key in _TABLES:
        if key in tables:
            yield (key,), _by_name(tables[key])
    nested = table_of(tables.get(_NESTED))
    if isinstance(nested.get("servers"), dict):
        yield (_NESTED, "servers"), nested["servers"]
    elif entries := {name: raw for name, raw in nested.items() if _is_entry(table_of(raw))}:
        yield (_NESTED,), entries


def _is_entry(raw: dict[str, Any]) -> bool:
    return "command" in raw or "url" in raw


def _by_name(entries: Any) -> Any:
    """Continue writes a list of entries, each with its name."""
    items = list_of(entries)
    named = {table_of(item)["name"]: item for item in items if isinstance(table_of(item).get("name"), str)}
    return named if items and len(named) == len(items) else entries


def _place_of(place: Loc, name: str, tables: dict[str, Any]) -> Loc:
    for at, item in enumerate(list_of(tables.get(str(place[0])))):
        if item["name"] == name:
            return (*place, at)
    return (*place, name)


def _take(adopted: AdoptedFile, servers: dict[str, Any], ours: Loc, place: Loc, raw: Any) -> None:
    name = str(ours[-1])
    if name in servers:
        first = key_path(adopted.written.get(ours, ours))
        adopted.problems.append(
            ConfigProblem(
                key_path(place), f"this is the same name as {first}", "Keep one of the two, or rename one."
            )
        )
        return
    if place != ours:
        adopted.written[ours] = place
    if not isinstance(raw, dict):
        servers[name] = raw  # `parse` says so
        return
    entry = adopt_entry(cast("dict[str, Any]", raw), is_foreign=adopted.is_foreign)
    servers[name] = entry.table
    for key, written in entry.written.items():
        adopted.written[(*ours, *key.split(".", 1))] = (*place, written)
    if entry.ignored:
        adopted.notes.append(ConfigProblem(key_path(place), entry.note, " ".join(entry.advice)))


def _inputs(raw: Any) -> dict[str, Input]:
    inputs: dict[str, Input] = {}
    for one in map(table_of, list_of(raw)):
        default, about = one.get("default"), one.get("description")
        if isinstance(one.get("id"), str):
            inputs[one["id"]] = Input(
                default if isinstance(default, str) else None, about if isinstance(about, str) else ""
            )
    return inputs


def _tell_foreign(adopted: AdoptedFile, tables: dict[str, Any], found: bool) -> None:
    if not found:
        hint = (
            f"Looked for {', '.join(_TABLES)} and mcp. A file of Callgate's own says version = 1 at the top."
        )
        adopted.problems.append(ConfigProblem("the file", "it names no MCP servers", hint))
        return
    others = [key for key in tables if key not in _SILENT]
    if others:
        named = ", ".join(key_path((key,)) for key in others[:_MAX_NAMED])
        more = f" and {len(others) - _MAX_NAMED} more" if len(others) > _MAX_NAMED else ""
        hint = "Only its MCP servers are read, since it does not say version = 1."
        adopted.notes.append(
            ConfigProblem("the file", f"it belongs to another program; ignored: {named}{more}", hint)
        )
