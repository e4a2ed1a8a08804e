"""One plain form of a text for the rules: lower case, look-alike letters as the ASCII ones they look like,
without what is not seen. Pure.

Rules
1. Letters of Latin, Cyrillic and Greek become ASCII: by their look where they look like a Latin letter, by
   their sound where they do not. Rules in these languages are folded in the same way.
2. Letters of other scripts stay. Marks on letters go, and so does what is not seen; tag characters become
   the ASCII they stand for.
3. Each character is looked at once and remembered: a text takes time in proportion to its length.
"""

import unicodedata

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
    if char in "\n\t\r" or " " <= char < "\x7f":
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


def fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLD)
