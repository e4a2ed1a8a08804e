"""A column that was forgotten on the way to the API would be null for ever, and nobody would notice."""

import hashlib
import json
import re

import msgspec

from callgate.api.shapes import ExchangeShape
from callgate.recorder.stores.duckdb.events import PAGE_COLUMNS
from callgate.recorder.stores.duckdb.schema import SCHEMA_VERSION, TABLES

# The record's names beside the API's, and what is found out from other rows.
RENAMED = {"timestamp": "ts", "server": "server_name", "tool": "tool_name", "arguments": "request_json"}
FOUND_OUT = {"seen_to_write"}


def test_every_field_of_a_call_in_the_api_is_read_from_the_record() -> None:
    read = set(re.findall(r"\w+", PAGE_COLUMNS))
    fields = {field.name for field in msgspec.structs.fields(ExchangeShape)} - FOUND_OUT
    assert {RENAMED.get(field, field) for field in fields} <= read


def test_other_columns_are_another_version_of_the_schema() -> None:
    """Days that were written before get new columns only when the version is a higher one."""
    digest = hashlib.sha256(json.dumps(TABLES).encode()).hexdigest()[:12]
    assert (SCHEMA_VERSION, digest) == (4, "f69abe9609d8"), "raise SCHEMA_VERSION, and write both here"
