"""Values that are known to be secrets: found in every form that docs/security.md names, in any text."""

import base64
import html
import json
import random
import string
from collections.abc import Callable
from functools import cache
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from callgate.recorder.redact.known_values import KnownValues
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact.vector_scan import WORTH_BYTES

VALUES = [
    "k8Jx92-abcd.EFG_hij123",
    "pa$$w(rd!*+?[.^|\\d",
    "[a-z]+(?:x|y)*",
    "\\x41\\x42 \\u0043",
    "ünïcödé-гесло-π",
    "漢字の秘密の言葉です",
    '"it\'s" `quoted` \\back',
    "first line\nsecond line 42\tend",
    "a&b<c>d'e\"f=g+h",
    "correct horse battery staple",
    "%41%2f%2F+literal",
    "\x7f\x01\x02 controls",
    "😀 beyond the plane 😀",
]
FOR_HTML = str.maketrans({sign: f"\\u{ord(sign):04X}" for sign in "<>&"})
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: f"see {text}, ok",
    "json": lambda text: f"see {json.dumps(text)}, ok",
    "json of any letters": lambda text: f"see {json.dumps(text, ensure_ascii=False)}, ok",
    "json in json": lambda text: f"see {json.dumps(json.dumps(text))}, ok",
    "json of browsers": lambda text: f"see {json.dumps(text).translate(FOR_HTML)}",
    "a document in a text": lambda text: json.dumps({"a": [json.dumps({"b": text})]}),
    "url": lambda text: f"https://h.example/?q={quote(text)}&x=1",
    "url, small hex": lambda text: "q=" + quote(text, safe="").replace("%2F", "%2f"),
    "form": lambda text: f"q={quote_plus(text)}&x=1",
    "html": lambda text: f"<p>{html.escape(text)}</p>",
    "repr": lambda text: f"env { {'A': text}!r}",
    "bytes": lambda text: f"env {text.encode()!r}",
    "sql": lambda text: "SELECT '" + text.replace("'", "''") + "' AS note",
    "base64": lambda text: base64.b64encode(f"u:{text}?".encode()).decode(),
    "base64, another place": lambda text: base64.b64encode(f"ab{text}z".encode()).decode(),
    "base64 of urls": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
}  # fmt: skip


@cache
def knowing(value: str) -> Redactor:
    return Redactor(known=KnownValues([value, "another-Value-7711"]))


def body(redactor: Redactor, value: object) -> str:
    cleaned = redactor.body(json.dumps(value).encode())
    assert cleaned is not None
    return cleaned.decode()


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_value_is_found_in_each_of_its_forms(value: str, spelling: str) -> None:
    redactor = knowing(value)
    text = SPELLINGS[spelling](value)
    for told in (redactor.text(text), json.loads(body(redactor, {"a": [text]}))["a"][0]):
        assert told != text
        assert "***" in told
        assert value not in told
    assert not redactor.is_clean(text.encode())
    assert not redactor.is_clean(json.dumps([text]).encode())
    assert not redactor.is_clean(json.dumps([text], ensure_ascii=False).encode())
    assert redactor.is_clean(b"nothing of it is in here, " * 40)


def test_names_numbers_and_documents_within_strings_are_looked_through() -> None:
    redactor = Redactor(known=KnownValues(["83749283746", "Name9Of8A7Key6", '{"a": "Doc9", "b": [1, 2]}']))
    told = body(redactor, {"n": 83749283746, "m": 12, "yes": True, "f": 1.5})
    assert told == '{"n":"***","m":12,"yes":true,"f":1.5}'
    assert body(redactor, {"Name9Of8A7Key6": 1}) == '{"***":1}'
    assert "Doc9" not in body(redactor, ['{"a": "Doc9", "b": [1, 2]}'])


def test_a_short_value_is_found_as_a_word_only() -> None:
    redactor = Redactor(known=KnownValues(["dragon", "83749283"]))
    assert redactor.text("a dragonfly, dragons and snapdragon: 183749283") == (
        "a dragonfly, dragons and snapdragon: 183749283"
    )
    assert redactor.text("'dragon' 83749283\\ndragon\\n") == "'***' ***\\n***\\n"


