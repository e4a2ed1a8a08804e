"""The MCP servers of all clients on this machine, as entries of our own file.

Rules
1. An entry is taken in our words (`adopt_entry`). What means nothing here is kept (`_imported`): no key is
   lost.
2. We ourselves are left out. An entry that is there already is taken once; another one of the same name gets
   a name with its client's.
3. Reading changes nothing, and no value is told: what looks like a secret is moved or left, never shown.
4. `exec:`, `file:` and `secret:` are words of our file. In another client's they are text, and would start a
   program or read a file if they were copied: such an entry is left out.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, cast

from callgate.config.client_files import client_paths
from callgate.config.local_reach import leaves
from callgate.config.mcp_clients import NAME, McpClient
from callgate.config.raw_values import list_of, table_of
from callgate.config.read_toml import read_toml
from callgate.config.sources.adopt_entry import adopt_entry
from callgate.config.sources.adopt_file import OURS, Input, adopt_file, server_tables
from callgate.config.sources.file import JsonTextError, read_json_object
from callgate.config.sources.pasted_secrets import PastedSecret

_MAX_FILE_BYTES = 64 * 1024 * 1024
_MAX_DEPTH = 20  # what our file can hold
_KEPT = "_imported"
_INPUT = re.compile(r"\$\{input:([^}]+)\}")
_OUR_WORDS = re.compile(r"(?:exec|file|secret):|.*\$\{secret:", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FoundServer:
    name: str
    client: str
    path: Path
    entry: dict[str, Any] = field(repr=False)


@dataclass(slots=True)
class Import:
    servers: list[FoundServer] = field(default_factory=list[FoundServer])
    told: list[str] = field(default_factory=list[str])  # what was left out or renamed, and why
    inputs: dict[str, Input] = field(default_factory=dict[str, Input])


def find_servers(clients: Collection[McpClient], folder: Path, present: dict[str, Any]) -> Import:
    """`present`: the servers that our file has."""
    found = Import()
    seen: set[Path] = set()
    for client in clients:
        for path in (*client_paths(client), *client_paths(client, folder)):
            if path.is_file() and path.resolve() not in seen:
                seen.add(path.resolve())
                for one in _in_file(client, path, found):
                    _take(one, found, present)
    return found


def asked_inputs(entry: dict[str, Any]) -> list[tuple[PastedSecret, str]]:
    """The places of `env` and `headers` with one `${input:…}`, without a value yet, and the input of each."""
    return [
        (PastedSecret((table, key), "", "", text[: found.start()], text[found.end() :]), found[1])
        for table in ("env", "headers")
        for key, text in table_of(entry.get(table)).items()
        if isinstance(text, str) and len(marks := list(_INPUT.finditer(text))) == 1
        for found in marks
    ]


def with_values(entry: dict[str, Any], secrets: Iterable[PastedSecret]) -> dict[str, Any]:
    """The entry with the secrets in their places, as text that says nothing else."""
    filled: dict[str, Any] = deepcopy(entry)
    for secret in secrets:
        value = secret.value.replace("$", "$$")
        filled[str(secret.loc[0])][str(secret.loc[1])] = f"{secret.before}{value}{secret.after}"
    return filled


def inputs_of(entry: dict[str, Any]) -> set[str]:
    """The ids of all that VS Code would ask for."""
    texts = (value for _, value in leaves(entry) if isinstance(value, str))
    return {one for text in texts for one in _INPUT.findall(text)}


def _in_file(client: McpClient, path: Path, found: Import) -> Iterator[FoundServer]:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError  # noqa: TRY301 - told as the others are
        text = path.read_bytes().decode("utf-8-sig")
        if not text.strip():
            return
        tables = read_toml(text) if client.syntax == "toml" else read_json_object(text)
    except OSError as problem:
        found.told.append(f"{path} cannot be read ({problem.strerror})")
        return
    except JsonTextError as error:
        found.told.append(f"{path} is not read: {error.message}")
        return
    except ValueError:
        found.told.append(f"{path} is not read: it is not what {client.title} writes")
        return
    trees = [tables, *(table_of(one) for one in table_of(tables.get("projects")).values())]
    for tree in trees:
        # `version` as a number would say that the file is ours.
        adopted = adopt_file({key: one for key, one in tree.items() if key != "version"}, is_json=True)
        found.inputs |= adopted.inputs
        taken = table_of(adopted.tables.get(OURS))
        for _, entries in server_tables(tree):
            for name, raw in table_of(entries).items():
                if _is_deeper(raw, _MAX_DEPTH):
                    found.told.append(f"{name} of {client.key} is left out: it is nested too deeply")
                elif isinstance(raw, dict) and isinstance(taken.get(name), dict):
                    made = _entry(cast("dict[str, Any]", raw), table_of(taken[name]))
                    yield FoundServer(name, client.key, path, made)


def _is_deeper(value: Any, levels: int) -> bool:
    inner = (*table_of(value).values(), *list_of(value))
    return bool(inner) and (levels == 0 or any(_is_deeper(one, levels - 1) for one in inner))


def _entry(raw: dict[str, Any], taken: dict[str, Any]) -> dict[str, Any]:
    ignored = adopt_entry(raw, is_foreign=True).ignored
    kept = {key: _without_null(raw[key]) for key in ignored if raw.get(key) is not None}
    clean = {key: _without_null(value) for key, value in taken.items()}
    return {**clean, _KEPT: kept} if kept else clean


def _take(one: FoundServer, found: Import, present: dict[str, Any]) -> None:
    where = f"{one.name} of {one.client}"
    if _is_ourselves(one):
        found.told.append(f"{where} is Callgate itself")
        return
    if not ("url" in one.entry or "command" in one.entry):
        found.told.append(f"{where} has neither a url nor a command")
        return
    for table in ("env", "headers"):
        for key, text in table_of(one.entry.get(table)).items():
            if isinstance(text, str) and _OUR_WORDS.match(text):
                word = "secret:" if text[:5] not in ("exec:", "file:") else text[:5]
                found.told.append(f"{where} is left out: {table}.{key} has {word}, which would act here")
                return
    known = {server.name: server.entry for server in found.servers} | present
    alike = [entry for name, entry in known.items() if name in (one.name, f"{one.name}-{one.client}")]
    if any(_outline(table_of(entry)) == _outline(one.entry) for entry in alike):
        found.told.append(f"{where} is there already")
        return
    name = one.name
    numbered = (f"{one.name}-{one.client}" + (f"-{at}" if at else "") for at in range(len(known) + 1))
    if name in known:
        name = next(free for free in numbered if free not in known)
        found.told.append(f"{where} is called {name}: the name is taken by another")
    found.servers.append(FoundServer(name, one.client, one.path, one.entry))


def _outline(entry: dict[str, Any]) -> dict[str, Any]:
    """Without the values that may have been moved into secrets since."""
    return {
        key: sorted(table_of(value)) if key in ("env", "headers") else value for key, value in entry.items()
    }


def _is_ourselves(one: FoundServer) -> bool:
    program = PurePath(str(one.entry.get("command", ""))).name
    return one.name == NAME or (program == NAME and list_of(one.entry.get("args"))[:1] == ["stdio"])


def _without_null(value: Any) -> Any:
    """TOML has none, and JSON's says that nothing is said."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {key: _without_null(item) for key, item in table.items() if item is not None}
    if isinstance(value, list):
        return [_without_null(item) for item in cast("list[Any]", value) if item is not None]
    return value
