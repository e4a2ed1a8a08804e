"""The tokenizer of MySQL and MariaDB, by hand, rule for rule (sql/sql_lex.cc, `lex_one_token`).

For a session in utf8mb4 whose sql_mode has neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES nor IGNORE_SPACE:
the driver pins that and reads it back. Where peers fall, and this does not:
- `--` opens a comment only before a blank, a control character or the end: `SELECT--1` is an expression;
- only `\\n` ends a line comment; a backslash escapes a quote; `"x"` is a text;
- `1a`, `0X1` and `t.5` are names, `1e1` and `0x1f` are numbers;
- every character above ASCII belongs to a name, NBSP and U+3000 included;
- `$a$` is a name to MariaDB and opens a text to MySQL 9: refused;
- `/*! */` and `/*M! */` are run, `/*+ */` is obeyed.

Pure. What the server accepts but we will not let through is marked ILLEGAL here too.
"""

import re

from callgate.sql.guard.hidden_text import fault_in_comment, fault_in_name, fault_in_quotes, invisible
from callgate.sql.guard.tokens import Token, TokenKind, fold, word_set, word_token

_SPACE = re.compile(r"[ \t\n\v\f\r]+")
_LINE_COMMENT = re.compile(r"#[^\n]*|--(?=[\x00-\x20\x7f]|\Z)[^\n]*")
_EXECUTABLE = re.compile(r"/\*[mM]?!")
_NAME_CHARS = r"A-Za-z0-9_$\x80-\U0010FFFF"
_NAME = re.compile(f"[{_NAME_CHARS}]+")
_TEXT = {
    "'": re.compile(r"'(?:[^'\\]|\\.|'')*+'", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\]|\\.|"")*+"', re.DOTALL),
    "`": re.compile(r"`(?:[^`]|``)*+`"),
}
_NATIONAL = re.compile(r"[nN](?=')")
_BYTES = re.compile(r"(?:[xX]'(?:[0-9A-Fa-f]{2})*'|[bB]'[01]*')")
_BYTES_BEGUN = re.compile(r"[xXbB]'[^']*'?")
# The lower-case prefix alone makes a number: 0X1F and 0B1 are names.
_NUMBER = re.compile(
    rf"0x[0-9A-Fa-f]+(?![{_NAME_CHARS}])|0b[01]+(?![{_NAME_CHARS}])"
    rf"|[0-9]+[eE][+-]?[0-9]+|[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+\.(?:[eE][+-]?[0-9]+)?"
    rf"|[0-9]+(?![{_NAME_CHARS}])"
)
_OPERATOR = re.compile(r"<=>|->>|->|<<|>>|<=|>=|<>|!=|:=|&&|\|\||[-+*/%=<>!|&^~,;().{}]")
_NULL = re.compile(rf"\\N(?![{_NAME_CHARS}])")  # MariaDB, and MySQL until 5.7
_PLACEHOLDER = re.compile(r"\?|:[A-Za-z_][A-Za-z0-9_]*")
_SESSION = re.compile(rf"@@?(?:[{_NAME_CHARS}.]+|`(?:[^`]|``)+`(?:\.`?[{_NAME_CHARS}]+`?)*)")
_SESSION_TEXT = re.compile(r"@(?=['\"])")
# The default time limit of a source: a shorter one than the operator's is a courtesy, a longer one is not.
_LONGEST_MS = 30_000
_HARMLESS = word_set(
    """
    bka bnl derived_condition_pushdown derived_merge group_index hash_join icp index index_merge jobs
    join_fixed_order join_index join_order join_prefix join_suffix merge mrr no_bka no_bnl
    no_derived_condition_pushdown no_group_index no_hash_join no_icp no_index no_index_merge no_join_index
    no_merge no_mrr no_order_index no_range_optimization no_semijoin no_skip_scan no_split_materialized
    no_subquery order_index qb_name semijoin skip_scan split_materialized subquery
    """
)
# Variables that SET_VAR may set: how much memory a statement may take, and what the optimizer tries.
_SETTABLE = word_set(
    """
    big_tables div_precision_increment eq_range_index_dive_limit group_concat_max_len
    internal_tmp_mem_storage_engine join_buffer_size lc_time_names max_heap_table_size max_join_size
    max_length_for_sort_data max_points_in_geometry max_seeks_for_key max_sort_length mrr_buffer_size
    optimizer_prune_level optimizer_search_depth optimizer_switch optimizer_max_subgraph_pairs
    range_alloc_block_size range_optimizer_max_mem_size read_buffer_size read_rnd_buffer_size
    secondary_engine_cost_threshold sort_buffer_size time_zone tmp_table_size windowing_use_high_precision
    """
)
_SET_VAR = re.compile(
    r"\s*([A-Za-z_]+)\s*=\s*(?:([0-9]{1,10})([kKmMgG]?)|'[A-Za-z0-9_=,:/ +.-]*'|[A-Za-z_]+)\s*"
)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_LARGEST_BUFFER_BYTES = 2**30  # more than a sort of millions of rows needs, less than a server has
# Strategies that stand inside SEMIJOIN(…) and SUBQUERY(…), names of tables, indexes and query blocks.
_INSIDE = re.compile(r"[A-Za-z0-9_$@`.,\s\x80-\U0010FFFF]*")
_HINT = re.compile(r"\s*,?\s*([A-Za-z_]+)\s*(?:\(([^()]*)\))?\s*")


