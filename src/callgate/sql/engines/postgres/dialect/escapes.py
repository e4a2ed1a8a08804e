"""What the escapes in E'…' and U&'…' stand for, as PostgreSQL reads them. Pure."""

import re

_E = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{4})"
    r"|U(?P<long>[0-9A-Fa-f]{8})|(?P<bad>[uU])|(?P<other>(?s:.)))|(?P<quotes>'')|(?P<plain>[^\\']+)"
)
_NAMED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HIGH = range(0xD800, 0xDC00)
_LOW = range(0xDC00, 0xE000)


class EscapeFault(Exception):  # noqa: N818 - says what is wrong with a literal, and never leaves the lexer
    pass


def unescape_e(raw: str) -> str:
    """The value of E'raw'. Octal and hex escapes are bytes of UTF-8, all others are characters."""
    value = bytearray()
    points = _Points(value)
    for match in _E.finditer(raw):
        kind = match.lastgroup
        piece = match.group(kind) if kind is not None else ""
        match kind:
            case "short" | "long":
                points.add(int(piece, 16))
                continue
            case "octal":
                points.end()
                value.append(int(piece, 8) & 0xFF)
            case "hex":
                points.end()
                value.append(int(piece, 16))
            case "bad":
                raise EscapeFault("a Unicode escape must be \\uXXXX or \\UXXXXXXXX")
            case "quotes":
                points.end()
                value += b"'"
            case "other":
                points.end()
                value += _NAMED.get(piece, piece).encode(errors="surrogatepass")
            case _:
                points.end()
                value += piece.encode(errors="surrogatepass")
    points.end()
    return _decoded(value)


def unescape_u(raw: str, escape: str) -> str:
    """The value of U&'raw' and U&"raw", the doubled quotes already taken out."""
    value = bytearray()
    points = _Points(value)
    mark = re.escape(escape)
    pattern = re.compile(
        rf"{mark}(?:(?P<short>[0-9A-Fa-f]{{4}})|\+(?P<long>[0-9A-Fa-f]{{6}})|(?P<escape>{mark})|(?P<bad>))"
        rf"|(?P<plain>[^{mark}]+)"
    )
    for match in pattern.finditer(raw):
        kind = match.lastgroup
        piece = match.group(kind) if kind is not None else ""
        if kind in ("short", "long"):
            points.add(int(piece, 16))
            continue
        if kind == "bad":
            raise EscapeFault(f"a Unicode escape must be {escape}XXXX or {escape}+XXXXXX")
        points.end()
        value += piece.encode(errors="surrogatepass")
    points.end()
    return _decoded(value)


class _Points:
    """Code points on their way into a text: two halves of a surrogate pair become one."""

    def __init__(self, value: bytearray) -> None:
        self._value = value
        self._high = 0

    def add(self, point: int) -> None:
        if point == 0 or point > 0x10FFFF:
            raise EscapeFault("a Unicode escape does not name a character")
        if self._high:
            if point not in _LOW:
                raise EscapeFault("a Unicode escape is half of a surrogate pair, without the other half")
            point = 0x10000 + (self._high - 0xD800) * 0x400 + (point - 0xDC00)
            self._high = 0
        elif point in _HIGH:
            self._high = point
            return
        elif point in _LOW:
            raise EscapeFault("a Unicode escape is half of a surrogate pair, without the other half")
        self._value += chr(point).encode()

    def end(self) -> None:
        """Something other than a Unicode escape follows."""
        if self._high:
            raise EscapeFault("a Unicode escape is half of a surrogate pair, without the other half")


def _decoded(value: bytearray) -> str:
    try:
        return value.decode(errors="strict")
    except UnicodeDecodeError:
        raise EscapeFault("the escapes do not make up UTF-8 text") from None
