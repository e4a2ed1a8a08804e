"""Commands and orders that are written in another way than they are read: base64, hex, escapes. Pure.

A long piece that does not read as text when it is decoded (a hash, a key, an image) is no finding.
"""

import base64
import binascii
from collections.abc import Iterator
from functools import cache

from callgate.trust.re2_rules import Rule

_BASE64 = r"[A-Za-z0-9+/_-]{20,}={0,2}"
_HEX = r"(?:0x)?(?:[0-9a-fA-F]{2}[ :,]?){12,}"
_ESCAPED = r"(?:(?:\\x|%|\\u00|&#x|0x)[0-9a-fA-F]{2}[;, ]{0,2}){8,}"
_CODES = r"(?:\b(?:[3-9][0-9]|1[01][0-9]|12[0-6])[ ,;]{1,2}){11,}(?:[3-9][0-9]|1[01][0-9]|12[0-6])\b"
_ANY_CODED = "|".join(f"(?:{one})" for one in (_BASE64, _HEX, _ESCAPED, _CODES))
_RUNS_ENCODED = (
    r"(?i)base64\s+(?:-d|-di|--decode|-D)\b[^\n]{0,40}\|\s*(?:ba|z|da)?sh\b|eval\s*\(\s*(?:atob|base64|"
    r"unescape|bytes)"
    r"|powershell[^\n]{0,40}-e(?:nc|ncodedcommand)?\s+[a-z0-9+/=]{16}|exec\s*\(\s*(?:base64|codecs|bytes)"
    r"|xxd\s+-r\s+-p[^\n]{0,20}\|\s*(?:ba|z)?sh\b|decode (?:this|the|it|following)[^\n.]{0,60}(?:and|"
    r"then) (?:run|execute|follow|obey|do)"
)
_COMMAND = (
    r"(?i)\b(?:curl|wget|bash|/bin/sh|sh -c|zsh|powershell|cmd\.exe|nc -|ncat|netcat|rm -rf|chmod|"
    r"python3? -c|perl -e|node -e|"
    r"eval\(|exec\(|os\.system|subprocess|scp|ssh |invoke-webrequest|iwr|certutil|cat ~|cat /|base64 -d|"
    r"sudo|"
    r"\.ssh|id_rsa|/etc/passwd|\.env\b|\.aws)"
)
_PRINTED = bytes(range(32, 127)) + b"\r\n\t"
_MAX_PIECES = 64
_MAX_PIECE_CHARS = 16 * 1024


@cache
def _compiled(pattern: str) -> Rule:
    return Rule(pattern)


def decoded_pieces(text: bytes) -> Iterator[str]:
    """What is written in another way, as far as it reads as text."""
    if _compiled(_ANY_CODED).found(text) is None:  # one pass instead of four
        return
    for pattern, decode in ((_BASE64, _of_base64), (_HEX, _of_hex), (_ESCAPED, _of_hex), (_CODES, _of_codes)):
        for number, (start, stop) in enumerate(_compiled(pattern).spans(text)):
            if number >= _MAX_PIECES:
                break
            plain = decode(text[start : min(stop, start + _MAX_PIECE_CHARS)])
            if plain is not None and not any(plain[1::2]):  # UTF-16, as Windows encodes commands
                plain = plain[::2]
            if plain is not None and _reads_as_text(plain):
                yield plain.decode()


def command_in(text: bytes) -> str | None:
    return _compiled(_COMMAND).found(text)


def runs_encoded(text: bytes) -> str | None:
    return _compiled(_RUNS_ENCODED).found(text)


def _of_base64(piece: bytes) -> bytes | None:
    plain = piece.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _of_hex(piece: bytes) -> bytes | None:
    plain = piece.lower()
    for sign in (b"\\u00", b"&#x", b"\\x", b"0x"):
        plain = plain.replace(sign, b"")
    plain = plain.translate(None, b"%;, :")
    try:
        return bytes.fromhex(plain[: len(plain) // 2 * 2].decode())
    except ValueError:
        return None


def _of_codes(piece: bytes) -> bytes | None:
    return bytes(int(one) for one in piece.replace(b",", b" ").replace(b";", b" ").split() if int(one) < 256)


def _reads_as_text(plain: bytes) -> bool:
    return len(plain) > 9 and len(plain.translate(None, _PRINTED)) <= 0.05 * len(plain)
