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
from functools import lru_cache
from operator import itemgetter

from callgate.sql.guard.dialect import Dialect, VerbClass, Vocabulary
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.plain_expressions import (
    CALLS,
    DIGITS,
    END,
    LETTERS,
    NUMBERING,
    NotPlain,
    PlainExpressions,
    Telling,
)
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.special_words import SPECIAL_WORDS

# Longer ones might be more than the parser has a budget for.
MOST_CHARS = 2_000
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


@lru_cache(maxsize=8)
def _telling(dialect: Dialect) -> Telling | None:
    """None: the engine has no plain reads, since SELECT or a function is not what it is elsewhere."""
    words: Vocabulary = dialect.vocabulary
    calls = {name[:-1].lower() for name in CALLS.keys() | NUMBERING} - words.functions - words.call_keywords
    if dialect.grammar.verbs.get("SELECT") is not VerbClass.READ or not dialect.quotes or calls:
        return None
    tables = {table.rpartition(".")[2] for table in words.hidden_tables}
    names = tables | set(words.hidden_schemas) | words.forbidden_functions | words.telling_names
    return Telling(
        frozenset(name.upper() for name in names),
        tuple(prefix.upper() for prefix in words.hidden_prefixes),
    )


def read_plainly(sql: str, policy: Policy) -> Statement | None:
    """The statement, which may run as far as its tables may be read. None: the text is not plain."""
    if len(sql) > MOST_CHARS or (telling := _telling(policy.dialect)) is None:
        return None
    if policy.schema is not None and policy.schema.lower() in policy.dialect.vocabulary.hidden_schemas:
        return None
    text = sql.strip(_BLANKS).rstrip(_BLANKS + ";")
    reader = _Reader(_TOKEN.findall(text), telling)
    try:
        reader.statement()
    except NotPlain:
        return None
    outer_first = sorted(reader.tables, key=itemgetter(0)) if len(reader.tables) > 1 else reader.tables
    tables = tuple(dict.fromkeys([table for _, table in outer_first]))
    return Statement(text, "SELECT", tables, is_plain_read=True)


def has_plain_shape(sql: str, shape: str) -> bool:
    """Whether the shape of a plain read has marks for values and for nothing else (`shapes.shape_of`)."""
    tokens, marked = _TOKEN.findall(sql), _MARKED.findall(shape)
    if len(tokens) != len(marked):
        return False
    for one, other in zip(marked, tokens, strict=True):
        is_value = (one == "\0" and other[0] in DIGITS) or (one == "'\0" and other[0] == "'")
        if one != other and not is_value:
            return False
    return True


class _Reader(PlainExpressions):
    """The whole statement: its queries, their tables and clauses."""

    def __init__(self, tokens: list[str], telling: Telling) -> None:
        super().__init__(tokens, telling)
        self._tokens = tokens
        self._ctes: dict[str, str] = {}  # that are known here: in upper case, and as written
        self.tables: list[tuple[int, str]] = []  # how deep and as written, without the names of CTEs

    def statement(self) -> None:
        if self._words[0] == "WITH":
            self._at = 1
            self._listed(self._cte)
        self._query()
        if self._words[self._at] is not END:
            raise NotPlain

    def _cte(self) -> None:
        at = self._at
        self._name()
        self._take("AS")
        self._take("(")
        self._query()
        self._take(")")
        name = self._words[at]
        if name in self._ctes:
            raise NotPlain
        self._ctes[name] = self._tokens[at]

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
        elif self._words[self._at][:1] in LETTERS and self._words[self._at] not in SPECIAL_WORDS:
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
            cte = self._ctes.get(self._words[first]) if self._at == first + 1 else None
            if cte is None:
                self.tables.append((self._depth, "".join(self._tokens[first : self._at])))
            elif cte != self._tokens[first]:  # to MySQL it may be a table
                raise NotPlain
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
