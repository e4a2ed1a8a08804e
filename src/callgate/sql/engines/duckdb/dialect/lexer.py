"""DuckDB's tokenizer, by hand, as measured on 2.0 (it follows PostgreSQL's, and differs where noted).

Where peers fall, and this does not: block comments nest; `\\r` ends a `--` comment as `\\n` does; `E'…'`
knows backslashes and `'…'` does not; `$tag$…$tag$` is a text; two texts with a line break between are one
(`canonical` joins them); an operator is the longest run of its signs (`!=-` is one, `<-` is two); no-break,
ideographic and zero-width spaces separate words; `…` in back-quotes is a name.

Pure. What DuckDB accepts but we will not let through (invisible characters, names glued to numbers,
back-quotes, operators that no built-in function stands behind) is marked ILLEGAL here, because no later
stage could see it.
"""

import re
from functools import partial

from callgate.sql.guard.hidden_text import fault_in_comment, fault_in_name, fault_in_quotes, invisible
from callgate.sql.guard.tokens import Token, TokenKind, fold, lex_by, word_token

_SPACE = re.compile(r"[ \t\n\v\f\r]+")
_LINE_COMMENT = re.compile(r"--[^\n\r]*")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_WORD = re.compile(r"[A-Za-z_\x80-\U0010FFFF][A-Za-z0-9_$\x80-\U0010FFFF]*")
_PREFIXED = re.compile(r"[eEbBxXnN]'")
_DOLLAR_TAG = re.compile(r"\$(?:[A-Za-z_\x80-\U0010FFFF][A-Za-z0-9_\x80-\U0010FFFF]*)?\$")
_PLAIN_STRING = re.compile(r"'(?:[^']|'')*+'")
_ESCAPE_STRING = re.compile(r"'(?:[^'\\]|''|\\.)*+'", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"]|"")*+"')
_DIGITS = "[0-9](?:_?[0-9])*"
_NUMBER = re.compile(rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX_TAIL = re.compile(r"(?:[xX][0-9A-Fa-f]+|[bB][01]+|[oO][0-7]+)(?![A-Za-z0-9_$\x80-\U0010FFFF])")
_ID_TAIL = re.compile(r"[A-Za-z0-9_$\x80-\U0010FFFF]+")
_VARIABLE = re.compile(r"\$[A-Za-z0-9_\x80-\U0010FFFF]+|\?")
_OPERATOR_RUN = re.compile(r"[-+*/<>=~!@#%^&|]+")
_KEEPS_SIGN = re.compile(r"[~!@#%^&|]")
_PUNCTUATION = re.compile(r"::|:=|[,;().\[\]{}:]")
_OPERATORS = frozenset(
    {
        *("+", "-", "*", "/", "//", "%", "**", "^", "=", "==", "<>", "!=", "<", ">", "<=", ">=", "=>"),
        *("||", "|", "&", "~", "<<", ">>", "&&", "@>", "<@", "<->", "<=>", "->", "->>", "^@", "@", "#", "!"),
        *("~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*", "~~~", "!~~~"),
    }
)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)


def _next(text: str, at: int) -> Token:
    char = text[at]
    if match := _SPACE.match(text, at):
        return Token(TokenKind.SPACE, match.group(), at)
    if match := _LINE_COMMENT.match(text, at):
        return _comment(match.group(), at)
    if text.startswith("/*", at):
        return _block_comment(text, at)
    if char in "'\"" or _PREFIXED.match(text, at):
        return _quoted(text, at)
    if char == "$":
        return _dollar(text, at)
    if match := _WORD.match(text, at):
        return _word(match.group(), at)
    return _number_or_sign(text, at)


def _illegal(whole: str, at: int, fault: str) -> Token:
    return Token(TokenKind.ILLEGAL, whole, at, fault=fault)


def _comment(whole: str, at: int) -> Token:
    if fault := fault_in_comment(whole):
        return _illegal(whole, at, fault)
    return Token(TokenKind.COMMENT, whole, at)


def _block_comment(text: str, at: int) -> Token:
    depth = 0
    for match in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return _comment(text[at : match.end()], at)
    return _illegal(text[at:], at, "a comment opened with /* is never closed")


def _quoted(text: str, at: int) -> Token:
    """`'…'`, `"…"`, and the four prefixes."""
    prefix = "" if text[at] in "'\"" else text[at].lower()
    start = at + len(prefix)
    pattern = _QUOTED if text[start] == '"' else _ESCAPE_STRING if prefix == "e" else _PLAIN_STRING
    match = pattern.match(text, start)
    if match is None:
        return _illegal(text[at:], at, f"a quote opened with {text[at : start + 1]} is never closed")
    whole = text[at : match.end()]
    if fault := fault_in_quotes(whole):
        return _illegal(whole, at, fault)
    inner = match.group()[1:-1]
    if text[start] == '"':
        if not inner:
            return _illegal(whole, at, "a name in double quotes is empty")
        return Token(TokenKind.QUOTED, whole, at, name=fold(inner.replace('""', '"')))
    if prefix in ("b", "x"):
        return Token(TokenKind.BLOB, whole, at)
    said = inner.replace("''", "'")
    return Token(TokenKind.STRING, whole, at, name=fold(_unescaped(said) if prefix == "e" else said))


def _unescaped(said: str) -> str:
    def meant(match: re.Match[str]) -> str:
        by_hex, by_octal, other = match.groups()
        if by_hex or by_octal:
            return chr(int(by_hex, 16) if by_hex else int(by_octal, 8) & 0xFF)
        return _ESCAPES.get(other, other)

    return _ESCAPE.sub(meant, said)


def _dollar(text: str, at: int) -> Token:
    if match := _DOLLAR_TAG.match(text, at):
        tag = match.group()
        end = text.find(tag, match.end())
        if end < 0:
            return _illegal(text[at:], at, f"a text opened with {tag} is never closed")
        whole = text[at : end + len(tag)]
        if fault := fault_in_quotes(whole):
            return _illegal(whole, at, fault)
        return Token(TokenKind.STRING, whole, at, name=fold(text[match.end() : end]))
    if match := _VARIABLE.match(text, at):
        return Token(TokenKind.VARIABLE, match.group(), at)
    return _illegal("$", at, "the character '$' has no meaning in DuckDB's SQL here")


def _word(whole: str, at: int) -> Token:
    if fault := fault_in_name(whole):
        return _illegal(whole, at, fault)
    return word_token(whole, at)


def _number_or_sign(text: str, at: int) -> Token:
    if match := _NUMBER.match(text, at):
        whole = match.group()
        # `0xFF` is 0 with the alias xFF to DuckDB, whatever the writer meant, and `0b1` one with b1: a value,
        # and a name that no keyword is called.
        is_hex = whole == "0" and _HEX_TAIL.match(text, match.end()) is not None
        if not is_hex and (tail := _ID_TAIL.match(text, match.end())):
            whole += tail.group()
            return _illegal(
                whole, at, f"{whole[:40]!r} is a number followed directly by a name: put a space between them"
            )
        return Token(TokenKind.NUMBER, whole, at)
    if match := _VARIABLE.match(text, at):
        return Token(TokenKind.VARIABLE, match.group(), at)
    if match := _PUNCTUATION.match(text, at):
        return Token(TokenKind.OPERATOR, match.group(), at)
    if match := _OPERATOR_RUN.match(text, at):
        return _operator(match.group(), at)
    char = text[at]
    if char < " " or char == "\x7f":
        return _illegal(char, at, invisible(char))
    return _illegal(char, at, f'the character {char!r} has no meaning here; names are quoted as "name"')


def _operator(run: str, at: int) -> Token:
    """PostgreSQL's rule: a comment ends an operator, and a last + or - belongs to it only beside ~!@#%^&|."""
    for opening in ("--", "/*"):
        if (cut := run.find(opening, 1)) > 0:
            run = run[:cut]
    while len(run) > 1 and run[-1] in "+-" and not _KEEPS_SIGN.search(run[:-1]):
        run = run[:-1]
    if run not in _OPERATORS:
        return _illegal(run, at, f"the operator {run[:20]} is not known; put spaces between operators")
    return Token(TokenKind.OPERATOR, run, at)


# Total: it never raises, and the texts of its tokens joined are the text it was given.
lex = partial(lex_by, _next)
