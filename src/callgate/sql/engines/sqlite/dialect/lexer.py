"""SQLite's tokenizer, by hand, rule for rule (src/tokenize.c of 3.40, sqlite3GetToken).

Where peers fall, and this does not: only `\\n` ends a `--` comment; an unterminated `/*` runs to the end
of the text; `"x"`, `[x]` and `` `x` `` are all identifiers; white space is exactly space, \\t, \\n, \\f, \\r,
and every character above ASCII is an identifier character, NBSP and U+3000 included.

Pure. What SQLite accepts but we will not let through (invisible characters, unterminated comments) is marked
ILLEGAL here too, because no later stage could see it.
"""

import re
from functools import partial

from callgate.sql.guard.hidden_text import fault_in_comment, fault_in_name, fault_in_quotes, invisible
from callgate.sql.guard.tokens import Token, TokenKind, fold, lex_by, word_token

_SPACE = re.compile(r"[ \t\n\f\r]+")
_LINE_COMMENT = re.compile(r"--[^\n]*")
_WORD = re.compile(r"[A-Za-z_\x80-\U0010FFFF][A-Za-z0-9_$\x80-\U0010FFFF]*")
_BLOB = re.compile(r"[xX]'[^']*'?")
_EVEN_HEX = re.compile(r"[xX]'(?:[0-9A-Fa-f]{2})*'")
# 3.46 also reads 1_000; older versions call it illegal, and refuse the statement.
_DIGITS = "[0-9](?:_?[0-9])*"
_NUMBER = re.compile(
    rf"0[xX][0-9A-Fa-f](?:_?[0-9A-Fa-f])*|(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_ID_TAIL = re.compile(r"[A-Za-z0-9_$\x80-\U0010FFFF]+")
_OPERATOR = re.compile(r"->>|->|\|\||<<|>>|<=|>=|<>|!=|==|[-+*/%=<>|&~,;().]")
_NUMBERED_VARIABLE = re.compile(r"\?[0-9]*")
# Tcl's $a::b(c) is one variable to SQLite, up to and with the parenthesis.
_NAMED_VARIABLE = re.compile(
    r"[$@:#](?=[A-Za-z0-9_$\x80-\U0010FFFF]|::)"
    r"(?:[A-Za-z0-9_$\x80-\U0010FFFF]|::)+(?:\([^ \t\n\f\r)]*\)?)?"
)
_CLOSING = {"'": "'", '"': '"', "`": "`", "[": "]"}


def _next(text: str, at: int) -> Token:
    char = text[at]
    if match := _SPACE.match(text, at):
        return Token(TokenKind.SPACE, match.group(), at)
    if text.startswith("--", at):
        return _comment(_matched(_LINE_COMMENT, text, at), at)
    if text.startswith("/*", at):
        return _block_comment(text, at)
    if char in _CLOSING:
        return _quoted(text, at)
    if match := _BLOB.match(text, at):
        whole = match.group()
        if _EVEN_HEX.fullmatch(whole):
            return Token(TokenKind.BLOB, whole, at)
        return Token(
            TokenKind.ILLEGAL,
            whole,
            at,
            fault="a blob literal must be x'…' with an even number of hex digits",
        )
    if match := _WORD.match(text, at):
        return _word(match.group(), at)
    return _number_or_symbol(text, at)


def _matched(pattern: re.Pattern[str], text: str, at: int) -> str:
    match = pattern.match(text, at)
    assert match is not None
    return match.group()


def _word(whole: str, at: int) -> Token:
    if fault := fault_in_name(whole):
        return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
    return word_token(whole, at)


def _number_or_symbol(text: str, at: int) -> Token:
    if match := _NUMBER.match(text, at):
        whole = match.group()
        if tail := _ID_TAIL.match(text, match.end()):
            whole += tail.group()
            return Token(TokenKind.ILLEGAL, whole, at, fault=f"{whole[:40]!r} is neither a number nor a name")
        return Token(TokenKind.NUMBER, whole, at)
    for pattern in (_NUMBERED_VARIABLE, _NAMED_VARIABLE):
        if match := pattern.match(text, at):
            return Token(TokenKind.VARIABLE, match.group(), at)
    if match := _OPERATOR.match(text, at):
        return Token(TokenKind.OPERATOR, match.group(), at)
    char = text[at]
    if char < " " or char == "\x7f":
        return Token(TokenKind.ILLEGAL, char, at, fault=invisible(char))
    return Token(TokenKind.ILLEGAL, char, at, fault=f"the character {char!r} has no meaning in SQLite's SQL")


def _block_comment(text: str, at: int) -> Token:
    end = text.find("*/", at + 2)
    if end < 0:
        return Token(TokenKind.ILLEGAL, text[at:], at, fault="a comment opened with /* is never closed")
    return _comment(text[at : end + 2], at)


def _quoted(text: str, at: int) -> Token:
    opening = text[at]
    closing = _CLOSING[opening]
    end = at + 1
    while True:
        end = text.find(closing, end)
        if end < 0:
            return Token(
                TokenKind.ILLEGAL, text[at:], at, fault=f"a quote opened with {opening} is never closed"
            )
        # [..] has no doubled form: the first ] ends it.
        if closing != "]" and text.startswith(closing, end + 1):
            end += 2
            continue
        break
    whole = text[at : end + 1]
    inner = whole[1:-1] if closing == "]" else whole[1:-1].replace(closing * 2, closing)
    kind = TokenKind.STRING if opening == "'" else TokenKind.QUOTED
    if fault := fault_in_quotes(whole):
        return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
    return Token(kind, whole, at, name=fold(inner))


def _comment(whole: str, at: int) -> Token:
    if fault := fault_in_comment(whole):
        return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
    return Token(TokenKind.COMMENT, whole, at)


# Total: it never raises, and the texts of its tokens joined are the text it was given.
lex = partial(lex_by, _next)
