import json
from collections.abc import Iterator
from typing import Any

from callgate.config.show import config_json_schema


def walk(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for item in node.values():
            yield from walk(item)
    elif isinstance(node, list):
        for item in node:
            yield from walk(item)


def test_the_schema_speaks_of_the_file_as_it_is_written() -> None:
    schema = config_json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["required"] == ["version"]
    assert set(schema["properties"]) == {
        "version",
        "server",
        "sources",
        "tools",
        "mcpServers",
        "principals",
        "record",
        "policy",
        "otel",
        "replicas",
    }
    keep = schema["$defs"]["RecordSpec"]["properties"]["keep"]
    assert (keep["type"], keep["default"]) == ("string", "30d")
    server = schema["$defs"]["ServerSpec"]["properties"]
    assert (server["listen"]["default"], server["max_body"]["default"]) == ("127.0.0.1:7420", "16MiB")
    source = schema["$defs"]["SourceSpec"]["properties"]
    assert (source["max_rows"]["minimum"], source["timeout_s"]["exclusiveMinimum"]) == (1, 0)
    assert "from_environment" not in source


def test_every_key_has_a_description_and_nothing_is_null() -> None:
    schema = config_json_schema()
    for model in [schema, *schema["$defs"].values()]:
        for name, prop in model["properties"].items():
            assert prop.get("description"), name
    assert not [
        node
        for node in walk(schema)
        if node.get("type") == "null" or (isinstance(node.get("title"), str) and node is not schema)
    ]
    json.dumps(schema)
