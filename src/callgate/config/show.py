"""The effective configuration for people and for comparison, every secret masked; and its JSON Schema.

The masking itself is the specs' own serialisation, so that no other dump can show more than this one. What
was filled in from `${VAR}` or `file:` in a `dsn` or under `mcpServers` is shown as it was written.

The schema is for editors: generated from the specs, as users write the file. It describes values after
`${VAR}` is filled in: `max_rows = "${N}"` is fine for us, but not for an editor.
"""

import hashlib
import json
from typing import Any

from callgate.config.reading.kind import Schema
from callgate.config.specs.config import Config

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_WHEREABOUTS = {
    "server": ("listen", "socket_group", "state_dir", "workers"),
    "replicas": ("listen", "advertise"),
}


def masked(config: Config) -> dict[str, Any]:
    """As the file would say it: its keys, durations and sizes as text; what is unset is left out."""
    shown = config.shown()
    if not config.replicas.is_on:
        del shown["replicas"]  # a table that is there needs a database
    return shown


def fingerprint(config: Config) -> str:
    """Whether two processes run the same configuration; a difference in secrets alone does not show.

    Follows what variables hold, unlike `masked`: another `${HOST}` is another configuration. Where it listens
    and where its state lies are not part of it: `callgate serve --port 0` serves what the file says, and who
    compares has found it by its state folder already.
    """
    values = config.shown(is_effective=True)
    for table, keys in _WHEREABOUTS.items():
        values[table] = {key: value for key, value in values[table].items() if key not in keys}
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def config_json_schema() -> Schema:
    named: dict[str, Schema] = {}
    schema = Config.table_schema(named)
    # Other clients' words: `adopt_entry` reads them.
    entry = named["McpServerSpec"]
    entry["additionalProperties"] = True
    keys = entry["properties"]
    program = keys["command"]
    words = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    told = {"description": program.pop("description")}
    keys["command"] = {"anyOf": [program, words], **told}
    sandbox = {"$ref": keys["sandbox"].pop("$ref")}
    keys["sandbox"] |= {"anyOf": [{"type": "boolean"}, sandbox], "default": False}
    # A default for Config in code; in a file the version must be said.
    schema["properties"]["version"].pop("default")
    return {
        "$schema": _DIALECT,
        "$defs": dict(sorted(named.items())),
        **schema,
        "title": "callgate.toml",
        "description": "Configuration of Callgate: one MCP endpoint in front of databases and MCP servers.",
        "required": ["version"],
    }