def lex(text: str) -> tuple[Token, ...]:
    """Total: never raises, and the tokens' texts joined are `text`."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        token = _next(text, at, tokens[-1] if tokens else None)
        tokens.append(token)
        at = token.end
    return tuple(tokens)


def _next(text: str, at: int, before: Token | None) -> Token:
    if match := _SPACE.match(text, at):
        return Token(TokenKind.SPACE, match.group(), at)
    if match := _LINE_COMMENT.match(text, at):
        return _checked(TokenKind.COMMENT, match.group(), at, fault_in_comment(match.group()))
    if text.startswith("/*", at):
        return _block_comment(text, at)
    # Right behind a dot every run of name characters is a name, digits included, and no keyword.
    if before is not None and before.is_operator(".") and (match := _NAME.match(text, at)):
        return _name(match.group(), at)
    if text[at] in _TEXT:
        return _text(text, at)
    if match := _BYTES_BEGUN.match(text, at):
        is_whole = _BYTES.fullmatch(match.group()) is not None
        fault = "" if is_whole else "a binary literal must be x'…' with pairs of hex digits or b'…'"
        return _checked(TokenKind.BLOB, match.group(), at, fault)
    if _NATIONAL.match(text, at):
        return _text(text, at, prefix=1)
    if text[at] == "." and before is not None and before.kind is TokenKind.WORD:
        return Token(TokenKind.OPERATOR, ".", at)  # `t.5`: the column 5, not the number .5
    if match := _NUMBER.match(text, at):
        return _number(text, match.group(), at)
    if match := _NAME.match(text, at):
        return _name(match.group(), at)
    return _symbol(text, at)


def _checked(kind: TokenKind, whole: str, at: int, fault: str, name: str = "") -> Token:
    return Token(TokenKind.ILLEGAL, whole, at, fault=fault) if fault else Token(kind, whole, at, name=name)


def _name(whole: str, at: int) -> Token:
    if whole[0] == "$" and "$" in whole[1:]:
        fault = "a bare name with two dollar signs opens a text in MySQL 9: put it in backticks"
        return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
    if fault := fault_in_name(whole):
        return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
    return word_token(whole, at)


def _number(text: str, whole: str, at: int) -> Token:
    """The server reads `1e1UNION` as two tokens. People do not."""
    if tail := _NAME.match(text, at + len(whole)):
        whole += tail.group()
        fault = f"{whole[:40]!r} is a number followed directly by a name: put a space between them"
        return Token(TokenKind.ILLEGAL, whole, at, fault=fault)
    return Token(TokenKind.NUMBER, whole, at)


def _symbol(text: str, at: int) -> Token:
    if text[at] == "@":
        return _session(text, at)
    if (match := _OPERATOR.match(text, at)) and match.group():
        return Token(TokenKind.OPERATOR, match.group(), at)
    if match := _PLACEHOLDER.match(text, at):
        return Token(TokenKind.VARIABLE, match.group(), at)
    char = text[at]
    if char < " " or char == "\x7f":
        return Token(TokenKind.ILLEGAL, char, at, fault=invisible(char))
    if match := _NULL.match(text, at):
        return Token(TokenKind.BLOB, match.group(), at)
    if char == "\\":
        fault = r"a backslash has no meaning outside quotes: \G and \g belong to the command line client"
        return Token(TokenKind.ILLEGAL, char, at, fault=fault)
    return Token(TokenKind.ILLEGAL, char, at, fault=f"the character {char!r} has no meaning in MySQL's SQL")


def _session(text: str, at: int) -> Token:
    """`@x`, `@'x'`, `@@x`, `@@global.x`: a variable of the session, the server or a user."""
    if match := _SESSION.match(text, at):
        fault = fault_in_name(match.group()) or fault_in_quotes(match.group())
        return _checked(TokenKind.SESSION, match.group(), at, fault)
    if _SESSION_TEXT.match(text, at):
        inner = _text(text, at + 1)
        return _checked(TokenKind.SESSION, text[at : inner.end], at, inner.fault)
    return Token(TokenKind.ILLEGAL, text[at], at, fault="@ begins a variable, and no name follows it")


def _block_comment(text: str, at: int) -> Token:
    end = text.find("*/", at + 2)
    whole = text[at : end + 2] if end >= 0 else text[at:]
    if _EXECUTABLE.match(whole):
        fault = "a comment of the form /*! … */ is run by the server, and never allowed"
    elif end < 0:
        fault = "a comment opened with /* is never closed"
    else:
        fault = fault_in_comment(whole) or (_fault_in_hints(whole[3:-2]) if whole.startswith("/*+") else "")
    return _checked(TokenKind.COMMENT, whole, at, fault)


def _text(text: str, at: int, *, prefix: int = 0) -> Token:
    opening = text[at + prefix]
    match = _TEXT[opening].match(text, at + prefix)
    if match is None:
        fault = f"a quote opened with {opening} is never closed"
        return Token(TokenKind.ILLEGAL, text[at:], at, fault=fault)
    whole = text[at : match.end()]
    kind = TokenKind.QUOTED if opening == "`" else TokenKind.STRING
    inner = whole[prefix + 1 : -1].replace(opening * 2, opening)
    return _checked(kind, whole, at, fault_in_quotes(whole), fold(inner))


# Optimizer hints, `SELECT /*+ … */`: a comment that MySQL obeys. Pure.
#
# Those that choose indexes, join orders and algorithms are harmless. SET_VAR sets any session variable for
# the statement: some are harmless, sql_mode is not. RESOURCE_GROUP moves it to other threads,
# MAX_EXECUTION_TIME lifts the server's own time limit.
def _fault_in_hints(text: str) -> str:
    """Why the text of a hint comment is refused, or the empty string."""
    at = 0
    while at < len(text) and not text[at:].isspace():
        match = _HINT.match(text, at)
        if match is None:
            return "an optimizer hint /*+ … */ could not be understood"
        name, inside = match.group(1).lower(), match.group(2) or ""
        if name == "max_execution_time":
            if not (inside.strip().isdecimal() and 1 <= int(inside) <= _LONGEST_MS):
                return f"the hint MAX_EXECUTION_TIME must be from 1 to {_LONGEST_MS:,} ms"
        elif name == "set_var":
            if not _is_harmless_setting(inside):
                return "the optimizer hint SET_VAR sets a variable, or a value, that is not allowed"
        elif name not in _HARMLESS:
            return f"the optimizer hint {name.upper()[:40]} is not allowed"
        elif _INSIDE.fullmatch(inside) is None:
            return "an optimizer hint /*+ … */ could not be understood"
        at = match.end()
    return ""


def _is_harmless_setting(inside: str) -> bool:
    match = _SET_VAR.fullmatch(inside)
    if match is None or match.group(1).lower() not in _SETTABLE:
        return False
    number, unit = match.group(2), match.group(3)
    return number is None or int(number) * _UNITS[unit.lower()] <= _LARGEST_BUFFER_BYTES
