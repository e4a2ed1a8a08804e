"""The same statement with other values in it, plain ones and those that mean more than they seem to."""

from random import Random
from unittest.mock import patch

from msgspec.structs import replace

from callgate.sql.guard import judge_statement
from callgate.sql.guard.dialect import Dialect, Tokens
from callgate.sql.guard.judge import judge_in_full
from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import TokenKind

_LITERALS = (TokenKind.STRING, TokenKind.NUMBER, TokenKind.BLOB)
# What a rule might look for in a text: names of functions, tables, files, settings, types and keywords.
_WORDS = (
    *("repeat", "lpad", "format", "printf", "range", "generate_series", "instr", "trim", "json_table"),
    *("xmltable", "pg_sleep", "load_file", "read_csv", "current_setting", "nextval", "sleep", "dblink"),
    *("dbstat", "sqlite_dbpage", "pg_authid", "mysql.user", "duckdb_secrets", "pragma_table_info", "orders"),
    *("x.csv", "/etc/passwd", "s3://b/x.parquet", "a.db", "~/x", "ssl_key_file", "password", "TimeZone"),
    *("int", "integer", "decimal", "date", "interval", "status", "array", "row", "null", "true", "default"),
    *("SELECT", "START", "CASE", "END", "DAY", "INTERVAL", "FROM", "INTO", "FOR", "UPDATE", "NEXT", "ANY"),
    *("UNION", "WITH", "AS", "PERCENT", "ROWS", "TIES", "ALL", "DELETE", "INSERT", "LATERAL", "FN", "MAP"),
    *(
        "1 day",
        "5 days",
        "2024-01-01",
        "2024-01-01 10:00:00+02",
        "1:2",
        "%Y-%m-%d",
        "%2147483647d",
        "{:99999}",
    ),
    *(
        "$.a",
        "$[*]",
        "{",
        "}",
        "(",
        ")",
        ",",
        ".",
        ";",
        "*",
        "=",
        "::",
        "-",
        "--",
        "/*",
        "*/",
        "#",
        "?",
        ":x",
        "@x",
    ),
    *(
        "",
        " ",
        "x" * 300,
        "x" * 9_000,
        "\u2028",
        "\u00a0",
        "\ufeff",
        "é",
        "😀",
        '"',
        "`",
        "]",
        "$$",
        "a\tb",
        "a\nb",
    ),
)
_NUMBERS = (
    *("0", "1", "7", "007", "10001", "2147483648", "9" * 30, "9" * 3_000, "1.5", "0.0001", "1.", ".5", "1e5"),
    *(
        "1E-5",
        "1_000",
        "0x1F",
        "0X1F",
        "0b1",
        "0o17",
        "5e",
        "5a",
        "1..2",
        "t.5",
        "- 5",
        "-5",
        "--5",
        "+5",
        "- -5",
    ),
)
# Written so that engines, or a reader in a hurry, disagree about where they end or what they are.
_ODD = (
    *(
        "'it''s'",
        "''''",
        "'a\\'",
        "'a\\''",
        "'\\",
        "'",
        "'a' 'b'",
        "'a'\n'b'",
        "'a'\n-- c\n'b'",
        "'a'-- c\n'b'",
    ),
    *("E'a\\'b'", "e'\\x41'", "N'x'", "n'x'", "_utf8'x'", "_binary 'x'", "x'41'", "X'4'", "b'01'", "B'2'"),
    *("U&'\\0061'", "U&'a!0062' UESCAPE '!'", "$$x$$", "$t$x$t$", "$1", "$x", '"x"', '"it\'s"', "`x`", "[x]"),
    *(
        "date '2024-01-01'",
        "interval '1 day'",
        "interval 5 day",
        "timestamp '2024-01-01 00:00'",
        "{d '2024-01-01'}",
    ),
    *(
        "5/* c */",
        "/* c */5",
        "5 -- c\n",
        "/*!5*/",
        "/*! 5 */",
        "/*M!5*/",
        "/*+ x */5",
        "5#c\n",
        "'a'/* ' */",
    ),
    *(
        "?",
        ":x",
        "@x",
        "@'x'",
        "@@version",
        "\\N",
        "NULL",
        "TRUE",
        "(SELECT 1)",
        "(5)",
        "'x'::text",
        "5::int",
    ),
    *("'x' COLLATE nocase", "'a' || 'b'", "5 + 5", "5; DROP TABLE orders", "'x'; DELETE FROM orders; --"),
    *(
        "5 UNION SELECT 1",
        "5 INTO OUTFILE 'x'",
        "5 FOR UPDATE",
        "'a' AS b",
        "5 b",
        "5(",
        "'x'(",
        "'x'.a",
        "'x'[1]",
    ),
    *(
        "\0",
        "'\0'",
        "'\0",
        "'a\0b'",
        "5\0",
        "'\ud800'",
        "\u00a05",
        "５",
        "'\x1b'",
        "'\x85'",
        "5,6",
        "'a','b'",
    ),
)


def with_other_values(sql: str, dialect: Dialect, random: Random) -> str:
    """Each of its literals stays, or becomes another one; most often one of its own kind."""
    pieces: list[str] = []
    for token in dialect.lex(sql):
        keeps = token.kind not in _LITERALS or random.random() < 0.3
        pieces.append(token.text if keeps else _other(token.kind, random))
    return "".join(pieces)


def _other(kind: TokenKind, random: Random) -> str:
    if random.random() < 0.15:
        return random.choice(_ODD)
    if (kind is TokenKind.NUMBER) == (random.random() < 0.9):
        return random.choice(_NUMBERS)
    return "'" + random.choice(_WORDS).replace("'", "''") + "'"


def plain_text(random: Random) -> str:
    return "'" + random.choice(_WORDS) + "'"


def judged_with_values(sql: str, policy: Policy) -> Judgement:
    """As if the rules could see every value."""

    def as_it_is(tokens: Tokens, valued: frozenset[str]) -> Tokens:
        return tokens

    with patch.object(judge_statement, "without_values", as_it_is):
        return judge_in_full(sql, policy)


def seen(judgement: Judgement) -> tuple[object, ...]:
    """All that it says. The words of a refusal may quote what the parser was shown, the order and case of
    tables depend on how they were found (`guard.plain_reads`), and that alone says that a read is plain."""
    statements = [replace(one, tables=(), is_plain_read=False) for one in judgement.statements]
    tables = [{table.lower() for table in one.tables} for one in judgement.statements]
    return judgement.allowed, judgement.rule, statements, tables