def test_what_overlaps_goes_whole() -> None:
    values = ["overlap-Aa11Bb22", "Bb22-and-more-Cc33", "Aa11Bb22-an"]
    redactor = Redactor(known=KnownValues(values))
    assert redactor.text("x overlap-Aa11Bb22-and-more-Cc33 y") == "x *** y"
    redactor = Redactor(known=KnownValues(["abcabcabcabcX9", "abcX9abc"]))
    assert redactor.text("abcabcabcabcabcabcX9abc!") == "abcabc***!"


@pytest.mark.parametrize("end", ["", "…", "..."])
def test_a_value_that_was_cut_at_the_end_goes_too(end: str) -> None:
    value = "Begin11Of22A33Value44And55Its66End77"
    redactor = Redactor(known=KnownValues([value]))
    for size in range(16, len(value)):
        assert redactor.text(f"said {value[:size]}{end}") == f"said ***{end}"


def test_a_common_word_of_a_value_is_no_reason_to_look_twice_nor_to_mask_it() -> None:
    redactor = Redactor(known=KnownValues(["correct horse battery staple", "production eu 7"]))
    for text in ("the correct battery", "a staple", "it runs in production", "production eu"):
        assert redactor.is_clean(text.encode())
        assert redactor.text(text) == text


def test_without_a_value_nothing_changes() -> None:
    plain, told = Redactor(), Redactor(known=KnownValues([""]))
    for text in ("password=hunter2hunter2", "honest", "***"):
        assert told.text(text) == plain.text(text)


@settings(max_examples=50)
@given(
    values=st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5),
    noise=st.text(max_size=40),
)
@example(values=["\ud800\udfff" * 4], noise="")
@example(values=["a"], noise="a")
@example(values=["."], noise="...")
@example(values=["\x00" * 9], noise="")
def test_any_value_does_no_harm_and_is_gone(values: list[str], noise: str) -> None:
    known = KnownValues(values)
    redactor = Redactor(known=known)
    for value in values:
        text = f"{noise} {value} {noise}"
        told = redactor.text(text)
        if value.isascii() and value.strip() and not value.isspace():
            assert f" {value} " not in told
        redactor.body(json.dumps([text]).encode())


def test_a_thousand_values_and_a_long_one_are_found_and_none_is_in_an_honest_text() -> None:
    chance = random.Random(5)
    values = ["".join(chance.choices(string.ascii_letters + string.digits, k=40)) for _ in range(1_000)]
    long = "".join(chance.choices(string.printable, k=1 << 20))
    redactor = Redactor(known=KnownValues([*values, long]))
    assert redactor.is_clean(b"orders of customers, shipped from the warehouse " * 1_000)
    for value in values[::50]:
        assert redactor.text(f"a {value} b") == "a *** b"
        assert not redactor.is_clean(base64.b64encode(value.encode()))
    assert redactor.text(f"a {long} b") == "a *** b"


def test_more_values_than_one_pattern_holds_are_found_all_the_same() -> None:
    values = [f"{number:06}-Many{number * 7919 % 99991}Values" for number in range(6_000)]
    redactor = Redactor(known=KnownValues(values))
    assert redactor.text(f"a {values[0]} {values[4777]} {values[-1]} b") == "a *** *** *** b"


def test_of_a_text_made_of_windows_the_rest_is_masked() -> None:
    """A server knows what it was given, and may repeat a part of it without end."""
    value = "Window11Of22A33V" + "and what follows it"
    redactor = Redactor(known=KnownValues([value]))
    told = redactor.text("Window11Of22A33V" * 60_000 + value)
    assert told.endswith("***")
    assert value not in told


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_the_quick_scan_finds_what_the_slow_one_does(value: str) -> None:
    redactor = Redactor(known=KnownValues([value]))
    assert redactor.is_clean(b"x" * WORTH_BYTES)
    redactor.prepare()
    filler = "honest words, " * 100
    assert redactor.is_clean(filler.encode())
    for spell in SPELLINGS.values():
        assert not redactor.is_clean(f"{filler}{spell(value)}{filler}".encode())


def test_a_value_is_in_no_representation() -> None:
    value = "Repr11Of22A33Value44"
    known = KnownValues([value])
    assert value not in repr(known) + repr(Redactor(known=known))
