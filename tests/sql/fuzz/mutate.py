"""Mutations: statements of the corpora taken apart, mixed, hidden and spelled otherwise."""

import re
from collections.abc import Sequence
from random import Random

# Crude on purpose: a lexer that agreed with the guard's would never cut where the two disagree.
_PIECE = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|.", re.DOTALL)

_MAX_LEARNED = 3_000
_MAX_LEARNED_CHARS = 400
_SEPARATORS = (
    *(
        " ",
        "\n",
        "\t",
        "\r",
        "\r\n",
        "\f",
        "\v",
        "/**/",
        "/* x */",
        "/*/* x */*/",
        "-- x\n",
        "--\n",
        "-- x\r",
    ),
    *(
        "# x\n",
        "/*! */",
        "/*!50000 */",
        "/*M! */",
        "\u00a0",
        "\u3000",
        "\u200b",
        "\u2028",
        "\ufeff",
        "\0",
        "--\u00a0",
    ),
)
_NOISE = (
    *(
        "'",
        '"',
        "`",
        "''",
        '""',
        "\\",
        "\\'",
        "$$",
        "$a$",
        ";",
        "--",
        "/*",
        "*/",
        "#",
        "(",
        ")",
        "()",
        ",",
        ".",
    ),
    *(
        "E'",
        "e'\\'",
        "N'",
        "x'41'",
        "U&'",
        "b'1'",
        "[",
        "]",
        "{",
        "}",
        ":",
        "::",
        ":=",
        "@",
        "@@",
        "?",
        "%",
        "!",
    ),
    *(
        "||",
        "->",
        "=>",
        "0x1F",
        "1e5",
        "NULL",
        "*",
        "AS",
        "FROM",
        "INTO",
        "FOR UPDATE",
        "RETURNING *",
        "WITH",
    ),
)
_LOOK_ALIKES = {
    "a": "àáａａ",
    "e": "éｅе",
    "i": "íｉі",
    "o": "öｏο",
    "k": "\u212aｋ",
    "s": "\u017fｓ",
    "l": "ｌ",
    "r": "ｒ",
    "t": "ｔ",
}
_WRAPS = (
    *(
        "({})",
        "SELECT * FROM ({}) AS w",
        "WITH w AS ({}) SELECT * FROM w",
        "EXPLAIN {}",
        "EXPLAIN ANALYZE {}",
    ),
    *(
        "SELECT ({})",
        "SELECT 1; {}",
        "{}; SELECT 1",
        "SELECT EXISTS ({})",
        "{} UNION ALL {}",
        "/* {} */ SELECT 1",
    ),
    *(
        "SELECT 1 WHERE 1 IN ({})",
        "-- {}\nSELECT 1",
        "SELECT '{}'",
        "DESCRIBE {}",
        "ANALYZE {}",
        "SELECT 1 /* {}",
    ),
    *(
        "SELECT CASE WHEN ({}) IS NULL THEN 1 END",
        "{} -- ",
        "({}) UNION ({})",
        "SELECT 1, ({}) ORDER BY ({})",
    ),
)


def pieces_of(sql: str) -> list[str]:
    return _PIECE.findall(sql)


class Mutator:
    def __init__(self, seeds: Sequence[str], random: Random) -> None:
        self._seeds = list(seeds)
        self._most = len(seeds) + _MAX_LEARNED
        self._random = random
        self._words = sorted({piece for seed in seeds for piece in pieces_of(seed) if piece.strip()})
        self._ways = (
            *(self._splice, self._splice, self._separate, self._separate, self._insert, self._replace_piece),
            *(
                self._replace_piece,
                self._drop,
                self._swap,
                self._repeat,
                self._flip_case,
                self._wrap,
                self._wrap,
            ),
            *(self._look_alike, self._requote, self._stack, self._cut),
        )

    def learn(self, sql: str) -> None:
        """A statement that the engine ran: its mutations are more likely to run as well."""
        if len(self._seeds) < self._most and len(sql) < _MAX_LEARNED_CHARS:
            self._seeds.append(sql)

    def mutated(self) -> str:
        sql = self._random.choice(self._seeds)
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3, 5))):
            sql = self._random.choice(self._ways)(sql)
        return sql

    def _splice(self, sql: str) -> str:
        one, other = pieces_of(sql), pieces_of(self._random.choice(self._seeds))
        return "".join(
            one[: self._random.randint(0, len(one))] + other[self._random.randint(0, len(other)) :]
        )

    def _separate(self, sql: str) -> str:
        separator = self._random.choice(_SEPARATORS)
        chance = self._random.choice((0.1, 0.5, 1.0))
        return "".join(
            separator if piece.isspace() and self._random.random() < chance else piece
            for piece in pieces_of(sql)
        )

    def _insert(self, sql: str) -> str:
        pieces = pieces_of(sql)
        pieces.insert(self._random.randint(0, len(pieces)), self._random.choice((*_NOISE, *_SEPARATORS)))
        return "".join(pieces)

    def _replace_piece(self, sql: str) -> str:
        pieces = pieces_of(sql)
        if not pieces:
            return sql
        pieces[self._random.randrange(len(pieces))] = self._random.choice(self._words)
        return "".join(pieces)

    def _drop(self, sql: str) -> str:
        pieces = pieces_of(sql)
        if pieces:
            at = self._random.randrange(len(pieces))
            del pieces[at : at + self._random.randint(1, 3)]
        return "".join(pieces)

    def _swap(self, sql: str) -> str:
        pieces = pieces_of(sql)
        if len(pieces) > 1:
            one, other = self._random.sample(range(len(pieces)), 2)
            pieces[one], pieces[other] = pieces[other], pieces[one]
        return "".join(pieces)

    def _repeat(self, sql: str) -> str:
        pieces = pieces_of(sql)
        start = self._random.randint(0, len(pieces))
        end = self._random.randint(start, min(len(pieces), start + 12))
        return "".join(pieces[:end] + pieces[start:])

    def _flip_case(self, sql: str) -> str:
        return "".join(char.swapcase() if self._random.random() < 0.5 else char for char in sql)

    def _wrap(self, sql: str) -> str:
        return self._random.choice(_WRAPS).replace("{}", sql.rstrip("; \n"))

    def _stack(self, sql: str) -> str:
        return (
            sql
            + self._random.choice((";", "; ", ";\n", " ;--\n", ";/**/"))
            + self._random.choice(self._seeds)
        )

    def _cut(self, sql: str) -> str:
        return sql[: self._random.randint(0, len(sql))]

    def _look_alike(self, sql: str) -> str:
        at = self._random.randrange(len(sql)) if sql else 0
        choices = _LOOK_ALIKES.get(sql[at : at + 1].lower())
        return sql[:at] + self._random.choice(choices) + sql[at + 1 :] if choices else sql

    def _requote(self, sql: str) -> str:
        opening, closing = self._random.choice(
            (("'", "'"), ('"', '"'), ("`", "`"), ("[", "]"), ("$$", "$$"), ("E'", "'"))
        )
        pieces = pieces_of(sql)
        targets = [at for at, piece in enumerate(pieces) if piece[0] in "'\"" or piece.isidentifier()]
        if targets:
            at = self._random.choice(targets)
            pieces[at] = opening + pieces[at].strip("'\"") + closing
        return "".join(pieces)
