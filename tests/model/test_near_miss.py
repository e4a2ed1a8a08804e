"""Did you mean …? Spelling habits are not distance, and comparing has its limits."""

import difflib
from collections.abc import Iterator

import pytest

from callgate.model import near_miss
from callgate.model.near_miss import did_you_mean, did_you_mean_one_of, near_names, nearest

KNOWN = ("read_only", "write", "timeout_s", "orders", "order_items", "customers")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("readOnly", "read_only"), ("read-only", "read_only"), ("redonly", "read_only"), ("zzz", None)],
)
def test_the_nearest_word(word: str, meant: str | None) -> None:
    assert nearest(word, KNOWN) == meant


def test_several_candidates_come_nearest_first_and_at_most_three() -> None:
    assert near_names("ORDER", KNOWN)[0] == "orders"
    assert len(near_names("order", [f"order{n}" for n in range(9)])) == 3


def test_the_sentences() -> None:
    assert did_you_mean("wirte", KNOWN) == 'Did you mean "write"?'
    assert did_you_mean_one_of("ordrs", ["orders"]) == "Did you mean orders?"
    assert did_you_mean("zzz", KNOWN) == did_you_mean_one_of("zzz", KNOWN) == ""


def test_what_no_person_would_type_or_read_is_not_compared() -> None:
    assert near_names("x" * 201, ["x" * 201]) == []
    assert near_names("name1", [f"name{n}" for n in range(1_001)]) == []


def test_of_many_long_names_only_a_few_are_compared_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each such comparison costs a quarter of a millisecond: a caller could buy a thousand with one word."""
    compared = 0

    def counting(word: str, known: list[str], n: int, cutoff: float) -> list[str]:
        nonlocal compared
        compared += len(known)
        return difflib.get_close_matches(word, known, n=n, cutoff=cutoff)

    monkeypatch.setattr(near_miss, "get_close_matches", counting)
    known = [f"srv__{'abcdefghij' * 5}{n:04}" for n in range(1_000)]
    assert near_names(f"srv__{'abcdefghij' * 5}0500x", known)[0] == known[500]
    assert compared <= 20


def test_a_name_that_nobody_could_read_is_not_proposed() -> None:
    assert near_names("orders", ["orders" + "s" * 10_000, "order"]) == ["order"]


def test_names_beyond_the_limit_are_not_even_looked_at() -> None:
    looked_at = 0

    def names() -> Iterator[str]:
        nonlocal looked_at
        for n in range(200_000):
            looked_at += 1
            yield f"name{n}"

    assert near_names("name1", names()) == []
    assert looked_at <= 1_001
