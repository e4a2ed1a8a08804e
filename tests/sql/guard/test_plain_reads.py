"""Plain reads: what is judged without the parser is judged as the guard in full judges it."""

import inspect
import re
from random import Random
from typing import Any

import pytest
import sqlglot.dialects.dialect
import sqlglot.parser
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sql.corpus_files import DIALECTS, load_all, policy_for
from sql.other_values import seen, with_other_values
from sql.plain_statements import NAMES, TELLING, PlainStatements
from sqlglot.parsers import duckdb, mysql, postgres, sqlite

from callgate.model.verdict import Allow, Deny
from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.mysql.dialect.dialect import MYSQL
from callgate.sql.engines.postgres.dialect.dialect import POSTGRES
from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.judge import judge, judge_in_full, judge_plainly
from callgate.sql.guard.plain_reads import read_plainly
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.special_words import SPECIAL_WORDS
from callgate.sql.guard.tokens import word_set
from callgate.sql.server.verdicts import Verdicts

CORPORA = load_all("honest") + load_all("attacks")
SEEDS = st.integers(min_value=0, max_value=2**32)
# Known to sqlglot or an engine for something, and still names in every place of a plain read.
ORDINARY = word_set(
    """
    action big code count data date day event h i level location max min month name one owner path region role
    s source status t target title type value version w week x y year
    """
)
# Each place of a plain read in which a name may stand.
PLACES = (
    "SELECT {} FROM t1",
    "SELECT a, {} FROM t1",
    "SELECT a AS {} FROM t1",
    "SELECT a {} FROM t1",
    "SELECT 5 {}, b FROM t1",
    "SELECT {}.a FROM t1",
    "SELECT t1.{} FROM t1",
    "SELECT {}.* FROM t1",
    "SELECT count({}) FROM t1",
    "SELECT coalesce({}, 'x') FROM t1",
    "SELECT {} + 1, 1 - {} FROM t1",
    "SELECT a FROM {}",
    "SELECT a FROM {}.t1",
    "SELECT a FROM s1.{}",
    "SELECT a FROM t1 {}",
    "SELECT a FROM t1 AS {} WHERE a = 1",
    "SELECT a FROM t1, {} b1 WHERE a = 1",
    "SELECT a FROM t1 JOIN t2 {} ON a = b LEFT JOIN {} ON {} = c",
    "SELECT a FROM (SELECT a FROM t1) {}",
    "SELECT a FROM t1 WHERE {} = 1 AND 'x' <> {} OR {} IS NULL",
    "SELECT a FROM t1 WHERE {} IN (1, 2) AND {} LIKE 'x%' AND {} BETWEEN {} AND {}",
    "SELECT a FROM t1 WHERE NOT {} AND {}",
    "SELECT CASE {} WHEN 1 THEN {} ELSE {} END FROM t1",
    "SELECT CASE WHEN {} THEN {} END {} FROM t1",
    "SELECT a FROM t1 GROUP BY {}, a HAVING {} > 1 ORDER BY {} DESC, a LIMIT 5",
    "SELECT sum(a) OVER (PARTITION BY {} ORDER BY {}) {} FROM t1",
    "WITH {} AS (SELECT a FROM t1) SELECT a FROM {}",
)


def holds(text: str, policy: Policy) -> bool:
    """Whether it is plain; then both ways to judge it must agree."""
    plain = judge_plainly(text, policy)
    if plain is None:
        return False
    assert seen(plain) == seen(judge_in_full(text, policy)), (policy.dialect.name, text)
    return True


@given(SEEDS, st.sampled_from((0.0, 0.01, 0.05)))
@settings(max_examples=examples(150))
def test_a_plain_read_is_judged_as_in_full(seed: int, oddity: float) -> None:
    text = PlainStatements(Random(seed), oddity).statement()
    for dialect in DIALECTS:
        holds(text, Policy(dialect))


def test_most_of_what_the_property_makes_up_without_oddities_is_plain() -> None:
    random = Random(5)
    plain = sum(
        judge_plainly(PlainStatements(random, 0.0).statement(), Policy(SQLITE)) is not None
        for _ in range(200)
    )
    assert plain > 40, "else the property shows nothing"


@given(st.sampled_from(CORPORA), SEEDS)
@settings(max_examples=examples(100))
def test_the_corpora_with_other_values_are_judged_as_in_full(
    case: tuple[Dialect, dict[str, Any]], seed: int
) -> None:
    dialect, entry = case
    holds(with_other_values(entry["sql"], dialect, Random(seed)), policy_for(dialect, entry))


def test_no_attack_of_the_corpora_is_plain_and_honest_ones_agree() -> None:
    for dialect, entry in load_all("attacks"):
        assert judge_plainly(entry["sql"], policy_for(dialect, entry)) is None, entry["sql"]
    plain = [holds(entry["sql"], policy_for(dialect, entry)) for dialect, entry in load_all("honest")]
    assert sum(plain) > 100


