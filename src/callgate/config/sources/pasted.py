"""What somebody pasted, as an entry of `callgate.toml`: an address, a command line, or a client's entry.

Owns which texts are understood, and what the entry is called. Pure: no file is read and nothing is started.
What an entry of a client means: `adopt_entry`. Must not judge values: `parse` and `cross_check` do.

Rules
1. One text, one entry. A text with several is refused, and their names are told.
2. No error repeats the text: there may be a password in it.
3. What looks like a secret is named (`Pasted.secrets`), so that it can be kept outside of the file.
"""

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal
from urllib.parse import urlsplit

from callgate.config.problem import key_path
from callgate.config.raw_values import list_of, table_of
from callgate.config.read_toml import read_toml
from callgate.config.sources.adopt_file import OURS, adopt_file
from callgate.config.sources.entry_ids import entry_ids, title_of
from callgate.config.sources.file import JsonTextError, read_json_object
from callgate.config.sources.pasted_command import (
    GENERIC_NAMES,
    CommandTextError,
    name_of_command,
    read_command,
)
from callgate.config.sources.pasted_secrets import PastedSecret, secrets_in
from callgate.config.specs.dsn import DsnError, parse_dsn
from callgate.model.data_files import SUFFIXES
from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError

# An entry with a certificate in it has some kilobytes.
MAX_PASTED_CHARS = 32 * 1024
_UNDERSTOOD = (
    "Paste a database address (postgres://…), the address of an MCP server (https://…), the command line "
    "that starts one (npx -y package), or a client's entry as JSON or TOML"
)
_FENCE = re.compile(r"```[\w-]*\n(.*?)\n?```", re.DOTALL)
_PROMPT = re.compile(r"[$%>] +")
_ADDRESS = re.compile(r"(?:jdbc:)?[A-Za-z][A-Za-z0-9+._-]*:(?://)?[^\s\"'{}]\S*")
_NAMED_OBJECT = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*\{')
_TOML_KEY = re.compile(r"""(?:\[{1,2}\s*["'\w]|["'\w][\w."' -]*=)""")
_FILE_ENGINES = {
    **dict.fromkeys((".db", ".db3", ".sqlite", ".sqlite3"), "sqlite"),
    **dict.fromkeys((".duckdb", ".ddb", *SUFFIXES), "duckdb"),
}
# Keys by which a table is one entry, and not a table of entries.
_ENTRY_KEYS = ("command", "url", "serverUrl", "httpUrl", "uri", "cmd", "dsn", "transport")
_MAX_NAMED = 12
_RECORD = "record"  # what the record is offered as


@dataclass(frozen=True, slots=True)
class Pasted:
    """One source or server that is not in the file yet."""

    kind: Literal["source", "server"]
    name: str  # an id that nothing else has
    # As the file would have it; of a source without its id.
    entry: dict[str, Any] = field(repr=False)
    secrets: tuple[PastedSecret, ...] = ()
    notes: tuple[str, ...] = ()  # what of it is ignored

    def written_at(self) -> tuple[str, ...]:
        """Its place in the file."""
        return ("sources" if self.kind == "source" else OURS, self.name)

    def renamed(self, name: str) -> "Pasted":
        secrets = tuple(secrets_in(self.kind, name, self.entry))
        return Pasted(self.kind, name, self.entry, secrets, self.notes)

    def tables(self) -> dict[str, Any]:
        """A file with nothing else in it."""
        if self.kind == "source":
            return {"version": 1, "sources": [{"id": self.name, **self.entry}]}
        return {"version": 1, OURS: {self.name: self.entry}}


@dataclass(frozen=True, slots=True)
class _Found:
    """Before it has an id."""

    kind: Literal["source", "server"]
    name: str
    entry: dict[str, Any]
    is_named: bool = True  # by the text, and not by us
    notes: tuple[str, ...] = ()


def read_pasted(text: str, taken: Collection[str] = (), folder: Path | None = None) -> Pasted:
    """`taken`: names of other entries. `folder`: what a relative path of a database file is relative to;
    None: it is left as it is. Raises CallerError."""
    if len(text) > MAX_PASTED_CHARS:
        raise _unclear(f"This text has more than {MAX_PASTED_CHARS // 1024} Ki characters")
    plain = _bare(text)
    if not plain or "\x00" in plain:
        raise _unclear("There is nothing in this text" if not plain else "There is a NUL in this text")
    found = _read(plain, folder)
    made = _free(entry_ids([found.name], taken)[found.name], {*taken, _RECORD})
    entry = dict(found.entry)
    if found.is_named and found.kind == "server" and made != found.name and "title" not in entry:
        entry["title"] = title_of(found.name) or made
    return Pasted(found.kind, made, entry, tuple(secrets_in(found.kind, made, entry)), found.notes)


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or the first of `name-2`, `name-3`, … that nothing else has."""
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def _bare(text: str) -> str:
    """Without the fence of Markdown, the prompt of a shell, and the byte order mark of an editor."""
    text = text.lstrip("\ufeff").strip()
    if (fenced := _FENCE.fullmatch(text)) is not None:
        text = fenced[1].strip()
    if "\n" not in text and len(text) > 2 and text[0] == text[-1] == "`":
        text = text[1:-1].strip()
    return _PROMPT.sub("", text, count=1) if _PROMPT.match(text) else text


def _read(text: str, folder: Path | None) -> _Found:
    if text.startswith(("{", "//", "/*")):
        return _from_json(text)
    if _NAMED_OBJECT.match(text):
        return _from_json(f"{{{text}}}")
    first = next(
        (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), ""
    )
    if first.startswith("[") and not _TOML_KEY.match(first):
        raise _unclear("This begins like TOML, but names no table")
    if _TOML_KEY.match(first.strip()) and (tables := _toml(text, is_surely=first.lstrip().startswith("["))):
        return _from_tables(tables, is_json=False)
    if _ADDRESS.fullmatch(text):
        return _from_address(text, folder)
    if not re.search(r"\s", text) and (found := _from_file_name(text, folder)) is not None:
        return found
    return _from_command(text)


def _from_json(text: str) -> _Found:
    try:
        return _from_tables(read_json_object(text), is_json=True)
    except JsonTextError as error:
        raise _unclear(f"This looks like JSON, but {error.message}") from None


def _toml(text: str, *, is_surely: bool) -> dict[str, Any] | None:
    """None: `NAME="x" program` looks like it too."""
    try:
        return read_toml(text)
    except tomllib.TOMLDecodeError as error:
        if not is_surely:
            return None
        said = str(error)
    raise _unclear(f"This looks like TOML, but {said[:1].lower()}{said[1:200]}")


def _from_tables(tables: dict[str, Any], *, is_json: bool) -> _Found:
    if any(key in tables for key in _ENTRY_KEYS):
        name = next((tables[key] for key in ("name", "id") if isinstance(tables.get(key), str)), "")
        return _one_entry(name, tables)
    sources = [table_of(one) for one in list_of(tables.get("sources"))]
    # Whatever else is in somebody's file, only what stands behind a gateway is read.
    adopted = adopt_file({key: value for key, value in tables.items() if key != "version"}, is_json=True)
    servers = table_of(adopted.tables.get(OURS))
    if not servers and not sources:
        nested = {name: one for name, one in tables.items() if _is_entry(one)}
        if len(nested) == 1:
            return _one_entry(*nested.popitem())
        servers = nested
    names = [*servers, *(str(one.get("id", "?")) for one in sources)]
    if len(names) > 1:
        shown = ", ".join(key_path((name,)) for name in names[:_MAX_NAMED])
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        raise CallerError(
            CALLER_BAD_PARAMS,
            f"There are {len(names)} entries in this text: {shown}{more}",
            hint="Paste one of them; callgate import takes all of a client's file",
        )
    if sources:
        return _one_entry(str(sources[0].get("id", "")), sources[0])
    if not servers:
        raise _unclear("This names no MCP server and no database")
    name, entry = servers.popitem()
    if not _is_entry(entry):
        raise _unclear("Its entry has neither a command nor a url")
    notes = tuple(note.message for note in adopted.notes if note.key_path != "the file")
    return _Found("server", name, entry, notes=notes)


def _is_entry(value: Any) -> bool:
    return any(key in table_of(value) for key in _ENTRY_KEYS)


def _one_entry(name: str, raw: dict[str, Any]) -> _Found:
    if isinstance(raw.get("dsn"), str):
        entry = {key: value for key, value in raw.items() if key not in ("id", "name")}
        return _Found("source", name or _name_of_dsn(raw["dsn"]), entry, is_named=bool(name))
    bare = {key: value for key, value in raw.items() if key not in ("name", "id")}
    adopted = adopt_file({OURS: {name or "server": bare}}, is_json=True)
    entry = table_of(table_of(adopted.tables[OURS])[name or "server"])
    if not _is_entry(entry):
        raise _unclear("Its entry has neither a command nor a url")
    notes = tuple(note.message for note in adopted.notes)
    return _Found("server", name or _name_of_entry(entry), entry, is_named=bool(name), notes=notes)


def _name_of_entry(entry: dict[str, Any]) -> str:
    if isinstance(entry.get("url"), str):
        return _name_of_url(entry["url"])
    args = [arg for arg in list_of(entry.get("args")) if isinstance(arg, str)]
    return name_of_command(str(entry.get("command")), args)


def _from_address(text: str, folder: Path | None) -> _Found:
    scheme = text.partition("://")[0].lower()
    if scheme in ("http", "https"):
        entry: dict[str, Any] = {"url": text}
        if PurePath(text.partition("?")[0]).name == "sse":
            entry["type"] = "sse"
        return _Found("server", _name_of_url(text), entry, is_named=False)
    return _source(text, folder)


def _name_of_url(url: str) -> str:
    """`https://mcp.linear.app/mcp` is linear's."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return "server"
    labels = [label for label in host.split(".") if label not in GENERIC_NAMES]
    is_number = ":" in host or host.replace(".", "").isdigit()
    return "server" if is_number or not labels else labels[0]


def _source(dsn: str, folder: Path | None) -> _Found:
    try:
        parsed = parse_dsn(dsn)
    except DsnError as error:
        raise CallerError(CALLER_BAD_PARAMS, _sentence(error.message), hint=error.hint) from None
    if folder is not None and parsed.path is not None:
        dsn = str(parsed.anchored_at(folder))
    return _Found("source", _name_of_dsn(dsn), {"dsn": dsn}, is_named=False)


def _name_of_dsn(dsn: str) -> str:
    """What people call it: the database, or the file."""
    try:
        parsed = parse_dsn(dsn)
    except DsnError:  # it is told later, with its place
        return "database"
    return (Path(parsed.path).stem if parsed.path is not None else parsed.database) or parsed.engine.value


def _from_file_name(text: str, folder: Path | None) -> _Found | None:
    engine = _FILE_ENGINES.get(PurePath(text).suffix.lower())
    if engine is None:
        return None
    path = str(Path(text).expanduser()) if text.startswith("~") else text
    return _source(f"{engine}:///{path}", folder)


def _from_command(text: str) -> _Found:
    try:
        command = read_command(text)
    except CommandTextError as error:
        raise _unclear(_sentence(error.message)) from None
    if command.json is not None:
        found = _from_json(command.json)
        return _Found(found.kind, command.name or found.name, found.entry, notes=found.notes)
    if command.entry.get("dsn"):
        return _source(command.entry["dsn"], None)
    name = command.name or _name_of_entry(command.entry)
    return _Found("server", name, command.entry, is_named=command.name is not None)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _unclear(message: str) -> CallerError:
    return CallerError(CALLER_BAD_PARAMS, message, hint=_UNDERSTOOD)
