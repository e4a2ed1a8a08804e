"""One plain form of a text for the rules: lower case, look-alike letters as the ASCII ones they look like,
without what is not seen. Pure.

Rules
1. Letters of Latin, Cyrillic and Greek become ASCII: by their look where they look like a Latin letter, by
   their sound where they do not. Rules in these languages are folded in the same way.
2. Letters of other scripts stay. Marks on letters go, and so does what is not seen; tag characters become
   the ASCII they stand for.
3. Each character is looked at once and remembered: a text takes time in proportion to its length.
"""

import re
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
# A server may send every character there is; what is known is forgotten then.
_MAX_KNOWN = 50_000
_MAX_EXPANDED = 4


class _Fold(dict[int, str]):
    def __missing__(self, code: int) -> str:
        if len(self) > _MAX_KNOWN:
            self.clear()
        self[code] = folded = _folded(chr(code))
        return folded


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


_FOLD = _Fold()
# Letters that fold to themselves, for the most part of the scripts that are in use: Hebrew, Arabic,
# Devanagari, Thai, kana, CJK, Hangul.
_KEPT = (
    r"\u05d0-\u05ea\u0620-\u063f\u0641-\u064a\u0904-\u0939\u0e01-\u0e30"
    r"\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
)
_TO_FOLD = re.compile(rf"[^{_KEPT_SIGNS} -~{_KEPT}]")
_ASCII_LOWER = bytes(range(256)).lower()
_ASCII_UNSEEN = bytes(code for code in range(128) if not _FOLD[code])
_MAX_REPLACED = 36
# After so many it is counted how many different ones there are in the next characters.
_REPLACED_BEFORE_LOOK = 12
_LOOKED_AT = 256
_MAX_DIFFERENT = 40
# By how many bytes it is longer than its characters: what makes it so is looked at one by one.
_CHARS_OF_A_RARE_BYTE = 16
# All other planes have no characters, or private ones: they fold to nothing.
_USED_PLANES = (1, 2, 3, 14)


class _Table:
    """What each character folds to, for a text of very many different ones: twice as fast as a look into the
    memory of single ones, and no text makes it forget. Its parts are made when they are met first."""

    def __init__(self) -> None:
        self._folded: list[int | str | None] = [None] * 0x10000
        self._blocks = b""  # of 256 characters each, of the first plane
        self._planes = b"\0"

    def fold(self, text: str) -> str:
        codes = text.encode("utf-32-le", errors="surrogatepass")
        for block in set(codes[1::4].translate(None, self._blocks)):
            self._make(block << 8, 0x100)
            self._blocks += bytes([block])
        for plane in set(codes[2::4].translate(None, self._planes)):
            self._folded += [None] * (((plane + 1) << 16) - len(self._folded))
            if plane in _USED_PLANES:
                self._make(plane << 16, 0x10000)
            self._planes += bytes([plane])
        return text.translate(self._folded)

    def _make(self, first: int, count: int) -> None:
        for code in range(first, first + count):
            folded = _folded(chr(code))
            self._folded[code] = ord(folded) if len(folded) == 1 else folded or None


_TABLE = _Table()


def fold(text: str) -> str:
    """One `replace` for each character there is: several times faster than a look at each place.

    Where they are rare they are found instead, and a text with very many different ones is looked through at
    each place.
    """
    if text.isascii():
        return text.encode().translate(_ASCII_LOWER, _ASCII_UNSEEN).decode()
    at = 0
    for number in range(_MAX_REPLACED):
        if number == _REPLACED_BEFORE_LOOK:
            more_bytes = len(text.encode(errors="surrogatepass")) - len(text)
            if more_bytes * _CHARS_OF_A_RARE_BYTE < len(text):
                return _TO_FOLD.sub(lambda found: _FOLD[ord(found[0])], text).lower()
            ahead = {char for char in text[at : at + _LOOKED_AT] if not char.isascii()}
            if len(ahead) > _MAX_DIFFERENT:
                break
        if (found := _TO_FOLD.search(text, at)) is None:
            return text.lower()
        at = found.start()
        folded = _FOLD[ord(found[0])]
        if not folded.isascii():
            break
        text = text.replace(found[0], folded)
    return text[:at].lower() + _TABLE.fold(text[at:])
