"""One plain form of a text for the rules: lower case, look-alike letters as the ASCII ones they look like,
without what is not seen. Pure.

Rules
1. Letters of Latin, Cyrillic and Greek become ASCII: by their look where they look like a Latin letter, by
   their sound where they do not. Rules in these languages are folded in the same way.
2. Letters of other scripts stay. Marks on letters go, and so does what is not seen; tag characters become
   the ASCII they stand for.
3. What each character folds to is known from a table: a text takes time in proportion to its length.
"""

import unicodedata

from callgate.trust.definition_texts import SEPARATOR

_PAIRS = (
    ("абевгдёзийклмнопрстуфхцъыьэіїєґјѕԁԛԝҽһӏѵ", "abebgdeziikimhoppctyfxcbybeiiegjsdqwehlv"),
    ("αβγδεζηθικλμνξοπρσςτυφχωɑɡɩıɪʟօսցհոՕℓ∕⁄⧸․‚", "abgdeznoiklmvxoppsstufxwagiiiloughnol///.,"),
    ("ᴀʙᴄᴅᴇꜰɢʜᴊᴋᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghjkmnoprstuvwyz"),
    # Sentence ends and signs of other scripts.
    ("。！？｡؟।", "......"),
    ("’‘“”«»‐‑–—、，", '\'\'""""----,,'),
)
_LOOKS = {char: look for chars, looks in _PAIRS for char, look in zip(chars, looks, strict=True)} | {
    "ж": "zh", "ч": "ch", "ш": "sh", "щ": "sh", "ю": "yu", "я": "ya", "ψ": "ps", "ß": "ss",
}  # fmt: skip
_KEPT_CATEGORIES = ("Lo", "Lm")
# What is between two strings of a definition is kept too.
_KEPT_SIGNS = f"\n\t\r{SEPARATOR}"
_UNSEEN_CATEGORIES = ("Cf", "Mn", "Me", "Cc", "Cs", "Co", "Cn")
_MAX_EXPANDED = 4


def _folded(char: str) -> str:
    if "\U000e0020" <= char <= "\U000e007e":
        return chr(ord(char) - 0xE0000).lower()
    if char in _KEPT_SIGNS or " " <= char < "\x7f":
        return char.lower()
    if char in _LOOKS:
        return _LOOKS[char]
    category = unicodedata.category(char)
    if category in _UNSEEN_CATEGORIES or char in "\u115f\u1160\u3164\uffa0\u2800":
        return ""
    if category[0] == "Z":
        return " "
    lower = unicodedata.normalize("NFKC", char)[:_MAX_EXPANDED].lower()
    if lower in _LOOKS:
        return _LOOKS[lower]
    plain = unicodedata.normalize("NFD", lower)
    base = "".join(_LOOKS.get(one, one) for one in plain if unicodedata.category(one) not in ("Mn", "Me"))
    if base.isascii():
        return base.lower()
    # A voiced sign belongs to its kana: the composed letter stays.
    return lower if unicodedata.category(char) in _KEPT_CATEGORIES else " "


_ASCII = bytes(range(128))
_ASCII_LOWER = bytes(range(256)).lower()
_ASCII_UNSEEN = bytes(code for code in _ASCII if not _folded(chr(code)))
# The first byte of each other character as a mark, without the rest of it.
_MARK = b"\xff"
_MARKED = _ASCII_LOWER[:0xC0] + _MARK * 0x40
_UNMARKED = _ASCII_UNSEEN + bytes(range(0x80, 0xC0))
# To put in one at its mark takes as long as to look at so many places.
_CHARS_OF_A_MARK = 7
# All other planes have no characters, or private ones: they fold to nothing.
_USED_PLANES = (1, 2, 3, 14)


class _Table:
    """What each character folds to. Its parts are made when they are met first."""

    def __init__(self) -> None:
        self._folded: list[int | str | None] = [None] * 0x10000  # as `str.translate` is fastest with
        self._written = [b""] * 0x10000
        self._blocks = b""  # of 256 characters each, of the first plane
        self._planes = b"\0"

    def fold(self, text: str) -> str:
        self._know(text)
        return text.translate(self._folded)

    def each(self, text: str) -> list[bytes]:
        """Of each character, as UTF-8."""
        self._know(text)
        return [self._written[code] for code in map(ord, text)]

    def _know(self, text: str) -> None:
        codes = text.encode("utf-32-le", errors="surrogatepass")
        for block in set(codes[1::4].translate(None, self._blocks)):
            self._make(block << 8, 0x100)
            self._blocks += bytes([block])
        for plane in set(codes[2::4].translate(None, self._planes)):
            chars = (plane + 1) << 16
            self._folded += [None] * (chars - len(self._folded))
            self._written += [b""] * (chars - len(self._written))
            if plane in _USED_PLANES:
                self._make(plane << 16, 0x10000)
            self._planes += bytes([plane])

    def _make(self, first: int, count: int) -> None:
        for code in range(first, first + count):
            folded = _folded(chr(code))
            self._folded[code] = ord(folded) if len(folded) == 1 else folded or None
            self._written[code] = folded.encode()


_TABLE = _Table()


def fold(text: str) -> str:
    return folded_bytes(text).decode()


def folded_bytes(text: str) -> bytes:
    """As UTF-8. Where most of a text is ASCII, the rest is put in at its places."""
    if text.isascii():
        return text.encode().translate(_ASCII_LOWER, _ASCII_UNSEEN)
    try:
        written = text.encode()
    except UnicodeEncodeError:  # half surrogates: each is three bytes that are no character
        text = text.encode(errors="surrogatepass").decode(errors="replace")
        written = text.encode()
    # Each of the rest has one to three bytes more.
    if (len(written) - len(text)) * _CHARS_OF_A_MARK < len(text) * 3:
        others = written.translate(None, _ASCII).decode()
        if len(others) * _CHARS_OF_A_MARK < len(text):
            pieces = written.translate(_MARKED, _UNMARKED).split(_MARK)
            joined = [b""] * (len(pieces) + len(others))
            joined[::2], joined[1::2] = pieces, _TABLE.each(others)
            return b"".join(joined)
    return _TABLE.fold(text).encode()
