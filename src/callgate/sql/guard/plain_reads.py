"""Plain reads: the short questions that agents write most, understood without the parser. Pure.

    SELECT c.name, count(*) AS n FROM customers c JOIN orders o ON o.customer_id = c.id
    WHERE o.placed >= '2024-01-01' AND c.city IN ('Bonn', 'Ulm') GROUP BY c.name ORDER BY n DESC LIMIT 10

Rules
1. This module only ever allows. What it does not understand is judged by `judge.judge_in_full`, which is the
   definition: a test compares the two on whatever is taken for plain.
2. Plain is only what all four engines and sqlglot read alike: bare ASCII names that are no word of anybody's
   (`special_words`), values that are digits or printable texts without quote and backslash, some signs, and a
   dozen functions with the number of arguments that each takes. No comment, no placeholder, no cast, no `;`.
3. No name in it is one that a rule looks for: of a function, a file, or a table that is hidden.
4. What a value is makes no difference. So a text is plain whenever another one of its shape is.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from callgate.sql.guard.dialect import Dialect, VerbClass, Vocabulary
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.special_words import SPECIAL_WORDS

# Longer ones, or deeper ones, might be more than the parser has a budget for.
_MOST_CHARS = 2_000
_MOST_DEPTH = 8
_BLANKS = " \n\t\r"
# Whatever is no token of a plain read becomes one that no rule below knows: a run of operators, junk behind a
# number, any other character. A name and the parenthesis right behind it are one: only then it is a call.
_TOKEN = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*\(?"
    r"|'[^'\\\x00-\x1f\x7f-\x9f\ud800-\udfff]*'"
    r"|[0-9$][A-Za-z0-9_.$]*"
    r"|[-+*/<>=~!@#%^&|?`:\\]+"
    r"|[^ \n\t\r]"
)
_MARKED = re.compile(rf"'?\0|{_TOKEN.pattern}")  # the same of a shape, with its marks (`shapes`)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset("0123456789")
_COMPARISONS = frozenset({"=", "<", ">", "<=", ">=", "<>", "!=", "LIKE"})
_SIGNS = frozenset({"+", "-", "*", "/", "%"})
_CONSTANTS = frozenset({"NULL", "TRUE", "FALSE"})
_END = ""  # stands behind the last token
# How many arguments they take, at least and at most. `count(*)` is looked for apart.
_CALLS = {
    **dict.fromkeys(("COUNT(", "SUM(", "AVG(", "MIN(", "MAX("), (1, 1)),
    **dict.fromkeys(("LOWER(", "UPPER(", "LENGTH(", "ABS("), (1, 1)),
    "ROUND(": (1, 2),
    "COALESCE(": (2, 8),
    "NULLIF(": (2, 2),
    **dict.fromkeys(("LAG(", "LEAD("), (1, 2)),
}
_NUMBERING = frozenset({"ROW_NUMBER(", "RANK(", "DENSE_RANK("})  # without arguments
_WINDOWS = frozenset({"COUNT(", "SUM(", "AVG(", "MIN(", "MAX(", "LAG(", "LEAD(", *_NUMBERING})
_AGGREGATES = frozenset({"COUNT(", "SUM(", "AVG("})  # of DISTINCT values, too


class _NotPlain(Exception):  # noqa: N818 - a signal, not an error
    pass


@dataclass(frozen=True, slots=True)
class _Telling:
    """Names at which a rule looks."""

    names: frozenset[str]  # in upper case
    prefixes: tuple[str, ...]


@lru_cache(maxsize=8)
def _telling(dialect: Dialect) -> _Telling | None:
    """None: the engine has no plain reads, since SELECT or a function is not what it is elsewhere."""
    words: Vocabulary = dialect.vocabulary
    calls = {name[:-1].lower() for name in _CALLS.keys() | _NUMBERING} - words.functions - words.call_keywords
    if dialect.grammar.verbs.get("SELECT") is not VerbClass.READ or not dialect.quotes or calls:
        return None
    tables = {table.rpartition(".")[2] for table in words.hidden_tables}
    names = tables | set(words.hidden_schemas) | words.forbidden_functions | words.telling_names
    return _Telling(
        frozenset(name.upper() for name in names),
        tuple(prefix.upper() for prefix in words.hidden_prefixes),
    )


def read_plainly(sql: str, policy: Policy) -> Statement | None:
    """The statement, which may run as far as its tables may be read. None: the text is not plain."""
    if len(sql) > _MOST_CHARS or (telling := _telling(policy.dialect)) is None:
        return None
    if policy.schema is not None and policy.schema.lower() in policy.dialect.vocabulary.hidden_schemas:
        return None
    text = sql.strip(_BLANKS).rstrip(_BLANKS + ";")
    reader = _Reader(_TOKEN.findall(text), telling)
    try:
        reader.statement()
    except _NotPlain:
        return None
    outer_first = sorted(reader.tables, key=itemgetter(0)) if len(reader.tables) > 1 else reader.tables
    return Statement(text, "SELECT", tuple(dict.fromkeys([table for _, table in outer_first])))


def has_plain_shape(sql: str, shape: str) -> bool:
    """Whether the shape of a plain read has marks for values and for nothing else (`shapes.shape_of`)."""
    tokens, marked = _TOKEN.findall(sql), _MARKED.findall(shape)
    if len(tokens) != len(marked):
        return False
    for one, other in zip(marked, tokens, strict=True):
        is_value = (one == "\0" and other[0] in _DIGITS) or (one == "'\0" and other[0] == "'")
        if one != other and not is_value:
            return False
    return True


class _Reader:
    """One pass over the tokens. Each rule begins at `_at`, and leaves `_at` behind what it read."""

    def __init__(self, tokens: list[str], telling: _Telling) -> None:
        self._tokens = tokens
        # Python makes S of the one letter `ſ`, and SS of `ß`: to the engines they are parts of names.
        self._words = [token.upper() if token.isascii() else token for token in tokens]
        self._words += (_END, _END)
        self._telling = telling
        self._at = 0
        self._depth = 0
        self._ctes: set[str] = set()  # that are known here, in upper case
        self.tables: list[tuple[int, str]] = []  # how deep and as written, without the names of CTEs

    def statement(self) -> None:
        if self._words[0] == "WITH":
            self._at = 1
            self._listed(self._cte)
        self._query()
        if self._words[self._at] is not _END:
            raise _NotPlain

    def _cte(self) -> None:
        name = self._words[self._at]
        self._name()
        self._take("AS")
        self._take("(")
        self._query()
        self._take(")")
        if name in self._ctes:
            raise _NotPlain
        self._ctes.add(name)

    def _query(self) -> None:
        self._select()
        while self._words[self._at] == "UNION":
            self._at += 1
            if self._words[self._at] == "ALL":
                self._at += 1
            self._select()

    def _select(self) -> None:
        self._deeper()
        self._take("SELECT")
        if self._words[self._at] == "DISTINCT":
            self._at += 1
        self._listed(self._item)
        if self._words[self._at] == "FROM":
            self._at += 1
            self._sources()
            self._clauses()
        self._depth -= 1

    def _item(self) -> None:
        if self._words[self._at] == "*":
            self._at += 1
            return
        if self._words[self._at + 1] == "." and self._words[self._at + 2] == "*":
            self._name()
            self._at += 2
            return
        self._condition()
        self._alias()

    def _alias(self) -> None:
        if self._words[self._at] == "AS":
            self._at += 1
            self._name()
        elif self._words[self._at][:1] in _LETTERS and self._words[self._at] not in SPECIAL_WORDS:
            self._name()

    def _sources(self) -> None:
        self._source()
        while True:
            word = self._words[self._at]
            if word == ",":
                self._at += 1
                self._source()
                continue
            if word == "CROSS":
                self._at += 1
                self._take("JOIN")
                self._source()
                continue
            if word in ("LEFT", "RIGHT"):
                self._at += 1
                if self._words[self._at] == "OUTER":
                    self._at += 1
            elif word == "INNER":
                self._at += 1
            elif word != "JOIN":
                return
            self._take("JOIN")
            self._source()
            self._take("ON")
            self._condition()

    def _source(self) -> None:
        if self._words[self._at] == "(":
            self._at += 1
            self._query()
            self._take(")")
        else:
            first = self._at
            self._dotted()
            if self._at > first + 1 or self._words[first] not in self._ctes:
                self.tables.append((self._depth, "".join(self._tokens[first : self._at])))
        self._alias()

    def _clauses(self) -> None:
        words = self._words
        if words[self._at] == "WHERE":
            self._at += 1
            self._condition()
        if words[self._at] == "GROUP":
            self._at += 1
            self._take("BY")
            self._listed(self._sum)
            if words[self._at] == "HAVING":
                self._at += 1
                self._condition()
        if words[self._at] == "ORDER":
            self._at += 1
            self._take("BY")
            self._listed(self._ordered)
        if words[self._at] == "LIMIT":
            self._at += 1
            self._number()
            if words[self._at] == "OFFSET":
                self._at += 1
                self._number()

    def _ordered(self) -> None:
        self._sum()
        if self._words[self._at] in ("ASC", "DESC"):
            self._at += 1
        if self._words[self._at] == "NULLS" and self._words[self._at + 1] in ("FIRST", "LAST"):
            self._at += 2

    def _condition(self) -> None:
        while True:
            if self._words[self._at] == "NOT":
                self._at += 1
            self._predicate()
            if self._words[self._at] not in ("AND", "OR"):
                return
            self._at += 1

    def _predicate(self) -> None:
        self._sum()
        word = self._words[self._at]
        if word in _COMPARISONS:
            self._at += 1
            self._sum()
            return
        if word == "IS":
            self._at += 1
            if self._words[self._at] == "NOT":
                self._at += 1
            self._take("NULL")
            return
        if word == "NOT":
            word = self._words[self._at + 1]
            if word not in ("LIKE", "IN", "BETWEEN"):
                raise _NotPlain
            self._at += 1
        if word == "LIKE":
            self._at += 1
            self._sum()
        elif word == "IN":
            self._at += 1
            self._take("(")
            self._members()
        elif word == "BETWEEN":
            self._at += 1
            self._sum()
            self._take("AND")
            self._sum()

    def _members(self) -> None:
        if self._words[self._at] == "SELECT":
            self._query()
        else:
            self._listed(self._sum)
        self._take(")")

    def _sum(self) -> None:
        self._value()
        while self._words[self._at] in _SIGNS:
            self._at += 1
            self._value()

    def _value(self) -> None:
        word = self._words[self._at]
        first = word[:1]
        if word in _CALLS or word in _NUMBERING:
            self._at += 1
            self._call(word)
            if self._words[self._at] == "OVER" and word in _WINDOWS:
                self._at += 1
                self._over()
        elif first in _LETTERS and word not in SPECIAL_WORDS:
            self._dotted()
        elif (first == "'" and len(word) > 1) or word in _CONSTANTS:
            self._at += 1
        elif first in _DIGITS:
            self._number()
        elif word == "-":
            self._at += 1
            self._number()
        elif word == "(":
            self._at += 1
            self._group()
        elif word == "CASE":
            self._at += 1
            self._case()
        elif word == "EXISTS":
            self._at += 1
            self._take("(")
            self._query()
            self._take(")")
        else:
            raise _NotPlain

    def _group(self) -> None:
        if self._words[self._at] == "SELECT":
            self._query()
        else:
            self._deeper()
            self._condition()
            self._depth -= 1
        self._take(")")

    def _call(self, name: str) -> None:
        if name in _NUMBERING or (name == "COUNT(" and self._words[self._at] == "*"):
            self._at += name == "COUNT("
            self._take(")")
            return
        if name in _AGGREGATES and self._words[self._at] == "DISTINCT":
            self._at += 1
        self._deeper()
        least, most = _CALLS[name]
        if not least <= self._listed(self._sum) <= most:
            raise _NotPlain
        self._take(")")
        self._depth -= 1

    def _over(self) -> None:
        self._take("(")
        if self._words[self._at] == "PARTITION":
            self._at += 1
            self._take("BY")
            if self._words[self._at] == "(":  # to PostgreSQL behind FROM: a column of the type `by(…)`
                raise _NotPlain
            self._listed(self._sum)
        if self._words[self._at] == "ORDER":
            self._at += 1
            self._take("BY")
            self._listed(self._ordered)
        self._take(")")

    def _case(self) -> None:
        self._deeper()
        if self._words[self._at] != "WHEN":
            self._sum()
        self._take("WHEN")
        while True:
            self._condition()
            self._take("THEN")
            self._sum()
            if self._words[self._at] != "WHEN":
                break
            self._at += 1
        if self._words[self._at] == "ELSE":
            self._at += 1
            self._sum()
        self._take("END")
        self._depth -= 1

    def _listed(self, rule: Callable[[], None]) -> int:
        """One or more with commas between; how many."""
        count = 1
        rule()
        while self._words[self._at] == ",":
            self._at += 1
            rule()
            count += 1
        return count

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise _NotPlain

    def _dotted(self) -> None:
        """`orders`, `shop.orders`, `o.amount`."""
        self._name()
        if self._words[self._at] == ".":
            self._at += 1
            self._name()

    def _name(self) -> None:
        word = self._words[self._at]
        if (
            word[:1] not in _LETTERS
            or word[-1] == "("
            or word in SPECIAL_WORDS
            or word in self._telling.names
            or word.startswith(self._telling.prefixes)
        ):
            raise _NotPlain
        self._at += 1

    def _number(self) -> None:
        if _NUMBER.fullmatch(self._words[self._at]) is None:
            raise _NotPlain
        self._at += 1

    def _take(self, word: str) -> None:
        if self._words[self._at] != word:
            raise _NotPlain
        self._at += 1
