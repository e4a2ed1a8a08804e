"""Statements that are plain, or nearly: for holding `guard.plain_reads` against the guard in full."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from callgate.sql.guard.special_words import SPECIAL_WORDS

# Ordinary names, those that engines or sqlglot know for something, and those that a rule looks for.
NAMES = (
    *("id", "Amount", "customer_id", "orders", "customers", "shop", "o", "c", "a1", "_x", "total", "n", "e"),
    *(
        "name",
        "date",
        "status",
        "type",
        "value",
        "count",
        "min",
        "max",
        "day",
        "year",
        "month",
        "week",
        "code",
    ),
    *(
        "level",
        "role",
        "owner",
        "path",
        "data",
        "x",
        "y",
        "t",
        "s",
        "i",
        "b",
        "u",
        "title",
        "version",
        "event",
    ),
)
TELLING = (
    *(
        "pg_authid",
        "pg_shadow",
        "sqlite_master",
        "dbstat",
        "pragma_table_info",
        "duckdb_secrets",
        "mysql",
        "user",
    ),
    *(
        "sys",
        "session",
        "performance_schema",
        "information_schema",
        "tables",
        "pg_catalog",
        "pg_toast",
        "csv",
    ),
    *("parquet", "txt", "db", "nextval", "current_setting", "pg_sleep", "pg_read_file", "sleep", "load_file"),
    *(
        "current_date",
        "current_user",
        "processlist",
        "user_variables",
        "rowid",
        "oid",
        "ctid",
        "xmin",
        "dual",
    ),
)
_SPECIAL = sorted(SPECIAL_WORDS)
_VALUES = (
    *(
        "1",
        "0",
        "42",
        "1.5",
        "007",
        "'x'",
        "''",
        "'a b'",
        "'%x_'",
        "'-- /*'",
        "'; DROP'",
        "'é'",
        "'(' ",
        "NULL",
    ),
    *("TRUE", "-1", "- 1", "'2024-01-01'", "'\u200b'", "'\"'", "'`'", "'pg_authid'"),
)
_ODD = (
    *(
        "'it''s'",
        "E'x'",
        "x'41'",
        "1e5",
        "0x1F",
        "1.",
        ".5",
        "1_000",
        "'a' 'b'",
        "'a\\'",
        "'\n'",
        "--",
        "/* c */",
    ),
    *(
        "-- c\n",
        "#",
        "?",
        ":x",
        "@x",
        "$1",
        "$$x$$",
        '"x"',
        "`x`",
        "[x]",
        "::int",
        "||",
        "%",
        "^",
        "<=>",
        "->",
    ),
    *(
        "==",
        "!",
        "~",
        "&",
        "|",
        ";",
        ":=",
        "{",
        "}",
        "'",
        '"',
        "\\",
        "\0",
        "\u00a0",
        "é",
        "ſelect",
        "=-1",
        "(",
        ")",
    ),
    *(
        ",",
        ".",
        "*",
        "=",
        "-",
        "+",
        "/",
        "<",
        "AND",
        "OR",
        "NOT",
        "NULL",
        "AS",
        "ON",
        "SELECT",
        "FROM",
        "WHERE",
    ),
    *("INTO", "FOR UPDATE", "LIMIT 1", "OFFSET 1", "ORDER BY 1", "GROUP BY 1", "HAVING 1", "UNION SELECT 1"),
    *("DISTINCT", "ALL", "BY", "IN", "IS", "LIKE", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END", "OVER"),
    *(
        "count (",
        "count(",
        "min(1, 2)",
        "lower()",
        "evil(",
        "INTERVAL",
        "COLLATE",
        "ESCAPE '!'",
        "EXISTS",
        "ANY",
    ),
    *(
        "LEFT",
        "FULL",
        "JOIN",
        "ILIKE",
        "CROSS JOIN t",
        "NATURAL JOIN t",
        "USING (id)",
        "LATERAL",
        "VALUES (1)",
        "WITH",
        "PARTITION",
    ),
    *(
        "CAST(1 AS int)",
        "ROW_NUMBER()",
        "date '2024-01-01'",
        "PROCEDURE",
        "LOCK",
        "DESC NULLS LAST",
        "TABLE t",
    ),
)
_CALLS = (
    *(
        ("count", 1),
        ("sum", 1),
        ("avg", 1),
        ("min", 1),
        ("MAX", 1),
        ("lower", 1),
        ("upper", 1),
        ("length", 1),
    ),
    *(("abs", 1), ("round", 1), ("round", 2), ("coalesce", 2), ("coalesce", 3), ("nullif", 2), ("lag", 1)),
    *(("row_number", 0), ("rank", 0)),
)


class PlainStatements:
    """Made up by chance. `oddity`: how often a part of one is not what it should be, from 0 to 1."""

    def __init__(self, random: Random, oddity: float = 0.02) -> None:
        self._random = random
        self._oddity = oddity

    def statement(self) -> str:
        parts = self._query(0)
        if self._chance(0.2):
            parts = ["WITH", self._name(), "AS", "(", *self._query(1), ")", *parts]
        if self._chance(0.05 + self._oddity * 5):
            for _ in range(self._random.randint(1, 2)):
                self._disturb(parts)
        text = ""
        for part in parts:
            joins = (
                part in ",.)" or text.endswith((".", "(")) or (part.startswith("(") and self._chance(0.05))
            )
            text += part if joins else self._pick((" ", " ", " ", "\n", "\t", "  ")) + part
        return text.strip() + self._pick(("", "", "", ";", " ; ", "\n"))

    def _disturb(self, parts: list[str]) -> None:
        at = self._random.randrange(len(parts))
        match self._random.randrange(5):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, self._pick(parts))
            case 2:
                other = self._random.randrange(len(parts))
                parts[at], parts[other] = parts[other], parts[at]
            case 3:
                parts[at] = self._pick(_ODD)
            case _:
                parts.insert(at, self._pick((*_ODD, *_SPECIAL)))
        if not parts:
            parts.append("SELECT")

    def _query(self, depth: int) -> list[str]:
        parts = ["SELECT", *(["DISTINCT"] if self._chance(0.1) else []), *self._listed(self._item, depth)]
        if self._chance(0.05):
            return parts
        parts += ["FROM", *self._source(depth)]
        while self._chance(0.25):
            if self._chance(0.2):
                parts += [*self._pick(([","], ["CROSS", "JOIN"])), *self._source(depth)]
            else:
                kind = self._pick((["JOIN"], ["INNER", "JOIN"], ["LEFT", "JOIN"], ["LEFT", "OUTER", "JOIN"]))
                parts += [*kind, *self._source(depth), "ON", *self._condition(depth)]
        if self._chance(0.6):
            parts += ["WHERE", *self._condition(depth)]
        if self._chance(0.3):
            parts += ["GROUP", "BY", *self._listed(self._sum, depth)]
            if self._chance(0.3):
                parts += ["HAVING", *self._condition(depth)]
        if self._chance(0.3):
            parts += ["ORDER", "BY", *self._listed(self._ordered, depth)]
        if self._chance(0.3):
            parts += ["LIMIT", str(self._random.randrange(100))]
            if self._chance(0.3):
                parts += ["OFFSET", str(self._random.randrange(100))]
        if depth == 0 and self._chance(0.1):
            parts += ["UNION", *(["ALL"] if self._chance(0.5) else []), *self._query(1)]
        return parts

    def _listed(self, make: Callable[[int], list[str]], depth: int) -> list[str]:
        parts = make(depth)
        while self._chance(0.4 if depth == 0 else 0.2):
            parts += [",", *make(depth)]
        return parts

    def _item(self, depth: int) -> list[str]:
        if self._chance(0.15):
            return self._pick((["*"], [self._name(), ".", "*"]))
        alias = self._pick(([], [], ["AS", self._name()], [self._name()]))
        return [*(self._condition(depth) if self._chance(0.1) else self._sum(depth)), *alias]

    def _ordered(self, depth: int) -> list[str]:
        return [*self._sum(depth), *self._pick(([], [], ["DESC"], ["ASC"], ["NULLS", "LAST"]))]

    def _source(self, depth: int) -> list[str]:
        if depth < 2 and self._chance(0.1):
            return ["(", *self._query(depth + 1), ")", *self._pick((["AS"], [])), self._name()]
        return [*self._dotted(), *self._pick(([], [self._name()], ["AS", self._name()]))]

    def _condition(self, depth: int) -> list[str]:
        parts = [*(["NOT"] if self._chance(0.05) else []), *self._predicate(depth)]
        while self._chance(0.3):
            parts += [self._pick(("AND", "OR", "and")), *self._predicate(depth)]
        return parts

    def _predicate(self, depth: int) -> list[str]:
        left = self._sum(depth)
        negated = ["NOT"] if self._chance(0.2) else []
        match self._random.randrange(10):
            case 0:
                return [*left, *negated, "IN", "(", *self._listed(self._sum, depth), ")"]
            case 1 if depth < 2:
                return [*left, *negated, "IN", "(", *self._query(depth + 1), ")"]
            case 2:
                return [*left, *negated, "BETWEEN", *self._sum(depth), "AND", *self._sum(depth)]
            case 3:
                return [*left, "IS", *negated, "NULL"]
            case 4:
                return [*left, *negated, "LIKE", *self._sum(depth)]
            case 5:
                return left
            case 6 if depth < 2:
                return ["EXISTS", "(", *self._query(depth + 1), ")"]
            case _:
                return [*left, self._pick(("=", "<", ">", "<=", ">=", "<>", "!=")), *self._sum(depth)]

    def _sum(self, depth: int) -> list[str]:
        parts = self._value(depth)
        while self._chance(0.1):
            parts += [self._pick(("+", "-", "*", "/", "||", "%")), *self._value(depth)]
        return parts

    def _value(self, depth: int) -> list[str]:
        if self._chance(self._oddity):
            return [self._pick(_ODD)]
        match self._random.randrange(12 if depth < 3 else 8):
            case 0 | 1 | 2:
                return [self._pick(_VALUES)]
            case 8 | 9:
                return [*self._call(depth), *self._over(depth)]
            case 10:
                return self._pick(
                    (
                        ["(", *self._condition(depth + 1), ")"],
                        ["(", *self._query(depth + 1), ")"] if depth < 2 else ["1"],
                    )
                )
            case 11:
                operand = self._sum(depth + 1) if self._chance(0.2) else []
                otherwise = ["ELSE", *self._sum(depth + 1)] if self._chance(0.6) else []
                cases = ["WHEN", *self._condition(depth + 1), "THEN", *self._sum(depth + 1)]
                return ["CASE", *operand, *cases, *otherwise, "END"]
            case _:
                return self._dotted()

    def _call(self, depth: int) -> list[str]:
        name, arguments = self._pick(_CALLS)
        if self._chance(self._oddity * 4):
            name, arguments = (
                self._pick(("evil", "cast", "substr", "repeat", name)),
                self._random.randrange(5),
            )
        if name == "count" and self._chance(0.5):
            return ["count(", "*", ")"]
        parts = [f"{name}(", *(["DISTINCT"] if name in ("count", "sum") and self._chance(0.1) else [])]
        for at in range(arguments):
            parts += [*([","] if at else []), *self._sum(depth + 1)]
        return [*parts, ")"]

    def _over(self, depth: int) -> list[str]:
        if not self._chance(0.05):
            return []
        parted = ["PARTITION", "BY", *self._listed(self._sum, depth + 1)] if self._chance(0.5) else []
        ordered = ["ORDER", "BY", *self._listed(self._ordered, depth + 1)] if self._chance(0.5) else []
        return ["OVER", "(", *parted, *ordered, ")"]

    def _dotted(self) -> list[str]:
        parts = [self._name()]
        if self._chance(0.3):
            parts += [".", self._name()]
        if self._chance(self._oddity):
            parts += [".", self._name()]
        return parts

    def _name(self) -> str:
        if self._chance(self._oddity):
            return self._pick((self._pick(TELLING), self._pick(_SPECIAL).lower(), self._pick(_ODD)))
        name = self._pick(NAMES)
        return name.upper() if self._chance(0.05) else name

    def _pick(self, choices: Sequence[Any]) -> Any:
        return self._random.choice(choices)

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability
