"""The lexer sees what MySQL and MariaDB see, and never fails."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.sql.engines.mysql.dialect.lexer import lex
from callgate.sql.guard.tokens import TokenKind


def kinds(sql: str) -> list[str]:
    return [f"{token.kind}:{token.text}" for token in lex(sql) if token.kind is not TokenKind.SPACE]


@pytest.mark.parametrize(
    ("sql", "tokens"),
    [
        ("SELECT 1", ["word:SELECT", "number:1"]),
        ("a -- b\nc", ["word:a", "comment:-- b", "word:c"]),
        ("a--b", ["word:a", "operator:-", "operator:-", "word:b"]),
        ("a--", ["word:a", "comment:--"]),
        ("a--\tb\nc", ["word:a", "comment:--\tb", "word:c"]),
        ("a#b\nc", ["word:a", "comment:#b", "word:c"]),
        ("a/*b*/c", ["word:a", "comment:/*b*/", "word:c"]),
        ("/*/ b */c", ["comment:/*/ b */", "word:c"]),
        ("/* a /* b */ c", ["comment:/* a /* b */", "word:c"]),
        ("'it''s'", ["string:'it''s'"]),
        (r"'\'' 'x'", [r"string:'\''", "string:'x'"]),
        (r"'\\' b", [r"string:'\\'", "word:b"]),
        (r'"a\"b" c', [r'string:"a\"b"', "word:c"]),
        ('"a""b"', ['string:"a""b"']),
        ("`a``b`", ["quoted:`a``b`"]),
        (r"`a\` b", [r"quoted:`a\`", "word:b"]),
        ("N'x' n'y' N 'z'", ["string:N'x'", "string:n'y'", "word:N", "string:'z'"]),
        ("x'00fF' X'' b'01'", ["blob:x'00fF'", "blob:X''", "blob:b'01'"]),
        ("x'0'", ["illegal:x'0'"]),
        ("b'2'", ["illegal:b'2'"]),
        ("x 'a'", ["word:x", "string:'a'"]),
        ("0x1F 0b01 0X1F 0B1 0xg", ["number:0x1F", "number:0b01", "word:0X1F", "word:0B1", "word:0xg"]),
        ("1 1.5 .5 5. 1e3 1E-3", [f"number:{n}" for n in ["1", "1.5", ".5", "5.", "1e3", "1E-3"]]),
        ("1a 2024_sales 5e", ["word:1a", "word:2024_sales", "word:5e"]),
        (
            "t.5 t.1a t .5",
            ["word:t", "operator:.", "word:5", "word:t", "operator:.", "word:1a", "word:t", "number:.5"],
        ),
        ("1e1UNION", ["illegal:1e1UNION"]),
        ("1.5x", ["illegal:1.5x"]),
        ("? :a", ["variable:?", "variable::a"]),
        (
            "@x @'q r' @`z` @@global.y @",
            ["session:@x", "session:@'q r'", "session:@`z`", "session:@@global.y", "illegal:@"],
        ),
        ("a:=1", ["word:a", "operator::=", "number:1"]),
        (
            "a->b->>c<=>d",
            ["word:a", "operator:->", "word:b", "operator:->>", "word:c", "operator:<=>", "word:d"],
        ),
        ("{d '1'}", ["operator:{", "word:d", "string:'1'", "operator:}"]),
        ("größe", ["word:größe"]),
        ("a$b $c", ["word:a$b", "word:$c"]),
        (r"1\G", ["number:1", "illegal:\\", "word:G"]),
        ("a\vb", ["word:a", "word:b"]),
    ],
)
def test_tokens_are_those_of_the_server(sql: str, tokens: list[str]) -> None:
    assert kinds(sql) == tokens


@pytest.mark.parametrize(
    "sql",
    [
        "/*! 1 */",
        "/*!50001 1 */",
        "/*M! 1 */",
        "/*m!100000 1 */",
        "/* never closed",
        "'never closed",
        r"'never closed\'",
        "`never closed",
        '"never closed',
        "a\0b",
        "'a\0b'",
        "/* \0 */",
        "a\u00a0b",
        "--\u2003x",
        "a\u3000b",
        "-- a\u2028b",
        "a\u200bb",
        "/* \u202e */",
        "-- a\rb",
        "# a\rb",
        "\ufeffSELECT",
        "1； 2",
        "‘x’",
        "a\x01b",
        "'\ud800'",
    ],
)
def test_what_hides_is_illegal(sql: str) -> None:
    assert any(token.kind is TokenKind.ILLEGAL and token.fault for token in lex(sql))


@pytest.mark.parametrize(
    "sql",
    ["'\u00a0'", "'☕ 👩‍👩‍👧'", "-- naïve ☕\n1", "-- a\r\n1", "/* a\r\nb */", "'a\rb'", "`\u00a0`", "größe"],
)
def test_letters_of_all_languages_are_fine_where_they_hide_nothing(sql: str) -> None:
    assert not any(token.kind is TokenKind.ILLEGAL for token in lex(sql))


@pytest.mark.parametrize(
    "hints",
    [
        "NO_INDEX_MERGE(t1) JOIN_ORDER(t1, t2@qb)",
        "MAX_EXECUTION_TIME(1000)",
        " QB_NAME(main) ",
        "semijoin(@sub FIRSTMATCH, LOOSESCAN)",
        "",
    ],
)
def test_hints_that_choose_a_plan_are_comments(hints: str) -> None:
    assert kinds(f"SELECT /*+{hints}*/ 1")[1].startswith("comment:")


@pytest.mark.parametrize(
    "hints",
    [
        "SET_VAR(sql_mode = 'ANSI_QUOTES')",
        "NO_ICP(t) set_var(max_execution_time = 0)",
        "MAX_EXECUTION_TIME(0)",
        "MAX_EXECUTION_TIME(99999999)",
        "MAX_EXECUTION_TIME(1e3)",
        "RESOURCE_GROUP(x)",
        "UNKNOWN(x)",
        "'",
        "NO_ICP(t",
    ],
)
def test_hints_that_change_more_are_illegal(hints: str) -> None:
    assert any(token.kind is TokenKind.ILLEGAL for token in lex(f"SELECT /*+ {hints} */ 1"))


pieces = st.sampled_from(
    [
        "'",
        '"',
        "`",
        "\\",
        "--",
        "-- ",
        "#",
        "/*",
        "*/",
        "/*!",
        "/*+",
        "\n",
        "\r",
        "\x00",
        " ",
        "a",
        "1",
        "1e",
        ".",
        "@",
        "@@",
        ":",
        ":=",
        "x'",
        "N'",
        "0x",
        "0b1",
        "_utf8",
        ";",
        "(",
        ")",
        "{",
        "}",
        "é",
        "\xa0",
        "�",
        "$",
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(pieces, max_size=30).map("".join)))
def test_the_lexer_is_total(sql: str) -> None:
    tokens = lex(sql)
    assert "".join(token.text for token in tokens) == sql
    assert [token.start for token in tokens] == [
        len("".join(t.text for t in tokens[:at])) for at in range(len(tokens))
    ]
    assert all(token.text for token in tokens)