@given(SEEDS)
@settings(max_examples=examples(60))
def test_other_values_of_a_plain_shape_are_judged_as_in_full(seed: int) -> None:
    random = Random(seed)
    text = PlainStatements(random, 0.0).statement()
    for dialect in DIALECTS:
        policy = Policy(dialect)
        verdicts = Verdicts(policy)
        verdicts.judge(text)
        for _ in range(3):
            other = with_other_values(text, dialect, random)
            assert seen(verdicts.judged(other)) == seen(judge_in_full(other, policy)), (
                dialect.name,
                text,
                other,
            )


def said_plain(sql: str, policy: Policy) -> bool:
    """Whether a driver is told so, by any way to a verdict. Then the text itself is plain, and alone."""
    verdicts = Verdicts(policy)
    judgements = [judge(sql, policy), judge_in_full(sql, policy), *(verdicts.judged(sql) for _ in range(2))]
    told = [statement for each in judgements for statement in each.statements if statement.is_plain_read]
    for statement in told:
        assert read_plainly(sql, policy) is not None, (policy.dialect.name, sql)
        assert read_plainly(statement.text, policy) == statement
    assert all(len(each.statements) == 1 for each in judgements) or not told
    return bool(told)


@given(SEEDS, st.sampled_from((0.0, 0.01, 0.05)))
@settings(max_examples=examples(60))
def test_a_driver_is_told_of_plain_reads_alone(seed: int, oddity: float) -> None:
    random = Random(seed)
    text = PlainStatements(random, oddity).statement()
    for dialect in DIALECTS:
        said_plain(text, Policy(dialect))
        said_plain(with_other_values(text, dialect, random), Policy(dialect))


def test_a_driver_is_told_of_no_attack_that_it_is_plain() -> None:
    assert not any(
        said_plain(entry["sql"], policy_for(dialect, entry)) for dialect, entry in load_all("attacks")
    )
    plain = [said_plain(entry["sql"], policy_for(dialect, entry)) for dialect, entry in load_all("honest")]
    assert sum(plain) > 100


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_another_text_of_a_plain_shape_is_told_to_be_plain_as_well(dialect: Dialect) -> None:
    verdicts = Verdicts(Policy(dialect))
    for value in ("1", "2", "'" + "x" * 2000 + "'", "2000"):
        (statement,) = verdicts.judged(f"SELECT a FROM t1 WHERE b = {value}").statements
        assert statement.is_plain_read == (len(value) < 2000)
        (statement,) = verdicts.judged(f"SELECT a /* c */ FROM t1 WHERE b = {value}").statements
        assert not statement.is_plain_read


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_word_that_means_something_is_never_taken_for_a_name(dialect: Dialect) -> None:
    policy = Policy(dialect)
    for word in SPECIAL_WORDS:
        assert judge_plainly(f"SELECT {word}.a1 FROM t1", policy) is None, word
        assert judge_plainly(f"SELECT a1 FROM t1.{word}", policy) is None, word


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_an_ordinary_word_is_a_name_in_every_place(dialect: Dialect) -> None:
    policy = Policy(dialect)
    for place in PLACES:
        for word in sorted(ORDINARY | {name.lower() for name in NAMES}):
            assert holds(place.replace("{}", word), policy), place.replace("{}", word)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_name_that_a_rule_looks_for_is_judged_as_in_full(dialect: Dialect) -> None:
    vocabulary = dialect.vocabulary
    hidden = {table.rpartition(".")[2] for table in vocabulary.hidden_tables} | set(vocabulary.hidden_schemas)
    hidden |= {f"{prefix}x" for prefix in vocabulary.hidden_prefixes} | vocabulary.telling_names
    names = sorted(name for name in hidden | set(TELLING) if name.isidentifier())
    for place in PLACES:
        for name in names:
            is_plain = holds(place.replace("{}", name), Policy(dialect))
            assert not (is_plain and name in hidden), (place, name)


def test_no_rule_for_tables_is_left_out() -> None:
    text = "SELECT a FROM shop.t1 JOIN t2 ON t2.id = t1.id"
    assert not holds(text, Policy(MYSQL, require_qualified=True))
    assert holds(text.replace("t2 ON", "shop.t2 ON"), Policy(MYSQL, require_qualified=True))
    assert not holds(text, Policy(MYSQL, only_tables=frozenset({"shop.t1"})))
    assert holds(text, Policy(MYSQL, only_tables=frozenset({"shop.t1", "t2"})))
    assert not holds("SELECT a FROM general_log", Policy(MYSQL, schema="mysql"))
    assert not holds("SELECT a FROM t1", Policy(POSTGRES, schema="pg_toast"))
    assert not holds("SELECT a FROM sales.csv", Policy(DUCKDB))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_letter_above_ascii_is_a_part_of_a_name(dialect: Dialect) -> None:
    """Python makes letters of ASCII of some of them, in upper case. Engines read `userſ` as one name."""
    above = [letter for letter in map(chr, range(0x80, 0x10000)) if letter.upper()[0].isascii()]
    assert "\u017f" in above
    places = ("a FROM t1{}", "a FROM {}t1", "a FROM s1.{}t1", "a{} FROM t1", "t1.{} FROM t1", "{} FROM t1")
    for letter in above:
        for place in places:
            assert judge_plainly("SELECT " + place.format(letter), Policy(dialect)) is None, letter
        assert holds(f"SELECT a FROM t1 WHERE b = '{letter}'", Policy(dialect))


