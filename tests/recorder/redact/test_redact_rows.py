"""Rows: whatever others chose in them is looked through before it becomes JSON, each field by itself."""

import json
import random
from typing import Any

import pytest
from recorder.happenings import NOW_S, REDACTOR, ROW_REDACTOR, a_session, settled
from recorder.redact.test_corpus import MARKED, lines
from recorder.secret_samples import MAKERS

from callgate.recorder.build_rows import event_row
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor, _apart
from callgate.recorder.rows import EventRow, HopRow

# What the gateway itself chose: names of its configuration, ids of its own, words of its own.
OURS = {
    EventRow: {
        "id", "ts", "session_id", "kind", "sender", "seq", "writer", "server_name", "source_id",
        "duration_ms", "ok",
        "error_code", "outcome", "ended_by", "request_bytes", "response_bytes", "request_tokens",
        "response_tokens", "is_redacted", "is_cut", "was_open", "statement_type", "mode", "verdict", "rule",
        "rows", "truncated", "cached", "trace_id", "principal", "via", "hops",
    },
    HopRow: {
        "server_name", "ok", "duration_ms", "rpc_id", "same_request", "same_response", "cached", "started_ms",
    },
}  # fmt: skip
TOLD = [(kind, name) for kind, ours in OURS.items() for name in kind.__struct_fields__ if name not in ours]
JSON = {"rpc_id", "annotations", "request_json", "response_json"}
SAMPLES = [make(random.Random(3)) for make in MAKERS.values()] + [
    (MARKED.sub(r"\1", line), secret)
    for line in lines("secret_texts.txt")
    for secret in MARKED.findall(line)[:1]
]


def a_row() -> EventRow:
    return event_row(settled(a_session()).exchange)


def written(redactor: RowRedactor, rows: list[EventRow]) -> str:
    rows_json, bodies = redactor.events_json(rows)
    return b"\n".join([rows_json, *bodies]).decode()


@pytest.mark.parametrize(("kind", "field"), TOLD)
def test_no_field_lets_a_secret_through_that_stands_in_it_alone(kind: type, field: str) -> None:
    found: list[str] = []
    for text, secret in SAMPLES:
        row = a_row()
        value: Any = text
        if field in JSON:
            value = json.dumps({"note": text})
        elif field == "tables":
            value = [text]
        if kind is EventRow and field in ("request_json", "response_json"):
            value = value.encode()
        setattr(row if kind is EventRow else row.hops[0], field, value)
        if secret in written(ROW_REDACTOR, [a_row(), row]):
            found.append(text)
    assert not found


def test_a_row_in_which_nothing_was_said_is_clean_with_all_its_fields() -> None:
    """Or every group would be redacted row by row: names of fields are part of what is looked at."""
    row = a_row()
    for one in (row, *row.hops):
        for name in one.__struct_fields__:
            if getattr(one, name) is None and not name.endswith("_tokens"):
                setattr(one, name, b"x" if one is row and name in ("request_json", "response_json") else "x")
    rows_json, bodies = _apart([row])
    assert REDACTOR.is_clean(b"\n".join([rows_json, *bodies]))


def test_a_lone_surrogate_costs_its_own_character_only() -> None:
    rows = [a_row(), a_row()]
    rows[0].tool_name = "odd \ud800"
    text = written(ROW_REDACTOR, rows)
    assert '"tool_name":"odd ?"' in text
    assert text.count('"sql":"SELECT 1"') == 2


@pytest.mark.parametrize("pattern", ["id[A-z]{4}-", "id[0-z]+-", r"id\D{4}-", "id....-", "id[^ ]{4}-"])
def test_a_pattern_of_the_operator_may_speak_of_what_json_escapes(pattern: str) -> None:
    row = a_row()
    row.error = r"no idab\c- here"
    rows = [row]
    RowRedactor(Redactor(extra_patterns=[pattern]), 1000).events_json(rows)
    assert rows[0].error == "no *** here"


class _Failing(Redactor):
    def text(self, text: str) -> str:
        raise RuntimeError(text)


def test_what_cannot_be_redacted_keeps_only_that_it_happened() -> None:
    redactor = RowRedactor(REDACTOR, 1000, {"demo": _Failing()})
    bad, other = settled(a_session(), NOW_S, params=b'{"token":"a"}'), settled(a_session(), sql="SELECT 2")
    other.exchange.server_name = "other"
    rows = [event_row(bad.exchange), event_row(other.exchange)]
    redactor.events_json(rows)
    assert [(row.sql, row.is_redacted) for row in rows] == [("***", True), ("SELECT 2", False)]
    assert rows[0].id == bad.exchange.exchange_id
    assert rows[0].request_json == b'"***"'
