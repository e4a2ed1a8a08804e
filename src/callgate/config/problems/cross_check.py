"""What no single table can say: names that clash or lead nowhere, an open door without a token.

Works on the draft, not on specs, so that these mistakes are reported beside a table's own. Whatever is
already broken or of the wrong type is passed over: `interpolate` and `parse` have spoken about it.
"""

from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, cast

from callgate.config.draft import Draft
from callgate.config.problem import ConfigProblem, Loc, key_path, shown
from callgate.config.problems.check_tokens import check_tokens, listens_on_loopback
from callgate.config.raw_values import table_of
from callgate.config.specs.field_types import WORKSPACE
from callgate.config.specs.mcp_server import McpServerSpec
from callgate.config.specs.record_store import DUCKDB, POSTGRES
from callgate.config.specs.spec import known_keys
from callgate.model.near_miss import did_you_mean, nearest
from callgate.model.wording import install_extra

OFFERED_RECORD = "record"  # as `sql.record` names what it offers
_URL_KEYS = ("headers",)
_COMMAND_KEYS = ("args", "env", "cwd", "sandbox")


def cross_check(draft: Draft, environment_ids: Mapping[str, str]) -> list[ConfigProblem]:
    """`environment_ids`: sources the environment makes, by the variable that names them."""
    return [
        *check_tokens(draft),
        *_check_source_ids(draft),
        *_check_server_names(draft, environment_ids),
        *_check_tools(draft, environment_ids),
        *_check_offered_record(draft, environment_ids),
        *_check_replicas(draft),
        *_check_sandboxes(draft),
    ]


def _source_ids(draft: Draft) -> Iterator[tuple[Loc, str]]:
    for at, source in draft.tables("sources"):
        loc: Loc = ("sources", at, "id")
        if isinstance(source.get("id"), str) and not draft.is_broken(loc):
            yield loc, source["id"]


def _check_source_ids(draft: Draft) -> Iterator[ConfigProblem]:
    seen: dict[str, Loc] = {}
    for loc, source_id in _source_ids(draft):
        if source_id in seen:
            yield ConfigProblem(
                key_path(loc), f"this is the same as {key_path(seen[source_id])}", "Ids must be unique."
            )
        seen.setdefault(source_id, loc)


def _check_server_names(draft: Draft, environment_ids: Mapping[str, str]) -> Iterator[ConfigProblem]:
    taken = {source_id: key_path(loc) for loc, source_id in _source_ids(draft)} | dict(environment_ids)
    for name in draft.table("mcpServers"):
        if name in taken:
            hint = "Rename one: both would be offered under this name."
            yield ConfigProblem(
                draft.path_of(("mcpServers", name)), f"a source has this name too ({taken[name]})", hint
            )


def _check_tools(draft: Draft, environment_ids: Collection[str]) -> Iterator[ConfigProblem]:
    ids = [source_id for _, source_id in _source_ids(draft)]
    # A source without a readable id may be the one meant.
    raw_sources = draft.tree.get("sources", [])
    ids_are_complete = isinstance(raw_sources, list) and len(ids) == len(cast("list[Any]", raw_sources))
    known = [*ids, *environment_ids]
    seen: dict[tuple[str, str], int] = {}
    for at, tool in draft.tables("tools"):
        name, source = tool.get("name"), tool.get("source")
        loc: Loc = ("tools", at, "source")
        if isinstance(source, str) and not draft.is_broken(loc):
            if source not in known and ids_are_complete:
                hint = did_you_mean(source, known) or _list_of(known)
                name_of_it = (
                    "of that name" if loc in draft.substituted else shown(source, otherwise="of that name")
                )
                yield ConfigProblem(key_path(loc), f"there is no source {name_of_it}", hint)
            if isinstance(name, str) and not draft.is_broken(("tools", at, "name")):
                if (source, name) in seen:
                    first = seen[source, name]
                    yield ConfigProblem(
                        f"tools[{at}].name", f"tools[{first}] has this name on the same source"
                    )
                seen.setdefault((source, name), at)
        yield from _check_params(draft, at, tool.get("params"))


def _check_params(draft: Draft, at: int, params: object) -> Iterator[ConfigProblem]:
    kinds: dict[str, tuple[type, ...]] = {
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
    }
    for name, param in (cast("dict[str, Any]", params) if isinstance(params, dict) else {}).items():
        loc: Loc = ("tools", at, "params", name, "default")
        if not isinstance(param, dict) or "default" not in param or draft.is_broken(loc):
            continue
        table = cast("dict[str, Any]", param)
        default, kind = table["default"], str(table.get("type"))
        if table.get("required") is True:
            hint = "Leave out one of the two."
            yield ConfigProblem(
                key_path((*loc[:-1], "required")), "a required parameter cannot have a default", hint
            )
        # type(): a bool is an int in Python, but not in JSON. Lists and tables are `parse`'s to refuse.
        if (
            kind in kinds
            and isinstance(default, (bool, int, float, str))
            and type(default) not in kinds[kind]
        ):
            yield ConfigProblem(key_path(loc), f"the default does not fit the type {kind}")


