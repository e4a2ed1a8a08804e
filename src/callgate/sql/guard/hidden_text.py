"""Characters that a reader cannot see, or that hide where a comment ends. Shared by every lexer. Pure.

Engines accept most of them; we do not, because no later stage could notice.
"""

import re
import unicodedata

# Categories of characters that a reader cannot see or that look like a blank.
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"})
# Signs that look like SQL's own (；（＝ and typographic quotes) and are letters to the engines.
_SIGNS = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sk"})
# In a comment only those that change where a reader sees it end, or cannot be sent at all: C1 controls, line
# and paragraph separators, bidirectional overrides, half a surrogate pair. An emoji's joiner or a no-break
# space is harmless there: engines and lexers look for `\n` and `*/` alone.
_DECEPTIVE = re.compile("[\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")


def fault_in_name(name: str) -> str:
    """Why a bare name above ASCII is refused, or the empty string."""
    if not name.isascii():
        for char in name:
            if char <= "\x7f":
                continue
            category = unicodedata.category(char)
            if category in _INVISIBLE:
                return invisible(char)
            if category in _SIGNS:
                return f"the character {char} is not a sign of SQL: use the ASCII one, or quote the name"
    return ""


def fault_in_comment(comment: str) -> str:
    """Comments may hold any letters, but nothing that hides where they end."""
    for at, char in enumerate(comment):
        if (char < " " and char not in "\t\n\v\f\r") or char == "\x7f" or _DECEPTIVE.match(char):
            return invisible(char)
        # \r does not end a line comment, though every editor shows a new line there.
        if char == "\r" and not comment.startswith("/*") and at + 1 < len(comment):
            return "a line comment contains a carriage return"
    return ""


def fault_in_quotes(quoted: str) -> str:
    """NUL ends a text for an engine's C strings, in quotes as well: nothing behind it may be trusted."""
    return "a quoted text contains NUL or half a surrogate pair" if _UNSENDABLE.search(quoted) else ""


def invisible(char: str) -> str:
    name = unicodedata.name(char, "control character")
    return f"the invisible character U+{ord(char):04X} ({name}) is not allowed outside quotes"
