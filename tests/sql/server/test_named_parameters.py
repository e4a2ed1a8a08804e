""":name in a statement: found where the engine would look for a value, and nowhere else."""

import pytest

from callgate.sql.engines.sqlite.dialect.dialect import SQLITE
from callgate.sql.named_parameters import read_templates


def numbered(number: int) -> str:
    return f"?{number}"


@pytest.mark.parametrize(
    ("sql", "bound", "names"),
    [
        ("SELECT :a", "SELECT ?1", ("a",)),
        ("SELECT :a + :b * :a", "SELECT ?1 + ?2 * ?3", ("a", "b", "a")),
        ("SELECT ':a', \":b\", [:c], `:d`", "SELECT ':a', \":b\", [:c], `:d`", ()),
        ("SELECT 1 /* :a */ -- :b\n, :c", "SELECT 1 /* :a */ -- :b\n, ?1", ("c",)),
        ("  SELECT :a ; -- the end :x", "SELECT ?1", ("a",)),
    ],
)
def test_parameters_are_found_outside_quotes_and_comments(
    sql: str, bound: str, names: tuple[str, ...]
) -> None:
    (template,) = read_templates(sql, SQLITE)
    assert template.with_placeholders(numbered) == bound
    assert template.names == names


def test_every_statement_has_its_own_parameters() -> None:
    first, second = read_templates("UPDATE t SET a = :x; SELECT ';', :y;", SQLITE)
    assert (first.with_placeholders(numbered), first.names) == ("UPDATE t SET a = ?1", ("x",))
    assert (second.with_placeholders(numbered), second.names) == ("SELECT ';', ?1", ("y",))


def test_a_parameter_never_becomes_one_token_with_its_neighbours() -> None:
    (template,) = read_templates("SELECT a:b, 1=:c, :d||'x', (:e)", SQLITE)
    assert template.with_samples(dict.fromkeys("bcde", "1")) == "SELECT a 1, 1= 1, 1 ||'x', (1)"
    assert template.with_placeholders(numbered) == "SELECT a ?1, 1= ?2, ?3 ||'x', (?4)"


def test_samples_stand_where_values_will() -> None:
    (template,) = read_templates("SELECT :a, :b", SQLITE)
    assert template.with_samples({"a": "1", "b": "'x'"}) == "SELECT 1, 'x'"