def _check_offered_record(draft: Draft, environment_ids: Collection[str]) -> Iterator[ConfigProblem]:
    """`[record] offer` makes a source of its own."""
    section = draft.table("record")
    if not _is_on(section.get("offer", False)):
        return
    if not _is_on(section.get("enabled", True)):
        yield ConfigProblem(
            "record.offer", "nothing is recorded, so there is nothing to offer", "Set enabled = true."
        )
    taken = [key_path(loc) for loc, source_id in _source_ids(draft) if source_id == OFFERED_RECORD]
    taken += [
        draft.path_of(("mcpServers", name)) for name in draft.table("mcpServers") if name == OFFERED_RECORD
    ]
    taken += [name for name in environment_ids if name == OFFERED_RECORD]
    for place in taken:
        hint = "Rename it, or set [record] offer = false."
        yield ConfigProblem(place, f'the record is offered under the name "{OFFERED_RECORD}"', hint)


def _check_replicas(draft: Draft) -> Iterator[ConfigProblem]:
    """What several gateways need in common."""
    record, replicas = draft.table("record"), draft.table("replicas")
    store = record.get("store", DUCKDB)
    if not replicas:
        if store == POSTGRES:
            text = "this means the database of [replicas], and there is none"
            hint = 'Write store = "postgres://user:${PASSWORD}@host/database".'
            yield ConfigProblem(draft.path_of(("record", "store")), text, hint)
        return
    if "database" not in replicas:
        hint = 'Write database = "postgres://user:${PASSWORD}@host/database", or leave [replicas] out.'
        yield ConfigProblem("replicas.database", "this key is missing", hint)
    if find_spec("asyncpg") is None:
        text = "replicas need a driver for PostgreSQL that is not installed here"
        yield ConfigProblem("replicas", text, install_extra("postgres"))
    if "state_key" not in draft.table("server"):
        text = "replicas need a key that all of them have"
        yield ConfigProblem("server.state_key", text, 'Write state_key = "${CALLGATE_STATE_KEY}".')
    if store == DUCKDB and _is_on(record.get("enabled", True)):
        text = "files belong to one gateway; replicas keep their record in a database"
        hint = 'Write store = "postgres" under [record].'
        yield ConfigProblem(draft.path_of(("record", "store")), text, hint)


def _check_sandboxes(draft: Draft) -> Iterator[ConfigProblem]:
    """A confined program that reaches our own port is as free as whoever may change the configuration.
    `[principals]` do not help: on loopback it leaves the token out, and is `local`."""
    if draft.table("server").get("tokens", []) != [] or not listens_on_loopback(draft):
        return
    for name, raw in draft.table("mcpServers").items():
        sandbox = table_of(raw).get("sandbox", False)
        if not _is_on(sandbox) and not table_of(sandbox):
            continue
        if _is_on(table_of(sandbox).get("network", True)) and not _is_on(table_of(raw).get("disabled")):
            text = "with a network the program can reach this gateway, which asks for no token"
            hint = 'Write sandbox = { network = false }, or tokens = ["${CALLGATE_TOKEN}"] under [server].'
            yield ConfigProblem(draft.path_of(("mcpServers", name, "sandbox")), text, hint)


def _is_on(value: object) -> bool:
    """A variable's text counts as the file's true does."""
    return value is True or (isinstance(value, str) and value.lower() in ("true", "1", "yes", "on", "y", "t"))


def _list_of(known: Collection[str]) -> str:
    return f"Known sources: {', '.join(known)}." if known else "There are no sources."


def check_mcp_servers(draft: Draft) -> list[ConfigProblem]:
    """Which keys of an entry go together: `url` with headers, or `command` with args, env and cwd."""
    found: list[ConfigProblem] = []
    for name, raw in draft.table("mcpServers").items():
        if isinstance(raw, dict):
            found += _check(draft, name, cast("dict[str, Any]", raw))
    return found


def _check(draft: Draft, name: str, raw: dict[str, Any]) -> Iterator[ConfigProblem]:
    def path_of(*keys: str) -> str:
        return draft.path_of(("mcpServers", name, *keys))

    path = path_of()
    has_url, has_command = "url" in raw, "command" in raw
    if has_url and has_command:
        yield ConfigProblem(path, "url and command cannot be used together", "Keep one of the two.")
        return
    if not has_url and not has_command:
        known = known_keys(McpServerSpec)
        if any(nearest(key, known) in ("url", "command") for key in raw if key not in known):
            return  # `urll` is one mistake, and `parse` has spoken about it
        yield ConfigProblem(path, "url or command is missing", 'Write url = "https://…" or command = "…".')
        return
    for key in _COMMAND_KEYS if has_url else _URL_KEYS:
        if key in raw:
            what = "url" if has_url else "command"
            yield ConfigProblem(path_of(key), f"this key cannot be used with {what}", "Remove it.")
    if raw.get("cwd") == WORKSPACE and raw.get("isolation") == "shared":
        text = f'cwd = "{WORKSPACE}" gives each client a process of its own'
        yield ConfigProblem(path_of("isolation"), text, "Remove isolation.")
    said = {key: raw[key] for key in ("type", "transport") if isinstance(raw.get(key), str)}
    for key, kind in said.items():
        if kind in ("http", "sse") and has_command:
            yield ConfigProblem(path_of(key), "a command always uses stdio", f"Remove {key}.")
        if kind == "stdio" and has_url:
            yield ConfigProblem(path_of(key), "a url always uses HTTP", f"Remove {key}.")
    if len(set(said.values()) & {"http", "sse"}) == 2 and has_url:
        yield ConfigProblem(path_of("transport"), "type and transport disagree", "Keep one of the two.")
