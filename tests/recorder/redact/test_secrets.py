"""A thousand secrets of every kind, planted wherever a call can carry one: none is found afterwards."""

import json
import logging
import random
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from recorder.happenings import NOW_S, REDACTOR, Record, a_session, opened, settled
from recorder.secret_samples import MAKERS, found_in

from callgate.model.events import ExchangeSettled
from callgate.model.exchange import Outcome
from callgate.ports.record_reader import EventFilter
from callgate.ports.row_feed import FeedRow, Missed
from callgate.recorder.redact.secret_commands import COMMANDS
from callgate.recorder.redact.secret_patterns import KINDS

_ROUNDS = 3  # of every kind in every place


def _in_params(text: str) -> dict[str, object]:
    return {"params": json.dumps({"name": "t", "arguments": {"note": text}}).encode()}


def _in_result(text: str) -> dict[str, object]:
    return {"reply": json.dumps({"content": [{"type": "text", "text": f"see: {text}\nbye"}]}).encode()}


def _in_nested_json(text: str) -> dict[str, object]:
    inner = json.dumps({"rows": [[1, json.dumps({"deep": text})]]})
    return {"reply": json.dumps({"content": [{"type": "text", "text": inner}]}).encode()}


def _under_a_key(text: str) -> dict[str, object]:
    return {"params": json.dumps({"arguments": {"Access_Token": {"value": [text]}}}).encode()}


def _escaped(text: str) -> dict[str, object]:
    spelled = "".join(f"\\u{ord(char):04x}" for char in text)
    return {"params": f'{{"arguments":{{"note":"{spelled}"}}}}'.encode()}


def _in_sql(text: str) -> dict[str, object]:
    return {"sql": f"SELECT 1 -- {text}"}


def _in_error(text: str) -> dict[str, object]:
    return {"error": f"could not use {text}", "outcome": Outcome.TOOL_ERROR}


def _in_an_id(text: str) -> dict[str, object]:
    return {"rpc_id": json.dumps(text).encode()}


def _in_a_version(text: str) -> dict[str, object]:
    return {"server_version": text}


def _in_a_header(text: str) -> dict[str, object]:
    headers = {"headers": [f"Accept: */*\r\nX-Note: {text}\r\n"]}
    return {"params": json.dumps({"arguments": headers}).encode()}


PLACES = [
    _in_params, _in_result, _in_nested_json, _under_a_key, _escaped, _in_sql, _in_error, _in_an_id,
    _in_a_version, _in_a_header,
]  # fmt: skip


def planted() -> list[tuple[ExchangeSettled, str, str]]:
    chance = random.Random(6)  # the same every time: what fails can be looked at
    session = a_session()
    calls: list[tuple[ExchangeSettled, str, str]] = []
    for name, make in MAKERS.items():
        for place in PLACES:
            for _ in range(_ROUNDS):
                text, secret = make(chance)
                calls.append((settled(session, NOW_S, **place(text)), secret, f"{name} {place.__name__}"))
    return calls


def test_every_kind_has_a_sample() -> None:
    assert {kind.name for kind in (*KINDS, *COMMANDS)} <= MAKERS.keys()
    assert len(KINDS) >= 40


@pytest.mark.parametrize("name", MAKERS)
def test_a_secret_in_text_is_masked_and_the_rest_stays(name: str) -> None:
    text, secret = MAKERS[name](random.Random(1))
    redacted = REDACTOR.text(f"before {text}")
    assert secret not in redacted
    assert redacted.startswith("before ")
    assert "***" in redacted


