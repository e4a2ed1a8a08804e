"""The effective configuration for people and for comparison, every secret masked; and its JSON Schema.

The masking itself is the specs' own serialisation, so that no other dump can show more than this one. What
was filled in from `${VAR}` or `file:` in a `dsn` or under `mcpServers` is shown as it was written.

The schema is for editors: generated from the specs, as users write the file. It describes values after
`${VAR}` is filled in: `max_rows = "${N}"` is fine for us, but not for an editor.
"""

import hashlib
import json
from typing import Any, cast

from callgate.config.specs.config import Config
from callgate.config.specs.spec import EFFECTIVE

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_WHEREABOUTS = {
    "server": {"listen", "socket_group", "state_dir", "workers"},
    "replicas": {"listen", "advertise"},
}


def masked(config: Config) -> dict[str, Any]:
    """As the file would say it: its keys, durations and sizes as text; what is unset is left out."""
    without = None if config.replicas.is_on else {"replicas"}  # a table that is there needs a database
    return config.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=without)


def fingerprint(config: Config) -> str:
    """Whether two processes run the same configuration; a difference in secrets alone does not show.

    Follows what variables hold, unlike `masked`: another `${HOST}` is another configuration. Where it listens
    and where its state lies are not part of it: `callgate serve --port 0` serves what the file says, and who
    compares has found it by its state folder already.
    """
    values = config.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude=_WHEREABOUTS, context=EFFECTIVE
    )
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def config_json_schema() -> dict[str, Any]:
    # mode="serialization" gives defaults as they are written ("30d"), not as they are held (2592000.0).
    generated = Config.model_json_schema(mode="serialization", by_alias=True)
    schema = cast("dict[str, Any]", _tidied(generated, is_schema=True))
    # Any name, and other clients' words: `adopt_entry` reads them.
    schema["properties"]["mcpServers"]["additionalProperties"] = {"$ref": "#/$defs/McpServerSpec"}
    schema["properties"]["mcpServers"].pop("patternProperties", None)
    entry = schema["$defs"]["McpServerSpec"]
    entry["additionalProperties"] = True
    command = entry["properties"]["command"]
    told = {key: command.pop(key) for key in ("description",)}
    words = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    entry["properties"]["command"] = {"anyOf": [command, words], **told}
    # A default for Config in code; in a file the version must be said.
    schema["properties"]["version"].pop("default")
    return {
        "$schema": _DIALECT,
        **schema,
        "title": "callgate.toml",
        "description": "Configuration of Callgate: one MCP endpoint in front of databases and MCP servers.",
        "required": ["version"],
    }


def _tidied(node: Any, *, is_schema: bool) -> Any:
    """Without pydantic's titles, and without null, which TOML does not have."""
    if isinstance(node, list):
        return [_tidied(item, is_schema=is_schema) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    table = dict(cast("dict[str, Any]", node))
    if not is_schema:  # the names below are the operator's keys, not JSON Schema's
        return {key: _tidied(item, is_schema=True) for key, item in table.items()}
    table.pop("title", None)
    if "default" in table and table["default"] is None:
        del table["default"]
    options = [option for option in table.get("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        del table["anyOf"]
        table = {**options[0], **table}
    elif options:
        table["anyOf"] = options
    names = ("properties", "patternProperties", "$defs")
    return {
        key: item if key in ("default", "examples", "enum") else _tidied(item, is_schema=key not in names)
        for key, item in table.items()
    }
