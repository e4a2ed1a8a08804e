"""The lexer sees what PostgreSQL sees, and never fails."""

import pytest
from databases.database import Database
from hypothesis import given, settings
from hypothesis import strategies as st
from sql.postgres_client import ask_each

from callgate.sql.engines.postgres.dialect.lexer import lex
from callgate.sql.guard.tokens import Token, TokenKind, significant, word_set


def kinds(sql: str) -> list[str]:
    return [f"{token.kind}:{token.text}" for token in lex(sql) if token.kind is not TokenKind.SPACE]


@pytest.mark.parametrize(
    ("sql", "tokens"),
    [
        ("SELECT 1", ["word:SELECT", "number:1"]),
        ("a--b\nc", ["word:a", "comment:--b", "word:c"]),
        ("a--b\rc", ["word:a", "comment:--b", "word:c"]),
        ("/* a /* b */ c */d", ["comment:/* a /* b */ c */", "word:d"]),
        ("/*/**/", ["illegal:/*/**/"]),
        ("/**/ a /***/", ["comment:/**/", "word:a", "comment:/***/"]),
        ("'it''s'", ["string:'it''s'"]),
        (r"'\' 'x'", [r"string:'\'", "string:'x'"]),
        (r"E'\' 'q'", [r"string:E'\' '", "word:q", "illegal:'"]),
        (r"E'a\\' b", [r"string:E'a\\'", "word:b"]),
        ("e'a''b'", ["string:e'a''b'"]),
        (r"E'\u12'", [r"illegal:E'\u12'"]),
        (r"E'\ud83d\ude00'", [r"string:E'\ud83d\ude00'"]),
        (r"E'\ud83d'", [r"illegal:E'\ud83d'"]),
        (r"E'\xff'", [r"illegal:E'\xff'"]),
        (r"E'\0'", [r"illegal:E'\0'"]),
        ("'a'\n 'b'", ["string:'a'\n 'b'"]),
        ("'a' 'b'", ["string:'a'", "string:'b'"]),
        ("'a' -- c\n 'b'", ["string:'a' -- c\n 'b'"]),
        ("'a' /* */\n 'b'", ["string:'a'", "comment:/* */", "string:'b'"]),
        ("U&'d\\0061t'", ["string:U&'d\\0061t'"]),
        ("U&'d!0061t' UESCAPE '!'", ["string:U&'d!0061t' UESCAPE '!'"]),
        ("U&'d!0061t' /**/ uescape\n'!' x", ["string:U&'d!0061t' /**/ uescape\n'!'", "word:x"]),
        ("U&'a' UESCAPE '+'", ["illegal:U&'a'", "word:UESCAPE", "string:'+'"]),
        (r"U&'\00'", [r"illegal:U&'\00'"]),
        ('U&"d\\0061t"', ['quoted:U&"d\\0061t"']),
        ("U& 'a'", ["word:U", "operator:&", "string:'a'"]),
        ('"a""b"', ['quoted:"a""b"']),
        ('""', ['illegal:""']),
        ("B'01' x'fF'", ["blob:B'01'", "blob:x'fF'"]),
        ("B'2'", ["illegal:B'2'"]),
        ("N'a'", ["string:N'a'"]),
        ("n 'a'", ["word:n", "string:'a'"]),
        ("$$a$$", ["string:$$a$$"]),
        ("$a$ $$ $b$ $a$", ["string:$a$ $$ $b$ $a$"]),
        ("$é$x$é$", ["string:$é$x$é$"]),
        ("$A$x$a$", ["illegal:$A$x$a$"]),
        ("a$$b$$", ["word:a$$b$$"]),
        ("1$$a$$", ["number:1", "string:$$a$$"]),
        ("$1 $23", ["variable:$1", "variable:$23"]),
        ("$1a", ["illegal:$1a"]),
        ("$ a", ["illegal:$", "word:a"]),
        (
            "1 1.5 .5 5. 1e3 1.E-3 0xFf 0o7 0b1 1_000",
            [f"number:{n}" for n in ["1", "1.5", ".5", "5.", "1e3", "1.E-3", "0xFf", "0o7", "0b1", "1_000"]],
        ),
        ("1e", ["illegal:1e"]),
        ("12ab", ["illegal:12ab"]),
        ("1__0", ["illegal:1__0"]),
        ("1..2", ["number:1", "operator:..", "number:2"]),
        ("a::int", ["word:a", "operator:::", "word:int"]),
        ("f(a:=1,b=>2)", [f"{'word' if t.isalpha() else 'number' if t.isdigit() else 'operator'}:{t}"
                          for t in ["f", "(", "a", ":=", "1", ",", "b", "=>", "2", ")"]]),
        ("a[1:2]", ["word:a", "operator:[", "number:1", "operator::", "number:2", "operator:]"]),
        ("a=-1", ["word:a", "operator:=", "operator:-", "number:1"]),
        ("a@-1", ["word:a", "operator:@-", "number:1"]),
        ("a<>-1", ["word:a", "operator:<>", "operator:-", "number:1"]),
        ("a*--b\nc", ["word:a", "operator:*", "comment:--b", "word:c"]),
        ("a+/*b*/c", ["word:a", "operator:+", "comment:/*b*/", "word:c"]),
        ("a->>'b'", ["word:a", "operator:->>", "string:'b'"]),
        ("a#>>b", ["word:a", "operator:#>>", "word:b"]),
        ("größe a$b _x", ["word:größe", "word:a$b", "word:_x"]),
        ("{a}", ["illegal:{", "word:a", "illegal:}"]),
        ("a\\b", ["word:a", "illegal:\\", "word:b"]),
        ("a\x0bb", ["word:a", "illegal:\x0b", "word:b"]),
        ("'a", ["illegal:'a"]),
        ('"a', ['illegal:"a']),
        ("/* a", ["illegal:/* a"]),
    ],
)  # fmt: skip
def test_tokens_are_cut_as_postgres_cuts_them(sql: str, tokens: list[str]) -> None:
    assert kinds(sql) == tokens


