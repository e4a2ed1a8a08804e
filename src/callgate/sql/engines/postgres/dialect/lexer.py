"""PostgreSQL's tokenizer, by hand, rule for rule (src/backend/parser/scan.l of 15 and 16).

`standard_conforming_strings = on` and a UTF-8 client are taken for granted: the driver pins both.
Where peers fall, and this does not: comments nest; `--` ends at \\n and at \\r; only in E'…' a backslash
escapes; a string goes on behind a line break; a dollar quote needs no letter, its tag may be of any script;
an operator ends before `--` and `/*`; every character above ASCII is an identifier character, NBSP included.

Pure. What PostgreSQL accepts but we will not let through (invisible characters) is marked ILLEGAL here too,
because no later stage could see it.
"""

import re
from functools import partial

from callgate.sql.engines.postgres.dialect.escapes import EscapeFault, unescape_e, unescape_u
from callgate.sql.guard.hidden_text import fault_in_comment, fault_in_name, fault_in_quotes
from callgate.sql.guard.tokens import Token, TokenKind, lex_by, word_token

_SPACE = re.compile(r"[ \t\n\r\f]+")
_LINE_COMMENT = re.compile(r"--[^\n\r]*")
_COMMENT_BORDER = re.compile(r"/\*|\*/")
_WORD = re.compile(r"[A-Za-z_\x80-\U0010FFFF][A-Za-z0-9_$\x80-\U0010FFFF]*")
_DOLLAR_TAG = re.compile(r"\$(?:[A-Za-z_\x80-\U0010FFFF][A-Za-z0-9_\x80-\U0010FFFF]*)?\$")
_PARAMETER = re.compile(r"\$[0-9]+")
# 16 reads 0x1F, 0o17, 0b11 and 1_000; 15 calls them junk, older ones see a number and an alias.
_NUMBER = re.compile(
    r"0[xX](?:_?[0-9A-Fa-f])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    r"|(?:[0-9](?:_?[0-9])*(?:\.(?!\.)(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
)
_JUNK = re.compile(r"[A-Za-z0-9_$\x80-\U0010FFFF]+")
_OPERATOR_RUN = re.compile(r"[~!@#^&|`?+\-*/%<>=]+")
_LONGEST_OPERATOR = 63  # bytes of a name; a longer run could be many short ones, but nobody writes that
_COMMENT_IN_OPERATOR = re.compile(r"--|/\*")
# An operator may end in + or - only if one of these stands in it: `a=-1` is a comparison, `a@-1` is not.
_NOT_OF_SQL = re.compile(r"[~!@#^&|`?%]")
_SIGN = re.compile(r"::|:=|\.\.|[,()\[\].;:]")
# Blanks with a line break in them, and `--` comments: a quote behind them goes on with the string before.
# Possessive throughout: `-- -- --` could else be cut up in 2^n ways before the match fails.
_CONTINUATION = re.compile(r"(?>[ \t\f]|--[^\n\r]*+)*+[\n\r](?>[ \t\n\r\f]|--[^\n\r]*+[\n\r])*+(?=')")
_BETWEEN = re.compile(r"(?:[ \t\n\r\f]+|--[^\n\r]*(?:[\n\r]|$)|/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/)*")
_UESCAPE = re.compile(r"[uU][eE][sS][cC][aA][pP][eE](?![A-Za-z0-9_$\x80-\U0010FFFF])")
_UESCAPE_CHARACTER = re.compile(r"'([^0-9A-Fa-f+'\" \t\n\r\f\x80-\U0010FFFF])'")
_PREFIXED = re.compile(r"([eEbBxXnN]|[uU]&)?'|([uU]&)?\"")
_BITS = {"b": re.compile(r"[01]*"), "x": re.compile(r"[0-9A-Fa-f]*")}


def _next(text: str, at: int) -> Token:
    if match := _SPACE.match(text, at):
        return Token(TokenKind.SPACE, match.group(), at)
    if text[at] == "-" and text.startswith("--", at):
        return _comment(_matched(_LINE_COMMENT, text, at), at)
    if text[at] == "/" and text.startswith("/*", at):
        return _block_comment(text, at)
    if match := _PREFIXED.match(text, at):
        if match.group().endswith('"'):
            return _identifier(text, at, match.end())
        return _string(text, at, match.end())
    if match := _WORD.match(text, at):
        whole = match.group()
        if fault := fault_in_name(whole):
            return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
        return word_token(whole, at)
    if text[at] == "$":
        return _dollar(text, at)
    return _number_or_symbol(text, at)


def _matched(pattern: re.Pattern[str], text: str, at: int) -> str:
    match = pattern.match(text, at)
    return match.group() if match is not None else ""


def _number_or_symbol(text: str, at: int) -> Token:
    if match := _NUMBER.match(text, at):
        whole = match.group()
        # 1$$a$$ is a number and a dollar quote; everything else glued to a number is junk.
        if (tail := _JUNK.match(text, match.end())) and not tail.group().startswith("$"):
            whole += tail.group()
            return Token(TokenKind.ILLEGAL, whole, at, fault=f"{whole[:40]!r} is neither a number nor a name")
        return Token(TokenKind.NUMBER, whole, at)
    if match := _SIGN.match(text, at):
        return Token(TokenKind.OPERATOR, match.group(), at)
    if match := _OPERATOR_RUN.match(text, at):
        run = match.group()
        if len(run) > _LONGEST_OPERATOR:
            return Token(TokenKind.ILLEGAL, run, at, fault=f"{run[:40]!r}… is not an operator")
        return Token(TokenKind.OPERATOR, _operator(run), at)
    char = text[at]
    if char < " " or char == "\x7f":
        return Token(
            TokenKind.ILLEGAL, char, at, fault=f"the control character U+{ord(char):04X} is not allowed"
        )
    return Token(
        TokenKind.ILLEGAL, char, at, fault=f"the character {char!r} has no meaning in PostgreSQL's SQL"
    )


def _operator(run: str) -> str:
    if comment := _COMMENT_IN_OPERATOR.search(run):
        run = run[: comment.start()]
    if len(run) > 1 and run[-1] in "+-" and not _NOT_OF_SQL.search(run[:-1]):
        run = run[0] + run[1:].rstrip("+-")
    return run


def _dollar(text: str, at: int) -> Token:
    if match := _PARAMETER.match(text, at):
        whole = match.group()
        if tail := _JUNK.match(text, match.end()):
            return Token(
                TokenKind.ILLEGAL,
                whole + tail.group(),
                at,
                fault="a parameter is followed directly by other characters",
            )
        return Token(TokenKind.VARIABLE, whole, at)
    opening = _DOLLAR_TAG.match(text, at)
    if opening is None:
        return Token(TokenKind.ILLEGAL, "$", at, fault="a $ is followed neither by a number nor by a tag")
    tag = opening.group()
    if fault := fault_in_name(tag):
        return Token(TokenKind.ILLEGAL, tag, at, fault=fault)
    end = text.find(tag, opening.end())
    if end < 0:
        return Token(
            TokenKind.ILLEGAL, text[at:], at, fault=f"a quote opened with {tag[:40]} is never closed"
        )
    return _literal(text[at : end + len(tag)], at, text[opening.end() : end])


def _string(text: str, at: int, inner: int) -> Token:
    """`inner` is where the characters begin, behind the prefix and the quote."""
    prefix = text[at : inner - 1].lower()
    pieces: list[str] = []
    while True:
        end = _closing(text, inner, has_escapes=prefix == "e")
        if end < 0:
            return Token(TokenKind.ILLEGAL, text[at:], at, fault="a quote opened with ' is never closed")
        pieces.append(text[inner:end])
        further = _CONTINUATION.match(text, end + 1)
        if further is None:
            break
        inner = further.end() + 1
    raw = "".join(pieces)
    whole = text[at : end + 1]
    if prefix in _BITS:
        if _BITS[prefix].fullmatch(raw):
            return Token(TokenKind.BLOB, whole, at)
        return Token(TokenKind.ILLEGAL, whole, at, fault=f"{whole[:40]!r} is not a string of bits")
    try:
        if prefix == "e":
            return _literal(whole, at, unescape_e(raw))
        if prefix == "u&":
            whole, escape = _with_uescape(text, at, whole)
            return _literal(whole, at, unescape_u(raw.replace("''", "'"), escape))
    except EscapeFault as fault:
        return Token(TokenKind.ILLEGAL, whole, at, fault=str(fault))
    return _literal(whole, at, raw.replace("''", "'"))


def _closing(text: str, at: int, *, has_escapes: bool) -> int:
    """Where the quote of a string closes, -1 when it never does."""
    if not has_escapes:
        while (end := text.find("'", at)) >= 0 and text.startswith("'", end + 1):
            at = end + 2
        return end
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] != "'":
            at += 1
        elif text.startswith("'", at + 1):
            at += 2
        else:
            return at
    return -1


def _literal(whole: str, at: int, value: str) -> Token:
    # The wire ends a text at NUL, and half a surrogate pair cannot be sent at all.
    if fault := fault_in_quotes(whole) or fault_in_quotes(value):
        return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
    return Token(TokenKind.STRING, whole, at, name=value)


def _identifier(text: str, at: int, inner: int) -> Token:
    end = inner
    while (end := text.find('"', end)) >= 0 and text.startswith('"', end + 1):
        end += 2
    if end < 0:
        return Token(TokenKind.ILLEGAL, text[at:], at, fault='a quote opened with " is never closed')
    whole = text[at : end + 1]
    name = text[inner:end].replace('""', '"')
    if text[at] != '"':
        try:
            whole, escape = _with_uescape(text, at, whole)
            name = unescape_u(name, escape)
        except EscapeFault as fault:
            return Token(TokenKind.ILLEGAL, whole, at, fault=str(fault))
    if not name:
        return Token(TokenKind.ILLEGAL, whole, at, fault='"" is not a name')
    if fault := fault_in_quotes(whole) or fault_in_quotes(name):
        return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
    return Token(TokenKind.QUOTED, whole, at, name=name)  # not folded: "Lower" is not the function lower


def _with_uescape(text: str, at: int, whole: str) -> tuple[str, str]:
    """`U&'…' UESCAPE '!'` is one literal: its whole text, and its escape character."""
    word = at + len(whole)
    word += len(_matched(_BETWEEN, text, word))
    if not (uescape := _UESCAPE.match(text, word)):
        return whole, "\\"
    behind = uescape.end() + len(_matched(_BETWEEN, text, uescape.end()))
    character = _UESCAPE_CHARACTER.match(text, behind)
    if character is None:
        raise EscapeFault("UESCAPE is not followed by one character in quotes")
    return text[at : character.end()], character.group(1)


def _block_comment(text: str, at: int) -> Token:
    depth = 0
    for border in _COMMENT_BORDER.finditer(text, at):
        depth += 1 if border.group() == "/*" else -1
        if depth == 0:
            return _comment(text[at : border.end()], at)
    return Token(TokenKind.ILLEGAL, text[at:], at, fault="a comment opened with /* is never closed")


def _comment(whole: str, at: int) -> Token:
    fault = fault_in_comment(whole)
    return Token(TokenKind.ILLEGAL, whole, at, fault=fault) if fault else Token(TokenKind.COMMENT, whole, at)


# Total: it never raises, and the texts of its tokens joined are the text it was given.
lex = partial(lex_by, _next)
