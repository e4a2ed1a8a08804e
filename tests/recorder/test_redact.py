"""Redaction: listed values are gone, the structure stays."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callgate.recorder.redact import DEFAULT_KEYS, Redactor

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
keys = st.text(max_size=8) | st.sampled_from([*DEFAULT_KEYS, "Password", "API_KEY", "ssn"])
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=15,
)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "hidden" if key.casefold() in (*DEFAULT_KEYS, "ssn") else shape(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [shape(item) for item in value]
    return value


@given(documents)
def test_listed_keys_lose_their_value_and_everything_else_stays(document: Any) -> None:
    redacted = json.loads(Redactor(["SSN"]).json(json.dumps(document).encode()) or "null")
    assert json.loads(json.dumps(redacted).replace('"***"', '"hidden"')) == shape(document)


@given(documents)
def test_json_inside_a_string_is_no_hiding_place(document: Any) -> None:
    nested = {"text": json.dumps({"password": "hunter2", "more": document})}
    assert "hunter2" not in (Redactor().json(json.dumps(nested).encode()) or "")


def test_text_without_a_listed_key_keeps_its_exact_bytes() -> None:
    raw = b'{ "b": 1.00, "a": 12345678901234567890123 }'
    assert Redactor().json(raw) == raw.decode()


def test_an_escaped_key_is_still_found() -> None:
    assert "hunter2" not in (Redactor().json(b'{"p\\u0061ssword": "hunter2"}') or "")


def test_what_is_not_json_after_all_is_masked_whole() -> None:
    assert Redactor().json(b'{"password": "hunter2"') == '"***"'


def test_a_dsn_in_text_loses_its_password_only() -> None:
    assert (
        Redactor().text("at mysql://me:pw@h:1/d and http://h/p") == "at mysql://me:***@h:1/d and http://h/p"
    )