@pytest.mark.parametrize(
    "char", ["\u00a0", "\u2003", "\u3000", "\u2028", "\ufeff", "\u200b", "\u00ad", "\x00"]
)
def test_blanks_that_are_none_are_refused_outside_quotes(char: str) -> None:
    assert TokenKind.ILLEGAL in {token.kind for token in lex(f"SELECT{char}1")}


def test_names_are_folded_as_postgres_folds_them() -> None:
    names = [token.name for token in significant(lex("Abc \"Abc\" U&\"\\0041bc\" \u212a 'It''s' $$x$$"))]
    assert names == ["abc", "Abc", "Abc", "\u212a", "It's", "x"]


PIECES = word_set(
    r"""
    SELECT -- /* */ ' " ` [ ] ; ( ) E' U&' U&" UESCAPE B' X' N' $$ $a$ $é$ $1 0x 1e . .. :: := -> ! { \ \' ''
    é 1 a + - @ |
    """
)
sql_soup = st.lists(
    st.one_of(
        st.sampled_from([*sorted(PIECES), " ", "\n", "\r", "\u00a0", "\ufeff", "\x00"]),
        st.text(max_size=3),
    ),
    max_size=40,
).map("".join)


@given(st.one_of(st.text(), sql_soup))
def test_the_lexer_is_total_and_loses_nothing(text: str) -> None:
    tokens = lex(text)
    assert "".join(token.text for token in tokens) == text
    assert all(token.text for token in tokens)
    at = 0
    for token in tokens:
        assert token.start == at
        at = token.end


# Each is one literal; the engine says what it stands for.
LITERALS = [
    "'it''s'",
    r"'a\nb\'",
    r"E'a\tb\\c\'d''e'",
    r"E'\101\x41\u0041\U00000041\q'",
    r"E'\303\251\xc3\xa9'",
    r"E'\ud83d\ude00'",
    "E'a'\n'\\x42'",
    "'a'\n\n  'b'",
    "'a' -- c\r\n -- d\n 'b'",
    r"U&'d\0061t\+000061 \\ \d83d\de00'",
    "U&'d!0061t!!' UESCAPE '!'",
    "U&'d^0061t\\' uescape /* x */ '^'",
    "U&'a''b'\n'\\0063'",
    "$$it's \\ $x$ $$",
    "$é$ $e$ $$ $é$",
    "$a_1$ $a$ $a_1$",
    "N'abc'",
    "'größe 日本 🙂'",
    "'a--b/*c*/d;e'",
]


