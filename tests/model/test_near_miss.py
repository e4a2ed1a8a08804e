"""Did you mean …? Spelling habits are not distance, and comparing has its limits."""

import pytest

from callgate.model.near_miss import did_you_mean, did_you_mean_one_of, near_names, nearest

KNOWN = ("read_only", "write", "timeout_s", "orders", "order_items", "customers")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("readOnly", "read_only"), ("read-only", "read_only"), ("redonly", "read_only"), ("zzz", None)],
)
def test_the_nearest_word(word, meant):
    assert nearest(word, KNOWN) == meant


def test_several_candidates_come_nearest_first_and_at_most_three():
    assert near_names("ORDER", KNOWN)[0] == "orders"
    assert len(near_names("order", [f"order{n}" for n in range(9)])) == 3


def test_the_sentences():
    assert did_you_mean("wirte", KNOWN) == 'Did you mean "write"?'
    assert did_you_mean_one_of("ordrs", ["orders"]) == "Did you mean orders?"
    assert did_you_mean("zzz", KNOWN) == did_you_mean_one_of("zzz", KNOWN) == ""


def test_what_no_person_would_type_or_read_is_not_compared():
    assert near_names("x" * 201, ["x" * 201]) == []
    assert near_names("name1", [f"name{n}" for n in range(1_001)]) == []
