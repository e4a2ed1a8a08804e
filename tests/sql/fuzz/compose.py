"""Composition: SELECTs of a small grammar, so that every allowed function is called with odd values."""

from collections.abc import Sequence
from random import Random

from callgate.sql.guard.dialect import Dialect

_VALUES = (
    *(
        "NULL",
        "0",
        "1",
        "-1",
        "2.5",
        "1e3",
        "''",
        "'a'",
        "'2024-02-29'",
        "'2024-01-01 10:00:00'",
        "'%Y-%m'",
        "'[1, 2]'",
    ),
    *(
        '\'{"a": {"b": 1}}\'',
        "'$.a'",
        "'order_numbers'",
        "'orders'",
        "'secret.csv'",
        "'/etc/hostname'",
        "'x', 'y'",
    ),
    *(
        "id",
        "name",
        "total",
        "(SELECT 1)",
        "(SELECT max(id) FROM orders)",
        "'DELETE FROM orders'",
        "DATE '2024-01-01'",
    ),
    *(
        "CAST('1' AS INTEGER)",
        "CASE WHEN 1 = 1 THEN 'x' END",
        "'day'",
        "'year'",
        "'a,b'",
        "';'",
        "'\\'",
        "'sum'",
    ),
)
_OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "=",
    "<",
    "<=",
    "<>",
    "AND",
    "OR",
    "LIKE",
    "IS",
    "IN",
    "&",
    "|",
    "->",
    "->>",
)
_TAILS = (
    *(
        "",
        "",
        "",
        " WHERE {e}",
        " GROUP BY {e}",
        " ORDER BY {e}",
        " LIMIT 2",
        " WHERE {e} ORDER BY 1 LIMIT 3",
    ),
    *(
        " HAVING {e}",
        " GROUP BY 1 HAVING {e}",
        " LIMIT 1 OFFSET 1",
        " UNION SELECT {e}",
        " UNION ALL SELECT {e}",
    ),
)


class Composer:
    def __init__(self, dialect: Dialect, tables: Sequence[str], random: Random) -> None:
        self._functions = sorted(dialect.vocabulary.functions)
        self._table_functions = sorted(dialect.vocabulary.table_functions)
        self._tables = tables
        self._random = random

    def composed(self) -> str:
        head = self._random.choice(("SELECT ", "SELECT ", "SELECT ", "SELECT DISTINCT ", "VALUES ("))
        if head == "VALUES (":
            return f"VALUES ({self._expression()}, {self._expression()})"
        items = ", ".join(self._expression() for _ in range(self._random.choice((1, 1, 2, 3))))
        tail = self._random.choice(_TAILS)
        while "{e}" in tail:
            tail = tail.replace("{e}", self._expression(), 1)
        return f"{head}{items}{self._source()}{tail}"

    def _source(self) -> str:
        match self._random.randrange(6):
            case 0:
                return ""
            case 1 if self._table_functions:
                name = self._random.choice(self._table_functions)
                return f" FROM {name}({self._arguments()}) AS f"
            case 2:
                return f" FROM {self._table()} AS a JOIN {self._table()} AS b ON {self._expression()}"
            case 3:
                return f" FROM (SELECT * FROM {self._table()}) AS q"
            case _:
                return f" FROM {self._table()}"

    def _table(self) -> str:
        return self._random.choice(self._tables)

    def _expression(self, depth: int = 0) -> str:
        if depth > 2 or self._random.random() < 0.3:
            return self._random.choice(_VALUES)
        if self._random.random() < 0.75:
            over = self._random.choice(("", "", "", "", "", " OVER (ORDER BY 1)", " OVER ()"))
            return f"{self._random.choice(self._functions)}({self._arguments(depth)}){over}"
        left, right = self._expression(depth + 1), self._expression(depth + 1)
        return f"({left} {self._random.choice(_OPERATORS)} {right})"

    def _arguments(self, depth: int = 0) -> str:
        count = self._random.choice((0, 1, 1, 1, 2, 2, 3))
        return (
            ", ".join(self._expression(depth + 1) for _ in range(count))
            if count
            else self._random.choice(("", "*"))
        )