def test_the_engine_reads_each_literal_as_the_lexer_does(postgres: Database) -> None:
    answers = ask_each(
        postgres, "postgres", *(f"SELECT encode(convert_to({each}, 'UTF8'), 'hex')" for each in LITERALS)
    )
    for literal, answer in zip(LITERALS, answers, strict=True):
        (token,) = lex(literal)
        assert token.kind is TokenKind.STRING, literal
        assert answer.strip() == token.name.encode().hex(), literal


# Each is one name; the engine says under which it is known.
NAMES = [
    '"A b"',
    'U&"d\\0061t!"',
    "U&\"d!0061t\" UESCAPE '!'",
    "MiXed",
    "größe",
    "_a$1",
    '"a""b"',
    "ÄÖ",
    "a$$b$$",
]


def test_the_engine_reads_each_name_as_the_lexer_does(postgres: Database) -> None:
    texts = [f"SELECT row_to_json(x)::text FROM (SELECT 1 AS {name}) x" for name in NAMES]
    for name, answer in zip(NAMES, ask_each(postgres, "postgres", *texts), strict=True):
        (token,) = lex(name)
        escaped = token.name.replace('"', '\\"')
        assert answer.strip() == f'{{"{escaped}":1}}', name


# Operators and comments glued together: the sum says where the engine cut.
SUMS = [
    "5-2", "5--2\n-1", "5 -/**/-2", "5+-2", "5*-2", "2^(-1)", "5+/*-1*/2", "5-/*/**/*/2", "5 %2", "7/-2",
    "@ -3", "1 -- \r+1", "|/4-2", "-5+3", "5 - - 2", "abs(-1)-1", "1=-1", "1<>-1", "3 != -3", "6/*x*//2",
    "2*/**/3",
]  # fmt: skip


def spaced(tokens: tuple[Token, ...]) -> str:
    """The same with the lexer's own cuts made visible."""
    return " ".join(token.text for token in significant(tokens))


def test_the_engine_cuts_operators_where_the_lexer_cuts_them(postgres: Database) -> None:
    answers = ask_each(postgres, "postgres", *(f"SELECT {each}" for each in SUMS))
    again = ask_each(postgres, "postgres", *(f"SELECT {spaced(lex(each))}" for each in SUMS))
    assert answers == again
    assert not [answer for answer in answers if "ERROR" in answer]


REFUSED_BY_BOTH = [
    "'a", '"a', "/* a", "$a$x$A$", r"E'\u12'", r"E'\ud83d'", r"E'\0'", r"U&'\00zz'", "U&'a' UESCAPE '+'",
    "B'2'", '""', "1a", "1e", r"U&'\d83d'", r"E'\xff'", "{", "SELECT 1 \\ 2",
]  # fmt: skip


def test_what_the_lexer_calls_illegal_the_engine_refuses_too(postgres: Database) -> None:
    for each, answer in zip(REFUSED_BY_BOTH, ask_each(postgres, "postgres", *REFUSED_BY_BOTH), strict=True):
        assert TokenKind.ILLEGAL in {token.kind for token in lex(each)}, each
        assert "ERROR:" in answer, each


@settings(max_examples=25)
@given(st.lists(sql_soup, min_size=20, max_size=20))
def test_the_engine_never_finds_a_second_statement_where_the_lexer_sees_one(
    postgres: Database, soups: list[str]
) -> None:
    texts = [
        f"SELECT 'here' AS a WHERE false {soup}"
        for soup in soups
        if not any(token.kind is TokenKind.ILLEGAL or token.is_operator(";") for token in lex(soup))
    ]
    if not texts:
        return
    # Prepared statements may hold one command only: the engine itself says when there are more.
    quoted = [f"PREPARE p{number} AS {text}" for number, text in enumerate(texts)]
    for text, answer in zip(quoted, ask_each(postgres, "postgres", *quoted), strict=True):
        assert "multiple commands" not in answer, text
