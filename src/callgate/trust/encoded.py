"""Commands and orders that are written in another way than they are read: base64, hex, escapes. Pure.

A long piece that does not read as text when it is decoded (a hash, a key, an image) is no finding.
"""

import binascii
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, repeat

from callgate.trust.gap_rules import GapRule, GapRules
from callgate.trust.re2_rules import Hit, Rule, alternatives

_HEX = r"(?:0x)?(?:[0-9a-fA-F]{2}[ :,]?){12,}"
_ESCAPED = r"(?:(?:\\x|%|\\u00|&#x|0x)[0-9a-fA-F]{2}[;, ]{0,2}){8,}"  # `_MIN_ESCAPES` of them
_MIN_BASE64_CHARS = 20
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_BASE64_SIGNS = _HEX_DIGITS + b"ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ+/"
_ESCAPES = b"\\%&0"  # one of them begins each escape
_MIN_ESCAPES = 8


def _marking(signs: bytes) -> bytes:
    """A table for `translate`: these as `x`, everything else as a blank."""
    return bytes(0x78 if code in signs else 0x20 for code in range(256))


# Whether there is a run of them is known long before a search for the pieces would be done.
_BASE64_RUN, _HEX_RUN = _marking(_BASE64_SIGNS + b"-_"), _marking(_HEX_DIGITS)
# Both spellings of base64 as the older one, and everything else as a blank.
_AS_BASE64 = bytes(
    code if code in _BASE64_SIGNS else b"+/"[code == 0x5F] if code in b"-_" else 0x20 for code in range(256)
)
# What a text runs that is not to be read, and how far behind it says so.
_RUNS_ENCODED = (
    (r"(?i)base64\s+(?:-d|-di|--decode|-D)\b", r"[^\n]{0,40}\|\s*(?:ba|z|da)?sh\b"),
    (r"(?i)eval\s*\(\s*(?:atob|base64|unescape|bytes)", ""),
    (r"(?i)powershell", r"[^\n]{0,40}-e(?:nc|ncodedcommand)?\s+[a-z0-9+/=]{16}"),
    (r"(?i)exec\s*\(\s*(?:base64|codecs|bytes)", ""),
    (r"(?i)xxd\s+-r\s+-p", r"[^\n]{0,20}\|\s*(?:ba|z)?sh\b"),
    (r"(?i)decode (?:this|the|it|following)", r"[^\n.]{0,60}(?:and|then) (?:run|execute|follow|obey|do)"),
)
_COMMAND = (
    r"(?i)\b(?:curl|wget|bash|/bin/sh|sh -c|zsh|powershell|cmd\.exe|nc -|ncat|netcat|rm -rf|chmod|"
    r"python3? -c|perl -e|node -e|"
    r"eval\(|exec\(|os\.system|subprocess|scp|ssh |invoke-webrequest|iwr|certutil|cat ~|cat /|base64 -d|"
    r"sudo|"
    r"\.ssh|id_rsa|/etc/passwd|\.env\b|\.aws)"
)
# For whoever looks for it and for more in one pass.
RUNS_ENCODED_BEGINNING = alternatives(*(first for first, _ in _RUNS_ENCODED))
# Letters as their codes in decimal; any other number, and anything else, ends a piece.
_CODE_OF = {b"%d" % code: code for code in range(30, 127)}
_CODES = r"[0-9 ,;]{35,}"  # at least `_MIN_CODES`, and signs before them
_MIN_CODES_CHARS = 35
_MIN_CODES = 12
_BLANKS = bytes(0x20 if code in b",;" else code for code in range(256))
_PRINTED = bytes(range(32, 127)) + b"\r\n\t"
# No honest definition has so many: not of those that read as text when they are decoded, nor of others.
_MAX_READABLE = 16
_MAX_DECODED = 32
_MIN_PLAIN_BYTES = 10
# A piece that reads as text has as many printed characters in a row; zeros are half of UTF-16.
_PRINTED_RUN, _MIN_PRINTED_RUN = _marking(_PRINTED + b"\0"), b"x" * 8


@cache
def _compiled(pattern: str) -> Rule:
    return Rule(pattern)


class TooManyPiecesError(Exception):
    """Where the last one is that was looked at."""

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.start = start


