"""A MySQL statement in the spelling that sqlglot reads as the server does. For analysis only. Pure.

What changes no verdict is left out or simplified: modifiers, types, texts, MariaDB's additions. Each rule
looks at a few tokens and takes exactly what the server's grammar has there; what it does not recognise it
passes on, and the parser then refuses what it cannot read. No rule leaves out a call or a subquery.
"""

from callgate.sql.engines.mysql.dialect import spelling_writes
from callgate.sql.engines.mysql.dialect.speller import NAMES, SET_OPERATIONS, Rule, Speller
from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Token, TokenKind, word_set
from callgate.sql.guard.verbs import skip_group

# Character sets that may introduce a text: `_utf8mb4'…'`. From SHOW CHARACTER SET of both servers. Pure.
_INTRODUCERS = frozenset(
    f"_{name}"
    for name in word_set(
        """
        armscii8 ascii big5 binary cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 cp932 dec8 eucjpms euckr
        gb18030 gb2312 gbk geostd8 greek hebrew hp8 keybcs2 koi8r koi8u latin1 latin2 latin5 latin7 macce
        macroman sjis swe7 tis620 ucs2 ujis utf16 utf16le utf32 utf8 utf8mb3 utf8mb4
        """
    )
)


_SELECT_MODIFIERS = frozenset(
    {"ALL", "HIGH_PRIORITY", "STRAIGHT_JOIN", "SQL_SMALL_RESULT", "SQL_BIG_RESULT", "SQL_BUFFER_RESULT"}
    | {"SQL_CACHE", "SQL_NO_CACHE", "SQL_CALC_FOUND_ROWS"}
)
_AFTER_GROUP_BY = SET_OPERATIONS | {
    *("GROUP", "HAVING", "ORDER", "LIMIT", "WINDOW", "WITH", "FOR", "LOCK", "OFFSET", "FETCH"),
}
_VALUES = (TokenKind.STRING, TokenKind.BLOB, TokenKind.NUMBER)


def canonical(tokens: Tokens, verb: Token) -> str:
    return Speller(tokens, verb, _RULES).spell()


def _select(speller: Speller, at: int) -> None:
    behind = at + 1
    while (word := speller.word(behind)) in _SELECT_MODIFIERS or word in ("DISTINCT", "DISTINCTROW"):
        if word == "DISTINCTROW":
            speller.instead[behind] = "DISTINCT"
        elif word != "DISTINCT":
            speller.left_out.add(behind)
        behind += 1


def _values(speller: Speller, at: int) -> None:
    """`VALUES (1, 2), (3, 4)` as a query: `SELECT (1, 2), (3, 4)`."""
    if speller.begins_query(at):
        speller.instead[at] = "SELECT"


def _table(speller: Speller, at: int) -> None:
    speller.instead[at] = "SELECT * FROM"


def _row(speller: Speller, at: int) -> None:
    if speller.is_sign(at + 1, "("):
        speller.left_out.add(at)


def _group(speller: Speller, at: int) -> None:
    """`GROUP BY a DESC`: MariaDB and older MySQL sort by it."""
    if speller.word(at + 1) != "BY":
        return
    index = at + 2
    while index < len(speller.tokens):
        if speller.is_sign(index, ")") or speller.word(index) in _AFTER_GROUP_BY:
            return
        if speller.word(index) in ("ASC", "DESC"):
            speller.left_out.add(index)
        index = max(index + 1, skip_group(speller.tokens, index))


def _group_concat(speller: Speller, at: int) -> None:
    """MariaDB's LIMIT in it."""
    end = skip_group(speller.tokens, at + 1) - 1
    for index in speller.at_depth(at + 2, end):
        if speller.word(index) == "LIMIT":
            rest = speller.tokens[index + 1 : end]
            if all(token.kind is TokenKind.NUMBER or token.text in (",", "OFFSET") for token in rest):
                speller.drop(index, end)


def _from(speller: Speller, at: int) -> None:
    """`NTH_VALUE(a, 2) FROM FIRST OVER w`: the default, and the only one there is."""
    if speller.word(at + 1) == "FIRST" and speller.word(at + 2) in ("RESPECT", "OVER"):
        speller.drop(at, at + 2)


def _limit(speller: Speller, at: int) -> None:
    """MariaDB's `LIMIT ROWS EXAMINED 1000` without a number of rows."""
    if speller.word(at + 1) == "ROWS" and speller.word(at + 2) == "EXAMINED":
        speller.left_out.add(at)


def _rows(speller: Speller, at: int) -> None:
    if speller.word(at + 1) == "EXAMINED" and at + 2 < len(speller.tokens):
        speller.drop(at, at + 3)


def _sequence(speller: Speller, at: int) -> None:
    """`NEXT VALUE FOR s`, `PREVIOUS VALUE FOR s`: a number."""
    if speller.word(at + 1) == "VALUE" and speller.word(at + 2) == "FOR":
        speller.instead[at] = "1"
        speller.drop(at + 1, speller.skip_name(at + 3))


def _cycle(speller: Speller, at: int) -> None:
    end = at + 1
    while speller.is_sign(at - 1, ")") and end < len(speller.tokens):
        if speller.word(end) == "RESTRICT":
            speller.drop(at, end + 1)
            return
        if speller.tokens[end].kind not in NAMES and not speller.is_sign(end, ","):
            return
        end += 1