# A text as a literal holds it.
QUOTED: dict[str, Callable[[str], str]] = {
    "doubled": lambda text: "'" + text.replace("'", "''") + "'",
    "escaped": lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'",
    "cell": lambda text: '"' + text.replace('"', '""') + '"',
    "string": json.dumps,
    "cell of Markdown": lambda text: "| " + text.replace("|", "\\|") + " |",
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("quoted", QUOTED)
def test_a_literal_that_doubles_or_escapes_quotes_hides_nothing(name: str, quoted: str) -> None:
    text, secret = MAKERS[name](random.Random(1))
    literal = QUOTED[quoted](text)
    for around in (
        f"SELECT {literal} AS note",
        f"it's near SELECT {literal} AS note",
        f"SELECT {literal[:-1]}",  # cut
        f"SELECT {QUOTED[quoted](f'SELECT {literal}')}",
    ):
        assert secret not in REDACTOR.text(around), around


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE users SET password = '', name = 'bob'",
        "SELECT 'it''s a token count' AS note, 'the password''s length' AS other",
        'name,note\n1,"she said ""no password"" twice"',
        r"print('it\'s the token')",
    ],
)
def test_an_ordinary_literal_with_quotes_in_it_stays_as_it_is(text: str) -> None:
    assert REDACTOR.text(text) == text


def test_of_very_many_literals_the_rest_is_masked() -> None:
    redacted = REDACTOR.text("token_count 'a''b' " * 3_000)
    assert redacted.startswith("token_count 'a''b' ")
    assert redacted.count("'***'") == 1_000


@pytest.mark.parametrize("name", MAKERS)
def test_a_line_break_that_is_spelled_does_not_hide_what_follows(name: str) -> None:
    text, secret = MAKERS[name](random.Random(1))
    assert secret not in REDACTOR.text(f"before\\n{text}")
    assert secret not in REDACTOR.text(json.dumps(f"before\n{text}"))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name, price FROM products WHERE id = 42",
        "https://example.com/a/b?c=d#e",
        "sk-short and key-1 and eyJust text",
        "the tokenizer counts tokens; passwords are not secrets' names",
        "mail me at bob@example.com:8080",
        "2026-11-15T07:24:08Z 10.0.0.1 GET /api 200",
        "commit 0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert REDACTOR.text(text) == text


async def test_none_of_a_thousand_secrets_is_in_journal_store_or_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    calls = planted()
    assert len(calls) >= 1000
    record = Record(tmp_path)
    session = a_session()
    session.workspace = "/home/me/ghp_" + "a" * 36
    record.emit(opened(session))
    heard: list[FeedRow | Missed] = []
    settled_count = 0
    async with aclosing(record.recorder.feed.listen()) as feed:
        for start in range(0, len(calls), 100):  # so that the feed, which is bounded, misses none
            for event, _, _ in calls[start : start + 100]:
                record.emit(event)
            await record.source_requests()
            while settled_count < min(start + 100, len(calls)):
                heard.append(await anext(feed))
                settled_count += _is_settled(heard[-1])
    assert not [row for row in heard if isinstance(row, Missed)]
    held = await _everything(tmp_path, record, caplog) + repr(heard).encode()
    assert b"before" not in held
    assert b"demo__query" in held
    places = {secret: where for _, secret, where in calls}
    assert [places[secret] for secret in found_in(held, places)] == []
    assert b"a" * 36 not in held
    await record.close()
    after = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert [places[secret] for secret in found_in(after, places)] == []


def _is_settled(row: FeedRow | Missed) -> bool:
    return isinstance(row, FeedRow) and row.happening == "exchange_settled"


async def _everything(folder: Path, record: Record, caplog: pytest.LogCaptureFixture) -> bytes:
    """Journal, database files and their logs as they lie on the disk; our log; an export; and every text
    that was stored, since files are compressed."""
    on_disk = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    store = record.store.opened
    assert store is not None
    tables = ("rpc_events", "rpc_event_upstreams", "sessions", "gaps")
    stored = [repr(store.cursor().execute(f"FROM {table}").fetchall()) for table in tables]
    exported = [chunk async for chunk in record.reader.export("jsonl", EventFilter())]
    return b"".join([on_disk, caplog.text.encode(), "\n".join(stored).encode(), *exported])