def decoded_pieces(text: bytes) -> list[tuple[str, int]]:
    """What is written in another way, as far as it reads as text, and where it starts. Raises
    TooManyPiecesError."""
    readable: list[tuple[str, int]] = []
    for number, (plain, start) in enumerate(_decoded(text)):
        if plain is not None and (told := _as_text(plain)) is not None:
            readable.append((told, start))
        if number >= _MAX_DECODED or len(readable) > _MAX_READABLE:
            raise TooManyPiecesError(start)
    return readable


def _decoded(text: bytes) -> Iterator[tuple[bytes | None, int]]:
    is_hex = b"x" * 24 in text.translate(_HEX_RUN, b" :,;")
    # What is left after a deletion is counted several times faster than `count` counts.
    has_escapes = len(text) - len(text.translate(None, _ESCAPES)) >= _MIN_ESCAPES
    for pieces, decode in (
        (_base64_pieces(text), _of_base64),
        (_pieces(_HEX, text) if is_hex else (), _of_hex),
        (_pieces(_ESCAPED, text) if has_escapes else (), _of_hex),
        (_code_pieces(text) if is_hex else (), bytes),
    ):
        for piece, start in pieces:
            yield decode(piece), start


def _as_text(plain: bytes) -> str | None:
    if len(plain) < _MIN_PLAIN_BYTES:
        return None
    if not plain[1] and not any(plain[1::2]):  # UTF-16, as Windows encodes commands
        plain = plain[::2]
    is_text = len(plain.translate(None, _PRINTED)) <= 0.05 * len(plain)
    return plain.decode(errors="replace") if is_text else None


def _base64_pieces(text: bytes) -> Iterator[tuple[bytes, int]]:
    """Those that may read as text. All are decoded at once, for most do not, and there may be very many."""
    if b"x" * _MIN_BASE64_CHARS not in text.translate(_BASE64_RUN):
        return
    as_base64, at = text.translate(_AS_BASE64), 0
    pieces = [piece for piece in dict.fromkeys(as_base64.split()) if len(piece) >= _MIN_BASE64_CHARS]
    plain = binascii.a2b_base64(b"".join([piece[: len(piece) & ~3] for piece in pieces]))
    printed = plain.translate(_PRINTED_RUN)
    ends = list(accumulate(len(piece) // 4 * 3 for piece in pieces))
    start = 0
    while (start := printed.find(_MIN_PRINTED_RUN, start)) >= 0:
        number = bisect_right(ends, start)
        at = as_base64.find(pieces[number], at)
        yield pieces[number], at
        start = ends[number]


def _pieces(pattern: str, text: bytes) -> Iterator[tuple[bytes, int]]:
    return ((text[start:stop], start) for start, stop in _compiled(pattern).spans(text))


def _code_pieces(text: bytes) -> Iterator[tuple[bytes, int]]:
    for run, at in _pieces(_CODES, text):
        codes = run.translate(_BLANKS).lstrip()
        start = at + len(run) - len(codes)
        if len(codes) < _MIN_CODES_CHARS:
            continue
        numbers = codes.split()
        for piece in bytes(map(_CODE_OF.get, numbers, repeat(0))).split(b"\0"):
            if len(piece) >= _MIN_CODES:
                yield piece, start


def command_in(text: bytes) -> Hit | None:
    return _compiled(_COMMAND).found(text)


@cache
def _runs_encoded() -> GapRules:
    return GapRules([GapRule("encoded", first, first + second) for first, second in _RUNS_ENCODED])


def runs_encoded(text: bytes) -> Hit | None:
    """Raises TooManyPlacesError."""
    return _runs_encoded().first_found(text)


def _of_base64(piece: bytes) -> bytes:
    plain = piece[: len(piece) - (len(piece) % 4 == 1)]
    return binascii.a2b_base64(plain + b"=" * (-len(plain) % 4))


def _of_hex(piece: bytes) -> bytes | None:
    plain = piece.lower()
    for sign in (b"\\u00", b"&#x", b"\\x", b"0x"):
        plain = plain.replace(sign, b"")
    plain = plain.translate(None, b"%;, :")
    try:
        return bytes.fromhex(plain[: len(plain) // 2 * 2].decode())
    except ValueError:
        return None
