"""Text of strangers on a terminal: nothing in it may act, everything in it can be seen."""

import json
import sys
import unicodedata

import pytest

from callgate.model.terminal_text import one_safe_line, safe_for_terminal

# Categories of characters that a terminal acts on, or does not show.
ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Of those: what text needs, and what cannot mislead. Line feed and tab, soft hyphen, the joiners of Persian
# and of emoji, Arabic and Kaithi number signs, Syriac, Egyptian, shorthand and musical signs.
READABLE = {
    *"\n\t\u00ad\u06dd\u070f\u08e2\u200c\u200d\U000110bd\U000110cd",
    *map(chr, range(0x0600, 0x0606)),
    *map(chr, range(0x0890, 0x0892)),
    *map(chr, range(0x13430, 0x13440)),
    *map(chr, range(0x1BCA0, 0x1BCA4)),
    *map(chr, range(0x1D173, 0x1D17B)),
}


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J\x1b[1;1H", r"\u001b[2J\u001b[1;1H"),
        ("\x1b]0;title\x07", r"\u001b]0;title\u0007"),
        ("\x9b31m", r"\u009b31m"),
        ("a\rb", r"a\u000db"),
        ("a\x08b\x7f", r"a\u0008b\u007f"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("\U000e0041", r"\udb40\udc41"),
        ("\udc9b", r"\udc9b"),
    ],
)
def test_what_acts_on_a_terminal_is_written_out(hostile: str, shown: str) -> None:
    assert safe_for_terminal(hostile) == shown


@pytest.mark.parametrize(
    "text", ["", "Zoë ☃ 株式会社 👩‍👩‍👧", "a\tb\nc", "one\r\ntwo\r\n", "می‌خواهم", "C:\\u001b"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert safe_for_terminal(text) == text


def test_every_character_that_acts_or_hides_is_known() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    acting = {char for char in every if unicodedata.category(char) in ACTING}
    assert {char for char in acting if safe_for_terminal(char) == char} <= READABLE


def test_json_stays_the_same_json() -> None:
    value = {"\x9b2J": ["\x1b[0m", "\u202e", "\x7f", "\U000e0041", "\r", "\ud800", "ü\n"]}
    for indent in (None, 2):
        told = json.dumps(value, ensure_ascii=False, indent=indent)
        assert json.loads(safe_for_terminal(told)) == value


def test_one_line_has_no_line_break_of_any_kind() -> None:
    hostile = "1.0\nerror: forged\r\nx\ry\x0bz\x0c\x1c\x1d\x1e\x85\u2028\u2029\t."
    line = one_safe_line(hostile)
    assert line.splitlines() == [line]
    assert line.startswith("1.0 error: forged x ")


def test_both_are_done_when_done() -> None:
    for make_safe in (safe_for_terminal, one_safe_line):
        once = make_safe("a\x1b\n\r\x9b\u202e\r\n")
        assert make_safe(once) == once
