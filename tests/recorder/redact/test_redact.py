"""Redaction: listed values are gone, the structure stays."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorder.happenings import REDACTOR, a_session, settled

from callgate.recorder.build_rows import event_row
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor

NAMES = ("authorization", "token", "password", "secret", "api_key", "access_token")
HELD = b'{"ssn":"078-05-1120","who":"EMP-42"}'

LISTED = ("ssn", "home_address")
SPELLED = ("SSN", "ssn", "Home-Address", "homeAddress", "home.address", "HOME_ADDRESS")
SECRET = "Zq81vTx4"

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
keys = st.text(max_size=8) | st.sampled_from([*SPELLED, "old_ssn", "address"])
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=15,
)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "hidden" if key in SPELLED else shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return value


@given(documents)
def test_keys_of_the_operator_lose_any_value_in_any_spelling_and_everything_else_stays(document: Any) -> None:
    redacted = json.loads(Redactor(LISTED).json(json.dumps(document).encode()) or "null")
    assert json.loads(json.dumps(redacted).replace('"***"', '"hidden"')) == shape(document)


@given(documents, st.sampled_from(NAMES))
def test_a_secret_is_gone_wherever_it_stands_under_its_name(document: Any, name: str) -> None:
    for held in (SECRET, [document, SECRET], {"a": {"b": SECRET}, "more": document}):
        redacted = REDACTOR.json(json.dumps({"more": document, name: held}).encode())
        assert redacted is not None
        assert SECRET not in redacted


@pytest.mark.parametrize("value", [None, True, False, "", [], {}, {"type": "string", "minLength": 8}])
def test_what_holds_no_secret_stays_under_its_name(value: Any) -> None:
    redacted = REDACTOR.json(json.dumps({"password": value}).encode())
    assert redacted is not None
    assert json.loads(redacted) == {"password": value}


@given(documents)
def test_json_inside_a_string_is_no_hiding_place(document: Any) -> None:
    nested = {"text": json.dumps({"password": "hunter2", "more": document})}
    assert "hunter2" not in (REDACTOR.json(json.dumps(nested).encode()) or "")


def test_text_without_a_listed_key_keeps_its_exact_bytes() -> None:
    raw = b'{ "b": 1.00, "a": 12345678901234567890123 }'
    assert REDACTOR.json(raw) == raw.decode()


def test_an_escaped_key_is_still_found() -> None:
    assert "hunter2" not in (REDACTOR.json(b'{"p\\u0061ssword": "hunter2"}') or "")


def test_what_is_not_json_after_all_is_masked_whole() -> None:
    assert REDACTOR.json(b'{"password": "hunter2"') == '"***"'


def test_a_dsn_in_text_loses_its_password_only() -> None:
    assert REDACTOR.text("at mysql://me:pw@h:1/d and http://h/p") == "at mysql://me:***@h:1/d and http://h/p"


@pytest.mark.parametrize(
    ("dsn", "masked"),
    [
        ("postgres://u:p/w@h", "postgres://u:***@h"),
        ("mysql://u:p@ss@h", "mysql://u:***@h"),
        ("mysql://u:p:a@s/s@h:3306/d?x=1", "mysql://u:***@h:3306/d?x=1"),
        ("redis://:pw@h", "redis://:***@h"),
        ("postgres://me@tenant:pw@h", "postgres://me@tenant:***@h"),
        ("'mysql://u:pw@h' and mail a@b", "'mysql://u:***@h' and mail a@b"),
        ("http://h:80/p then a@b", "http://h:80/p then a@b"),
        ("http://h/p:q@r", "http://h/p:q@r"),
        ("mysql://u:@h", "mysql://u:@h"),
        ("x://y://z mysql://u:pw@h", "x://y://z mysql://u:***@h"),
    ],
)
def test_a_password_goes_whatever_it_holds_and_its_surroundings_stay(dsn: str, masked: str) -> None:
    assert REDACTOR.text(dsn) == masked


words = st.text(
    st.characters(blacklist_categories=["Cs", "Z", "C"], blacklist_characters="\"'`"), max_size=12
)


@given(before=words, password=words, after=words)
def test_no_password_is_left_in_any_surroundings(before: str, password: str, after: str) -> None:
    secret = f"<{password}hunter2{password}>"
    assert "hunter2" not in REDACTOR.text(f"{before} {before}://me:{secret}@h{after} {after}")


def test_an_escaped_slash_does_not_hide_a_dsn() -> None:
    assert "hunter2" not in (REDACTOR.json(b'{"a": "mysql:\\/\\/me:hunter2@h"}') or "")


def test_a_dsn_as_the_name_of_a_member_loses_its_password() -> None:
    assert REDACTOR.json(b'{"mysql://me:pw@h": 1}') == '{"mysql://me:***@h":1}'


_LONG_RUN = """
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact_rows import RowRedactor
redactor = Redactor()
for part in (
    "password=", "password='", "password in (", "password: [", "token ", "{'token': ", "<password>",
    "<password ", 'name="password" ', "password\\n", "--password ", "token,", "password,a\\n",
    "| password |\\n", "|-|\\n| token |\\n", "into a(password", "into a(token) values(",
    "into a(token) values('", "curl -u ", "mysql -p", "login -p", r'\\\\"token\\\\":',
    "password: |\\n  ", "secret_", "secretSecret", "api key ", "identified by ''", "password=md5(",
    "Cookie: ", "password string = ", "'password', ", "password like (", "<a password>", "%3Dtoken",
    "set('token', ", "value=password name=", "password for x", "password::", "token: - ",
    "password:\\n - ", "bearer ", "pass: user ", "a", "a.", "a:", "a@", "://", "a://", "a://b:",
    "a://b:c@", "a://b:\u4040", ":/", "://@:", "[", "'password''x'", "it's a token",
):
    text = part * (100_000 // len(part))
    redactor.text(text)
    redactor.json(('{"token": 1, "text": "' + text[:20_000] + '"}').encode())
"""


def test_a_long_text_of_anything_takes_linear_time() -> None:
    """The deadline is there to end a hang (quadratic is minutes), not to measure."""
    subprocess.run([sys.executable, "-c", _LONG_RUN], check=True, timeout=200)


@pytest.mark.parametrize("depth", [100, 600, 990, 5_000, 200_000])
@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}")])
def test_no_nesting_is_too_deep_to_be_redacted(depth: int, pair: tuple[str, str]) -> None:
    nested = pair[0] * depth + '{"token": "hunter2"}' + pair[1] * depth
    for document in (nested, json.dumps({"text": nested}), json.dumps([nested, {"token": "hunter2"}])):
        redacted = REDACTOR.json(document.encode())
        assert redacted is not None
        assert "***" in redacted
        assert "hunter2" not in redacted


@pytest.mark.parametrize(
    "raw",
    [
        b'{"token": "hunter2", "a": "\xff"}',
        b'{"token": "hunter2", "a": "\\ud800"}',
        b'{"token": "hunter2", "a": 1e999}',
        b'{"token": "hunter2", "a": %b}' % (b"9" * 5000),
        b'{"text": "{\\"token\\": \\"hunter2\\", \\"a\\": 1e999}"}',
    ],
)
def test_what_our_parser_does_not_take_is_masked(raw: bytes) -> None:
    redacted = REDACTOR.json(raw) or ""
    assert "***" in redacted
    assert "hunter2" not in redacted


@given(st.binary(max_size=60))
def test_redaction_never_raises(noise: bytes) -> None:
    for raw in (noise, b'{"token": ' + noise, b'{"token": "%b"}' % noise):
        assert REDACTOR.json(raw) is not None or not raw


@pytest.mark.parametrize(
    "pattern", [r"EMP-\d{6}", "^EMP-[0-9]+$", r"\bEMP-\d+", "EMP.[0-9]+", "[^A-Z]*EMP-[0-9]+"]
)
@pytest.mark.parametrize("around", ["{}", "a\n{}\tb", '"{}"', "\\{}/"])
def test_a_pattern_of_the_operator_is_masked_wherever_it_is_found(pattern: str, around: str) -> None:
    if pattern.startswith("^") and around != "{}":
        pytest.skip("it asks for the whole text")
    text = around.replace("{}", "EMP-123456")
    redactor = Redactor(extra_patterns=[pattern])
    assert "EMP-123456" not in redactor.text(text)
    redacted = redactor.json(json.dumps({"note": text, "nested": json.dumps([text])}).encode())
    assert redacted is not None
    assert "EMP-123456" not in redacted


def test_rules_of_one_server_are_for_that_server_only() -> None:
    redactor = RowRedactor(REDACTOR, 1000, {"demo": Redactor(["ssn"], ["EMP-[0-9]+"])})
    ours, others = settled(a_session(), params=HELD), settled(a_session(), params=HELD)
    others.exchange.server_name = "other"
    rows = [event_row(ours.exchange), event_row(others.exchange)]
    redactor.events_json(rows)
    row, other = rows
    assert row.request_json == b'{"ssn":"***","who":"***"}'
    assert other.request_json == HELD
    assert (row.is_redacted, other.is_redacted) == (True, False)


STRUCTURED = {"columns": [{"name": "name"}, {"name": "SSN"}], "rows": [["Ada", "123-45"], ["Bob", None]]}
MASKED = {"columns": [{"name": "name"}, {"name": "SSN"}], "rows": [["Ada", "***"], ["Bob", None]]}


@pytest.mark.parametrize(
    ("result", "masked"),
    [
        (STRUCTURED, MASKED),
        ({"statements": [STRUCTURED, {"rows": 1}]}, {"statements": [MASKED, {"rows": 1}]}),
        (STRUCTURED | {"rows": ["odd", ["Ada"]]}, MASKED | {"rows": ["odd", ["Ada"]]}),
        (STRUCTURED | {"columns": ["name", "ssn"]}, MASKED | {"columns": ["name", "ssn"]}),
    ],
)
def test_cells_of_a_listed_column_are_masked_and_so_is_the_text_with_the_same_rows(
    result: Any, masked: Any
) -> None:
    """Whatever format the text has."""
    rows = "| Ada | 123-45 |"
    texts = [{"type": "text", "text": rows}, {"type": "resource", "resource": {"uri": "x:y", "text": rows}}]
    answer = {"content": texts, "structuredContent": result}
    texts = [{"type": "text", "text": "***"}, {"type": "resource", "resource": {"uri": "x:y", "text": "***"}}]
    redacted = Redactor(["ssn"]).json(json.dumps(answer).encode())
    assert redacted is not None
    assert json.loads(redacted) == {"content": texts, "structuredContent": masked}


def test_an_answer_without_a_listed_column_keeps_its_text() -> None:
    answer = {
        "content": [{"type": "text", "text": "ssn: none; | Ada |"}],
        "structuredContent": {"columns": [{"name": "name"}], "rows": [["Ada"]], "statements": None},
    }
    redacted = Redactor(["ssn"]).json(json.dumps(answer).encode())
    assert redacted is not None
    assert json.loads(redacted)["structuredContent"] == answer["structuredContent"]
    assert "| Ada |" in redacted


def test_what_is_clean_for_all_redactors_together_is_clean_for_each() -> None:
    together = Redactor.of_all([Redactor(["ssn"]), Redactor(["pin"], ["x-[0-9]+"])])
    assert together.is_clean(b'{"name":"Ada"}')
    for found in (b'{"ssn":1}', b'{"pin":1}', b"x-12", b'{"token":1}'):
        assert not together.is_clean(found)