def _default(speller: Speller, at: int) -> None:
    """`DEFAULT(column)`"""
    if speller.is_sign(at + 1, "(") and speller.is_sign(speller.skip_name(at + 2), ")"):
        speller.instead[at] = "1"
        speller.drop(at + 1, skip_group(speller.tokens, at + 1))


def _cast(speller: Speller, at: int) -> None:
    """Which type it is changes no verdict, and sqlglot does not know all of them."""
    end = skip_group(speller.tokens, at + 1) - 1
    parts = [index for index in speller.at_depth(at + 2, end) if speller.word(index) == "AS"]
    if parts and _is_type(speller.tokens[parts[-1] + 1 : end]):
        speller.instead[parts[-1] + 1] = "CHAR"
        speller.drop(parts[-1] + 2, end)


def _convert(speller: Speller, at: int) -> None:
    end = skip_group(speller.tokens, at + 1) - 1
    commas = [index for index in speller.at_depth(at + 2, end) if speller.is_sign(index, ",")]
    if commas and _is_type(speller.tokens[commas[-1] + 1 : end]):
        speller.instead[commas[-1] + 1] = "CHAR"
        speller.drop(commas[-1] + 2, end)


def _using(speller: Speller, at: int) -> None:
    """`CONVERT(a USING 'utf8mb4')`, `CHAR(65 USING binary)`: a character set, however it is written."""
    if speller.is_sign(at + 2, ")") and speller.tokens[at + 1].kind in (*NAMES, TokenKind.STRING):
        speller.instead[at + 1] = "utf8mb4"


def _match(speller: Speller, at: int) -> None:
    """`MATCH a, b AGAINST (…)`: the parentheses may be left out."""
    end = at + 1
    while end < len(speller.tokens) and speller.word(end) != "AGAINST":
        is_name = speller.tokens[end].kind in NAMES and speller.word(end) != "MATCH"
        if not is_name and speller.tokens[end].text not in (".", ","):
            return
        end += 1
    if at + 1 < end < len(speller.tokens):
        speller.instead[at] = "MATCH ("
        speller.instead[end] = ") AGAINST"


def _is_type(tokens: Tokens) -> bool:
    """Words and a size: nothing in it could be run."""
    return bool(tokens) and all(
        token.kind in (TokenKind.WORD, TokenKind.NUMBER) or token.text in ("(", ")", ",") for token in tokens
    )


def _json_table(speller: Speller, at: int) -> None:
    """`JSON_TABLE(document, path COLUMNS (…))` as `JSON_TABLE(document)`: the rest holds no expression."""
    end = skip_group(speller.tokens, at + 1) - 1
    inner = speller.at_depth(at + 2, end)
    columns = [index for index in inner if speller.word(index) == "COLUMNS"]
    commas = [index for index in inner if speller.is_sign(index, ",") and columns and index < columns[0]]
    if commas and columns[0] == commas[-1] + 2 and skip_group(speller.tokens, columns[0] + 1) == end:
        speller.drop(commas[-1], end)


def _brace(speller: Speller, at: int) -> None:
    """ODBC: `{d '2024-01-01'}`, `{fn NOW()}`, `{OJ a LEFT JOIN b ON …}`. The server takes any word there."""
    if speller.word(at + 1):
        speller.instead[at] = "("
        speller.left_out.add(at + 1)


def _closing_brace(speller: Speller, at: int) -> None:
    speller.instead[at] = ")"


def _name(speller: Speller, at: int) -> None:
    """A keyword of sqlglot's that is a plain name to the server here."""
    if not speller.is_sign(at + 1, "("):
        speller.instead[at] = f"`{speller.tokens[at].text}`"


def _rollup(speller: Speller, at: int) -> None:
    if speller.word(at - 1) != "WITH":
        _name(speller, at)


def _window(speller: Speller, at: int) -> None:
    if speller.word(at + 2) != "AS":
        _name(speller, at)


def _introducer(speller: Speller, at: int) -> None:
    if at + 1 < len(speller.tokens) and speller.tokens[at + 1].kind in _VALUES:
        speller.left_out.add(at)


_RULES: dict[str, Rule] = {
    "SELECT": _select,
    **spelling_writes.RULES,
    "VALUES": _values,
    "TABLE": _table,
    "ROW": _row,
    "GROUP": _group,
    "GROUP_CONCAT": _group_concat,
    "FROM": _from,
    "LIMIT": _limit,
    "ROWS": _rows,
    "USING": _using,
    "MATCH": _match,
    "NEXT": _sequence,
    "PREVIOUS": _sequence,
    "CYCLE": _cycle,
    "DEFAULT": _default,
    "CAST": _cast,
    "CONVERT": _convert,
    "JSON_TABLE": _json_table,
    "ROLLUP": _rollup,
    "CUBE": _rollup,
    "WINDOW": _window,
    **dict.fromkeys(
        ("ANTI", "ANY", "ASOF", "CHARSET", "CONNECT_BY_ROOT", "FULL", "GLOB", "ILIKE", "LATERAL", "OVERLAPS"),
        _name,
    ),
    **dict.fromkeys(
        ("NOTNULL", "PARTITIONED_BY", "QUALIFY", "ROLLBACK", "SEMI", "TABLESAMPLE", "UNCACHE"), _name
    ),
    "{": _brace,
    "}": _closing_brace,
    **{name.upper(): _introducer for name in _INTRODUCERS},
}
