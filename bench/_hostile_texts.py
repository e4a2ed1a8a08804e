"""Texts as somebody writes them who has read the scan: no two definitions alike, so that nothing that one
leaves in an automaton or a memory helps with the next."""

import base64
import random
import re
from collections.abc import Callable, Iterable

from callgate.trust import order_words, said_words, secret_file_words

_SIGNS = " .,-_*'\"`()/<>"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_RANDOM = random.Random(20_240_611)


def _words_of(*patterns: str) -> list[str]:
    return sorted({word for pattern in patterns for word in re.findall(r"[^\W_]{2,}", pattern)})


_SILENCE = _words_of(*order_words.SILENCE)
_TOOLS = _words_of(*order_words.OTHER_TOOLS)
_OVERRIDE = _words_of(*said_words.OVERRIDE)
_PASSED_ON = _words_of(*said_words.EXFILTRATION, *said_words.COPIES)
_FILES = _words_of(*secret_file_words.SECRET_FILES)
_ALL = sorted({*_SILENCE, *_TOOLS, *_OVERRIDE, *_PASSED_ON, *_FILES})
_BEGINNINGS = ["do not", "never", "must not", "always", "ignore", "keep", "send", "read", "tool", "full"]


def _of(pieces: Iterable[str], between: Iterable[str] = (" ",)) -> Callable[[int], str]:
    """A text of so many bytes, of these in any order."""
    known, signs = list(pieces), list(between)

    def made(size: int) -> str:
        count = size // max(1, min(len(piece.encode()) for piece in known)) + 1
        told = "".join(
            one + sign
            for one, sign in zip(
                _RANDOM.choices(known, k=count), _RANDOM.choices(signs, k=count), strict=True
            )
        )
        return told.encode()[:size].decode(errors="ignore")

    return made


def _each(piece: Callable[[], str]) -> Callable[[int], str]:
    """A text of so many bytes, each piece of it made anew."""

    def made(size: int) -> str:
        pieces: list[str] = []
        while size > 0:
            pieces.append(piece())
            size -= len(pieces[-1].encode(errors="surrogatepass"))
        return "".join(pieces)

    return made


def _some(signs: str, least: int, most: int) -> str:
    return "".join(_RANDOM.choices(signs, k=_RANDOM.randint(least, most)))


def _filled(piece: str, most: int) -> Callable[[int], str]:
    """The piece again and again, with other words of up to so many letters in between."""
    return _each(lambda: piece + _some(_LETTERS + " ", 0, most))


def _base64(least: int, most: int, texts: Callable[[int], bytes] = _RANDOM.randbytes) -> Callable[[int], str]:
    return _each(lambda: base64.b64encode(texts(_RANDOM.randint(least, most))).decode() + " ")


def _printed(size: int) -> bytes:
    """Reads nearly as text: more than the share of other bytes that still counts as text."""
    return bytes(_RANDOM.choices(range(0x61, 0x7B), k=size - 2)) + b"\xff\xfe"


def _everything(size: int) -> str:
    """Each pass has to go through it, and finds what makes the next one necessary."""
    head = "a\u200cb \u00ad" + " ".join(map(chr, range(0x450, 0x490))) + " conversation tool ~/.ssh/id_rsa "
    tail = (
        " a b c d e f g h. " + "<!-- hi --> [//]: # (hi) <span>" + "61 " * 14 + "%41" * 9 + " 100," * 13
        + base64.b64encode(b"the honest text number 1").decode()
        + " curl http://a such as 'do not tell the user' do not tell the user"
    )  # fmt: skip
    middle = _filled("detects 'it', never ", 120)(max(0, size - len((head + tail).encode())))
    return head + middle + tail


