"""SQLite's tokenizer, by hand, rule for rule (src/tokenize.c of 3.40, sqlite3GetToken).

Where peers fall, and this does not: only `\\n` ends a `--` comment; an unterminated `/*` runs to the end
of the text; `"x"`, `[x]` and `` `x` `` are all identifiers; white space is exactly space, \\t, \\n, \\f, \\r,
and every character above ASCII is an identifier character, NBSP and U+3000 included.

Pure. What SQLite accepts but we will not let through (invisible characters, unterminated comments) is marked
ILLEGAL here too, because no later stage could see it.
"""

import re
import unicodedata

from callgate.sql.tokens import Kind, Token, fold

_SPACE = re.compile(r"[ \t\n\f\r]+")
_LINE_COMMENT = re.compile(r"--[^\n]*")
_WORD = re.compile(r"[A-Za-z_\x80-\U0010FFFF][A-Za-z0-9_$\x80-\U0010FFFF]*")
_BLOB = re.compile(r"[xX]'[^']*'?")
_EVEN_HEX = re.compile(r"[xX]'(?:[0-9A-Fa-f]{2})*'")
# 3.46 also reads 1_000; older versions call it illegal, and an illegal number is refused either way.
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ID_TAIL = re.compile(r"[A-Za-z0-9_$\x80-\U0010FFFF]+")
_OPERATOR = re.compile(r"->>|->|\|\||<<|>>|<=|>=|<>|!=|==|[-+*/%=<>|&~,;().]")
_NUMBERED_VARIABLE = re.compile(r"\?[0-9]*")
# Tcl's $a::b(c) is one variable to SQLite, up to and with the parenthesis.
_NAMED_VARIABLE = re.compile(
    r"[$@:#](?=[A-Za-z0-9_$\x80-\U0010FFFF]|::)"
    r"(?:[A-Za-z0-9_$\x80-\U0010FFFF]|::)+(?:\([^ \t\n\f\r)]*\)?)?"
)
_CLOSING = {"'": "'", '"': '"', "`": "`", "[": "]"}
# Categories of characters that a reader cannot see or that look like a blank.
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"})
# In a comment only those that change where a reader sees it end, or cannot be sent to SQLite at all: C1
# controls, line and paragraph separators, bidirectional overrides, half a surrogate pair. An emoji's joiner
# or a no-break space is harmless there: SQLite and this lexer look for `\n` and `*/` alone.
_DECEPTIVE = re.compile("[\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def lex(text: str) -> tuple[Token, ...]:
    """Total: never raises, and the tokens' texts joined are `text`."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        token = _next(text, at)
        tokens.append(token)
        at = token.end
    return tuple(tokens)


def _next(text: str, at: int) -> Token:
    char = text[at]
    if match := _SPACE.match(text, at):
        return Token(Kind.SPACE, match.group(), at)
    if text.startswith("--", at):
        return _hidden_checked(Kind.COMMENT, _matched(_LINE_COMMENT, text, at), at)
    if text.startswith("/*", at):
        return _block_comment(text, at)
    if char in _CLOSING:
        return _quoted(text, at)
    if match := _BLOB.match(text, at):
        whole = match.group()
        if _EVEN_HEX.fullmatch(whole):
            return Token(Kind.BLOB, whole, at)
        return Token(
            Kind.ILLEGAL, whole, at, fault="a blob literal must be x'…' with an even number of hex digits"
        )
    if match := _WORD.match(text, at):
        return _word(match.group(), at)
    return _number_or_symbol(text, at)


def _matched(pattern: re.Pattern[str], text: str, at: int) -> str:
    match = pattern.match(text, at)
    assert match is not None
    return match.group()


def _word(whole: str, at: int) -> Token:
    if not whole.isascii():
        for char in whole:
            if char > "\x7f" and unicodedata.category(char) in _INVISIBLE:
                return Token(Kind.ILLEGAL, whole, at, fault=_invisible(char))
    return Token(Kind.WORD, whole, at, name=fold(whole))


def _number_or_symbol(text: str, at: int) -> Token:
    if match := _NUMBER.match(text, at):
        whole = match.group()
        if tail := _ID_TAIL.match(text, match.end()):
            whole += tail.group()
            return Token(Kind.ILLEGAL, whole, at, fault=f"{whole[:40]!r} is neither a number nor a name")
        return Token(Kind.NUMBER, whole, at)
    for pattern in (_NUMBERED_VARIABLE, _NAMED_VARIABLE):
        if match := pattern.match(text, at):
            return Token(Kind.VARIABLE, match.group(), at)
    if match := _OPERATOR.match(text, at):
        return Token(Kind.OPERATOR, match.group(), at)
    char = text[at]
    if char < " " or char == "\x7f":
        return Token(Kind.ILLEGAL, char, at, fault=_invisible(char))
    return Token(Kind.ILLEGAL, char, at, fault=f"the character {char!r} has no meaning in SQLite's SQL")


def _block_comment(text: str, at: int) -> Token:
    end = text.find("*/", at + 2)
    if end < 0:
        return Token(Kind.ILLEGAL, text[at:], at, fault="a comment opened with /* is never closed")
    return _hidden_checked(Kind.COMMENT, text[at : end + 2], at)


def _quoted(text: str, at: int) -> Token:
    opening = text[at]
    closing = _CLOSING[opening]
    end = at + 1
    while True:
        end = text.find(closing, end)
        if end < 0:
            return Token(Kind.ILLEGAL, text[at:], at, fault=f"a quote opened with {opening} is never closed")
        # [..] has no doubled form: the first ] ends it.
        if closing != "]" and text.startswith(closing, end + 1):
            end += 2
            continue
        break
    whole = text[at : end + 1]
    inner = whole[1:-1] if closing == "]" else whole[1:-1].replace(closing * 2, closing)
    kind = Kind.STRING if opening == "'" else Kind.QUOTED
    # NUL ends the text for SQLite's C strings, in quotes as well: nothing behind it may be trusted.
    if "\0" in whole or any("\ud800" <= char <= "\udfff" for char in whole):
        return Token(Kind.ILLEGAL, whole, at, fault="a quoted text holds NUL or half a surrogate pair")
    return Token(kind, whole, at, name=fold(inner))


def _hidden_checked(kind: Kind, whole: str, at: int) -> Token:
    """Comments may hold any letters, but nothing that hides where they end."""
    for char in whole:
        if (char < " " and char not in "\t\n\f\r") or char == "\x7f":
            return Token(Kind.ILLEGAL, whole, at, fault=_invisible(char))
        # \r inside a `--` comment does not end it, though every editor shows a new line there.
        if char == "\r" and whole.startswith("--") and not whole.endswith("\r"):
            return Token(Kind.ILLEGAL, whole, at, fault="a carriage return hides inside a -- comment")
        if _DECEPTIVE.match(char):
            return Token(Kind.ILLEGAL, whole, at, fault=_invisible(char))
    return Token(kind, whole, at)


def _invisible(char: str) -> str:
    name = unicodedata.name(char, "control character")
    return f"the invisible character U+{ord(char):04X} ({name}) is not allowed outside quotes"