def test_a_hidden_table_is_hidden_in_other_letters_too() -> None:
    for name in ("user_variable\u017f", "u\u017fer_variables"):
        assert not judge(f"SELECT * FROM information_schema.{name}", Policy(MYSQL)).allowed


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t -- c",
        "SELECT a FROM t /* c */",
        "SELECT a FROM t; SELECT b FROM t",
        "SELECT a FROM t WHERE b = ?",
        "SELECT a FROM t WHERE b = 'it''s'",
        "SELECT a FROM t WHERE b = 'c\\'",
        "SELECT a FROM t WHERE b = 'c' 'd'",
        "SELECT a FROM t WHERE b = x'41'",
        "SELECT a FROM t WHERE b = date '2024-01-01'",
        "SELECT a FROM t WHERE b = 1e5",
        "SELECT a FROM t WHERE b =-1",
        "SELECT a FROM t FOR UPDATE",
        "SELECT a INTO b FROM t",
        "SELECT count (a) FROM t",
        "SELECT sum(a) OVER (PARTITION BY (b)) FROM t",
        "SELECT evil(a) FROM t",
        "SELECT (a).b FROM t",
        "SELECT a FROM 't'",
        "SELECT a FROM t WHERE b = 'c\0'",
        "SELECT a FROM t WHERE b = \0",
        "SELECT a FROM t\u00a0WHERE b = 1",
        "\u017felect a FROM t",
        "DELETE FROM t",
        "",
        ";",
        "SELECT",
        "SELECT " + "(" * 10 + "1" + ")" * 10,
        "SELECT a FROM t WHERE b IN (" + ", ".join("1" * 900) + ")",
    ],
)
def test_what_is_not_plain(dialect: Dialect, text: str) -> None:
    assert judge_plainly(text, Policy(dialect)) is None


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_text_that_ends_anywhere_has_a_verdict(dialect: Dialect) -> None:
    whole = (
        "WITH a1 AS (SELECT count(*) AS n1, CASE WHEN b1 = 1 THEN 'x' ELSE 2 END FROM s1.t1 x1 WHERE c1 IN (1"
        ") GROUP BY b1 HAVING count(*) > 1), b2 AS (SELECT 1) SELECT DISTINCT a1.*, b1 + - 2 FROM a1 LEFT"
        " OUTER JOIN (SELECT 1 FROM s1.t2) AS y1 ON a1.n1 = y1.n1 CROSS JOIN s1.t3 ORDER BY 1 DESC LIMIT 5"
        " OFFSET 6 UNION ALL SELECT 3"
    )
    ends = [place for place, character in enumerate(f"{whole} ") if character == " "]
    for end in (0, *ends):
        for behind in ("", " (", ","):
            text = whole[:end] + behind
            assert isinstance(judge(text, policy_for(dialect, {})).verdict, Allow | Deny), text


def test_every_word_of_sqlglot_and_of_our_dialects_is_on_the_list() -> None:
    """A newer sqlglot knows further words: add them to the list."""
    words: set[str] = set()
    for module in (sqlglot.parser, mysql, postgres, sqlite, duckdb):
        words.update(" ".join(re.findall(r'"([A-Z_][A-Z_ 0-9]*)"', inspect.getsource(module))).split())
    for dialect in DIALECTS:
        parser = sqlglot.dialects.dialect.Dialect.get_or_raise(dialect.parser_name)
        keywords = " ".join(parser.tokenizer_class.KEYWORDS)
        words.update(re.findall(r"[A-Z_][A-Z_0-9]*", keywords.upper()))
        vocabulary, grammar = dialect.vocabulary, dialect.grammar
        ours = (vocabulary.call_keywords, vocabulary.definition_keywords, vocabulary.type_names)
        for known in (*ours, grammar.verbs, grammar.forms):
            words.update(word.upper() for word in known if word.isidentifier())
    missing = words - SPECIAL_WORDS - {word.upper() for word in ORDINARY}
    assert not missing, sorted(missing)
    assert not SPECIAL_WORDS & {word.upper() for word in ORDINARY}