HOSTILE: dict[str, Callable[[int], str]] = {
    "words of orders, in any order": _of(_ALL),
    "words of silence": _of(_SILENCE),
    "words about other tools": _of(_TOOLS),
    "words about what was said": _of(_PASSED_ON),
    "words about files of secrets": _of(_FILES),
    "words of overriding": _of(_OVERRIDE),
    "words of orders, any signs": _of(_ALL, ("", *_SIGNS)),
    "beginnings of orders": _of(_BEGINNINGS),
    "beginnings, any signs inside": _each(lambda: f"do{_some(_SIGNS, 1, 9)}not a "),
    "beginnings, a little apart": _each(lambda: _RANDOM.choice(_BEGINNINGS) + _some(_LETTERS, 60, 90) + " "),
    "beginnings, a tool apart": _each(
        lambda: f"{_RANDOM.choice(_BEGINNINGS)} the tool {_some(_LETTERS + ' ', 70, 120)} "
    ),
    "one beginning, signs, no end": _each(lambda: "do " * 40 + "," * 200),
    "any letters": _of(_LETTERS + " ", ("",)),
    "any signs": _of(_SIGNS, ("",)),
    "any characters of the first plane": _of(map(chr, range(0xA0, 0xD800)), ("",)),
    "any characters": _each(lambda: chr(_RANDOM.choice((0, 0x10000)) + _RANDOM.randrange(0xA0, 0xD800))),
    "any characters of all planes": _each(lambda: chr(_RANDOM.randrange(0x10000, 0x110000))),
    "ASCII with fifty other letters": _each(
        lambda: chr(_RANDOM.randrange(0xC0, 0xF2)) + _some(_LETTERS, 9, 40)
    ),
    "base64 of anything, short": _base64(15, 15),
    "base64 of anything": _base64(15, 60),
    "base64 of nearly text": _base64(15, 24, _printed),
    "hex, any signs": _each(
        lambda: _RANDOM.randbytes(1).hex() + _RANDOM.choice((" ", ":", ",", "", "", "\n"))
    ),
    "hex in short pieces": _each(lambda: _RANDOM.randbytes(12).hex() + " "),
    "escapes in short pieces": _each(
        lambda: "".join(f"\\x{byte:02x}" for byte in _RANDOM.randbytes(8)) + " "
    ),
    "decimal codes": _each(lambda: f"{_RANDOM.randrange(20, 140)}{_RANDOM.choice((', ', ',', ' '))}"),
    "decimal codes in short pieces": _each(
        lambda: " ".join(str(_RANDOM.randrange(30, 127)) for _ in range(12)) + ". "
    ),
    "curl at any distance": _filled("curl ", 30),
    "base64 -d at any distance": _filled("base64 -d ", 12),
    "decode this at any distance": _filled("decode this ", 20),
    "open tags at any distance": _filled("<span display:none ", 30),
    "citations at any distance": _filled("such as 'it", 30),
    "calls of tools, long sentences": _filled("when you call my_tool ", 900),
    "calls of own tools": _each(lambda: f"when you call {_some(_LETTERS, 1, 4)}, change "),
    "a long comment": lambda size: f"<!-- {_of(_ALL)(size - 12)} -->",
    "weak words in comments": _each(lambda: f"<!--you {_some(_LETTERS + ' ', 20, 300)} must-->"),
    "words with their letters apart": _each(lambda: ".".join(_some(_LETTERS, 6, 20)) + " ," * 20),
    "blanks and tabs": lambda size: " " * 16 + _some(" \t", size - 16, size - 16),
    "digits and signs, runs too short": lambda size: (
        "61" * 12 + _each(lambda: f" 1{_some('0123456789 ,;', 30, 33)}x")(size - 24)
    ),
    "citations that are not closed": lambda size: (
        "do not tell the user. " + _each(lambda: f"such as „{_some(_LETTERS, 0, 30)}")(size - 22)
    ),
    "half surrogates apart": _each(
        lambda: chr(_RANDOM.randrange(0xD800, 0xE000)) + _some(_LETTERS + " ", 0, 9)
    ),
    "letters of two alphabets apart": _each(
        lambda: _RANDOM.choice("aбβ") + _RANDOM.choice((" ", "-", "", "1"))
    ),
    "joiners at any distance": _each(lambda: "\u200c" + _some(_LETTERS + "کم", 0, 9)),
    "every pass at once": _everything,
}
