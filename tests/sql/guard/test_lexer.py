"""The lexer sees what SQLite sees, and never fails."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.sql.engines.sqlite.dialect.lexer import lex
from callgate.sql.guard.tokens import TokenKind, fold, significant


def kinds(sql: str) -> list[str]:
    return [f"{token.kind}:{token.text}" for token in lex(sql) if token.kind is not TokenKind.SPACE]


@pytest.mark.parametrize(
    ("sql", "tokens"),
    [
        ("SELECT 1", ["word:SELECT", "number:1"]),
        ("a--b\nc", ["word:a", "comment:--b", "word:c"]),
        ("a/*b*/c", ["word:a", "comment:/*b*/", "word:c"]),
        ("/**/", ["comment:/**/"]),
        ("/* a /* b */ c", ["comment:/* a /* b */", "word:c"]),
        ("'it''s'", ["string:'it''s'"]),
        (r"'\' 'x'", [r"string:'\'", "string:'x'"]),
        ('"a""b"', ['quoted:"a""b"']),
        ("[a b]]", ["quoted:[a b]", "illegal:]"]),
        ("`a``b`", ["quoted:`a``b`"]),
        ("x'00fF' X''", ["blob:x'00fF'", "blob:X''"]),
        ("x'0'", ["illegal:x'0'"]),
        ("x 'a'", ["word:x", "string:'a'"]),
        ("?1 ? :a @b $c", ["variable:?1", "variable:?", "variable::a", "variable:@b", "variable:$c"]),
        ("$a::b(c)d", ["variable:$a::b(c)", "word:d"]),
        (
            "1 1.5 .5 5. 1e3 1E-3 0xFf",
            [f"number:{n}" for n in ["1", "1.5", ".5", "5.", "1e3", "1E-3", "0xFf"]],
        ),
        ("1e", ["illegal:1e"]),
        ("0x", ["illegal:0x"]),
        ("12ab", ["illegal:12ab"]),
        ("a->b->>c", ["word:a", "operator:->", "word:b", "operator:->>", "word:c"]),
        ("a-- b", ["word:a", "comment:-- b"]),
        ("a- -b", ["word:a", "operator:-", "operator:-", "word:b"]),
        (
            "a<>b!=c==d||e<<f",
            [
                *["word:a", "operator:<>", "word:b", "operator:!=", "word:c", "operator:==", "word:d"],
                *["operator:||", "word:e", "operator:<<", "word:f"],
            ],
        ),
        ("größe", ["word:größe"]),
        ("a$b", ["word:a$b"]),
        ("!", ["illegal:!"]),
        ("{a}", ["illegal:{", "word:a", "illegal:}"]),
        ("a\\b", ["word:a", "illegal:\\", "word:b"]),
    ],
)
def test_tokens_are_those_of_sqlite(sql: str, tokens: list[str]) -> None:
    assert kinds(sql) == tokens


@pytest.mark.parametrize(
    "sql",
    [
        "'abc",
        '"abc',
        "[abc",
        "`abc",
        "/* abc",
        "/*",
        "x'00",
        "a\u00a0b",
        "\u2003",
        "\u3000",
        "\u2028",
        "\ufeff",
        "a\u200bb",
        "\x00",
        "\x0b",
        "\x1b",
        "\x7f",
        "-- a\rb\n",
        "-- a\u2028b\n",
        "-- a\x85b\n",
        "/* \u202e */",
        "/* \u2066 */",
        "/* \ud800 */",
        "\U0001f469\u200d\U0001f4bb",
        "'a\x00b'",
    ],
)
def test_what_hides_is_illegal_and_says_why(sql: str) -> None:
    faults = [token.fault for token in lex(sql) if token.kind is TokenKind.ILLEGAL]
    assert faults
    assert all(faults)


def test_windows_line_ends_after_a_comment_are_fine() -> None:
    assert TokenKind.ILLEGAL not in {token.kind for token in lex("SELECT 1 -- one\r\nFROM t")}


@pytest.mark.parametrize("text", ["\U0001f469\u200d\U0001f4bb", "a\u00a0b", "\ufeff", "\u00ad", "\U0001fae8"])
def test_what_is_only_invisible_is_fine_in_comments_and_quotes(text: str) -> None:
    for sql in (f"SELECT 1 -- {text}\n", f"SELECT /* {text} */ 1", f"SELECT '{text}' AS \"{text}\""):
        assert TokenKind.ILLEGAL not in {token.kind for token in lex(sql)}
        with closing(sqlite3.connect(":memory:")) as connection:
            assert len(connection.execute(sql).fetchall()) == 1


def test_names_are_unquoted_and_folded_in_ascii_only() -> None:
    assert [token.name for token in significant(lex('"A""b" [C] `D` \'E\' f'))] == ['a"b', "c", "d", "e", "f"]
    assert fold("\u212aELVIN") == "\u212aelvin"


sql_soup = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "SELECT",
                " ",
                "\n",
                "\r",
                "--",
                "/*",
                "*/",
                "'",
                '"',
                "`",
                "[",
                "]",
                ";",
                "(",
                ")",
                "x'",
                "0x",
                "1e",
                ".",
                "$a",
                ":",
                "::",
                "?",
                "@",
                "#",
                "->",
                "!",
                "{",
                "\\",
                "\u00a0",
                "\u200d",
                "\ufeff",
                "é",
                "\x00",
                "1",
                "a",
            ]
        ),
        st.text(max_size=3),
    ),
    max_size=40,
).map("".join)


@given(st.one_of(st.text(), sql_soup))
def test_the_lexer_is_total_and_loses_nothing(text: str) -> None:
    tokens = lex(text)
    assert "".join(token.text for token in tokens) == text
    assert [token.start for token in tokens] == [
        sum(len(earlier.text) for earlier in tokens[:at]) for at in range(len(tokens))
    ]
    assert all(token.text for token in tokens)


@given(sql_soup)
def test_sqlite_never_finds_a_second_statement_where_the_lexer_sees_one(text: str) -> None:
    """`SELECT 1` in front makes SQLite read on: a ; that only SQLite sees would be told."""
    sql = f"SELECT 1 {text}"
    tokens = lex(sql)
    if any(token.kind is TokenKind.ILLEGAL or token.is_operator(";") for token in tokens):
        return
    with closing(sqlite3.connect(":memory:")) as connection:
        error = ""
        try:
            connection.execute(sql)
        except (sqlite3.Error, UnicodeError) as raised:
            error = str(raised)
        assert "one statement" not in error, sql


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_quoted_text_is_the_text_that_sqlite_reads(text: str) -> None:
    literal = "'" + text.replace("'", "''") + "'"
    (token,) = lex(literal)
    assert (token.kind, token.spelled) == (TokenKind.STRING, text)
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute(f"SELECT {literal}").fetchone() == (text,)
