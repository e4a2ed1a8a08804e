"""The effective values of a configuration, each with where it comes from; secrets masked.

The masking is the specs' own (`config.show`). What a key means and takes is read from the JSON Schema.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from callgate.config.draft import make_draft, place_in_file
from callgate.config.edit_file import FileEdit
from callgate.config.editing.written_values import written_path
from callgate.config.load import Loaded
from callgate.config.problem import Loc
from callgate.config.problems.cross_check import OFFERED_RECORD
from callgate.config.raw_values import list_of, table_of
from callgate.config.secret import MASK
from callgate.config.show import config_json_schema, masked
from callgate.config.sources.entry_ids import entry_ids
from callgate.config.sources.environment import SECTIONS
from callgate.config.sources.environment_sources import sources_of
from callgate.config.sources.file import ConfigFile
from callgate.config.specs.spec import known_keys
from callgate.ports.settings import ConfigEntry, ConfigValue, Origin


@dataclass(frozen=True, slots=True)
class ConfigValues:
    loaded: Loaded
    file: ConfigFile
    environ: Mapping[str, str]
    edit: FileEdit | None  # None: there is no file, or none of ours

    def all(self) -> list[ConfigValue]:
        named_by = make_draft(self.file, self.environ, self.loaded.flags).named_by
        of_environment = sources_of(self.environ).named_by if not self.loaded.flags.addresses else {}
        schema = config_json_schema()
        return [
            self._value(self._in_file(loc), place, value, schema, named_by, of_environment)
            for loc, place, value in self._leaves()
        ]

    def entries(self) -> list[ConfigEntry]:
        config = self.loaded.config
        sources = [(one.id, "sql", ("sources", one.id), False) for one in config.sources]
        servers = [
            (name, "mcp", self._in_file(("mcpServers", name)), spec.disabled)
            for name, spec in config.mcp_servers.items()
        ]
        return [
            ConfigEntry(
                name, kind, written_path(loc), is_disabled, self.edit is not None and self.edit.has(loc)
            )
            for name, kind, loc, is_disabled in (*sources, *servers)
        ]

    def _in_file(self, loc: Loc) -> Loc:
        """A server's id may be made of its name, and its table may have another client's word for it."""
        if loc[0] != "mcpServers" or len(loc) < 2:
            return loc
        names = table_of(self.file.adopted.tables.get("mcpServers"))
        taken = (*(source.id for source in self.loaded.config.sources), OFFERED_RECORD)
        named = next((name for name, made in entry_ids(names, taken).items() if made == loc[1]), loc[1])
        return place_in_file(("mcpServers", named, *loc[2:]), self.file.adopted.written)

    def _leaves(self) -> Iterator[tuple[Loc, Loc, Any]]:
        """Names for people, places in the tree, values. Of our own tables also the keys that are not set."""
        shown = masked(self.loaded.config)
        for section, spec in SECTIONS.items():
            table = dict(table_of(shown.pop(section, {})))
            for key in known_keys(spec):
                yield from _flat((section, key), (section, key), table.pop(key, None))
            for key, value in table.items():
                yield from _flat((section, key), (section, key), value)
        for key, value in shown.items():
            yield from _flat((key,), (key,), value)

    def _value(
        self,
        loc: Loc,
        place: Loc,
        value: Any,
        schema: dict[str, Any],
        named_by: Mapping[Loc, str],
        of_environment: Mapping[str, str],
    ) -> ConfigValue:
        origin, where = self._origin(loc, place, named_by, of_environment)
        told = _schema_of(schema, place)
        choices = [one for one in list_of(told.get("enum")) if isinstance(one, str)]
        return ConfigValue(
            written_path(loc),
            value,
            origin,
            where,
            str(told.get("description", "")),
            str(told.get("type", _kind_of(value))),
            choices,
            is_secret=value == MASK or (isinstance(value, list) and MASK in cast("list[Any]", value)),
        )

    def _origin(
        self, loc: Loc, place: Loc, named_by: Mapping[Loc, str], of_environment: Mapping[str, str]
    ) -> tuple[Origin, str]:
        if (name := named_by.get(place)) is not None:
            return ("flag" if name.startswith("--") else "environment"), name
        if place[0] == "sources" and (variable := of_environment.get(str(loc[1]))) is not None:
            return "environment", variable
        if self.edit is not None and self.edit.has(loc):
            line = self.edit.line_of(self.edit.place_of(loc))
            return "file", "" if line is None else f"line {line}"
        if self.edit is None and _is_in(self.file.adopted.tables, loc):
            return "file", ""
        if place[0] == "sources" and self.loaded.flags.addresses:
            return "flag", "the command line"
        return "default", ""


def _flat(loc: Loc, place: Loc, value: Any) -> Iterator[tuple[Loc, Loc, Any]]:
    if isinstance(value, dict) and value:
        for key, one in cast("dict[str, Any]", value).items():
            yield from _flat((*loc, key), (*place, key), one)
    elif isinstance(value, list) and place[0] in ("sources", "tools") and len(place) == 1:
        for at, one in enumerate(cast("list[Any]", value)):
            name = table_of(one).get("id") if place[0] == "sources" else None
            yield from _flat((*loc, name if isinstance(name, str) else at), (*place, at), one)
    else:
        yield loc, place, value


def _is_in(tables: Any, loc: Loc) -> bool:
    node: Any = tables
    for part in loc:
        node = table_of(node).get(part) if isinstance(part, str) else None
        if node is None:
            return False
    return True


def _schema_of(schema: dict[str, Any], place: Loc) -> dict[str, Any]:
    """What the schema says of the value at a place."""
    node: dict[str, Any] = schema
    told: dict[str, Any] = {}
    for part in place:
        inner: Any = (
            node.get("items") if isinstance(part, int) else table_of(node.get("properties")).get(part)
        )
        told = table_of(inner if inner is not None else node.get("additionalProperties"))
        node = told
        if isinstance(reference := _reference(node), str):
            node = table_of(table_of(schema.get("$defs")).get(reference.rpartition("/")[2]))
            told = {**node, **told}
    return told


def _reference(node: dict[str, Any]) -> Any:
    options = [table_of(one).get("$ref") for one in list_of(node.get("anyOf"))]
    return node.get("$ref") or next((one for one in options if one), None)


def _kind_of(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return next((word for kind, word in kinds.items() if isinstance(value, kind)), "")
