"""DuckDB's lexer against DuckDB's own: no quote, comment, word or parenthesis may begin elsewhere."""

from random import Random

import duckdb
import pytest

from callgate.sql.engines.duckdb.dialect.lexer import lex
from callgate.sql.guard.tokens import TokenKind

PIECES = (
    *(
        "'",
        '"',
        "''",
        '""',
        "\\",
        "e'",
        "E'",
        "x'",
        "b'",
        "n'",
        "$$",
        "$a$",
        "--",
        "/*",
        "*/",
        "\n",
        "\r",
        " ",
    ),
    *(
        "\t",
        ";",
        "(",
        ")",
        "a",
        "SELECT",
        "1",
        "1.5",
        "1e5",
        ".",
        ",",
        "::",
        ":",
        "=>",
        "->",
        "->>",
        "<",
        ">",
    ),
    *(
        "=",
        "!",
        "~",
        "@",
        "#",
        "%",
        "^",
        "&",
        "|",
        "+",
        "-",
        "*",
        "/",
        "?",
        "[",
        "]",
        "{",
        "}",
        "é",
        "_x",
        "a$b",
    ),
    *("0x1", "\\'", "`", "$b$", "\f", "\v"),
)


def begins(text: str, start: int) -> bool:
    """Whether a token that begins there decides how the rest is read."""
    return text[start] in "'\"();_$`" or text[start].isalnum() or text.startswith(("--", "/*"), start)


@pytest.mark.parametrize("seed", range(8))
def test_tokens_begin_where_duckdb_says(seed: int) -> None:
    random = Random(seed)
    compared = 0
    for _ in range(3_000):
        text = "".join(random.choice(PIECES) for _ in range(random.randint(1, 9)))
        tokens = lex(text)
        assert "".join(token.text for token in tokens) == text
        if any(token.kind in (TokenKind.ILLEGAL, TokenKind.VARIABLE) for token in tokens):
            continue
        ours = [
            token.start for token in tokens if token.kind is not TokenKind.SPACE and begins(text, token.start)
        ]
        starts = {len(text[:at].encode()): at for at in range(len(text))}
        theirs = [starts[start] for start, _ in duckdb.tokenize(text) if begins(text, starts[start])]
        assert ours == theirs, text
        compared += 1
    assert compared > 500


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("SELECT 1 /* /* */", "never closed"),
        ("SELECT 'a", "never closed"),
        ("SELECT e'\\'", "never closed"),
        ("SELECT $a$ x $b$", "never closed"),
        ('SELECT ""', "empty"),
        ("SELECT 1a", "followed directly by a name"),
        ("SELECT `a`", "no meaning"),
        ("SELECT 2 !=-1", "put spaces"),
        ("SELECT\u00a01", "U+00A0"),
        ("SELECT\u200b1", "U+200B"),
        ("SELECT 1 -- \u2028 x", "U+2028"),
        ("SELECT 'a\0'", "NUL"),
    ],
)
def test_what_could_deceive_is_illegal_and_says_why(text: str, fault: str) -> None:
    faults = [token.fault for token in lex(text) if token.kind is TokenKind.ILLEGAL]
    assert faults
    assert fault in faults[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("e'it\\'s'", "it's"),
        ("$x$a'b$x$", "a'b"),
        ("'a''b'", "a'b"),
        ("E'\\x41\\101\\t'", "aa\t"),
        ("N'x'", "x"),
    ],
)
def test_a_text_is_read_as_duckdb_reads_it(text: str, said: str) -> None:
    (token,) = lex(text)
    assert (token.kind, token.name) == (TokenKind.STRING, said)
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT lower({text})").fetchone() == (said,)
