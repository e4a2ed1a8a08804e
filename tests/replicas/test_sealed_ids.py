"""Ids that any replica judges alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.replicas.sealed_ids import SealedIds, directory_key, joined

KEY = b"0123456789abcdef0123456789abcdef"
IDS = SealedIds(KEY, "AAAAAAAA", 1800.0)
PARTS = ("ann", "claude", "1", None, "http", None)


def test_every_replica_reads_the_home_in_an_id_of_any_other() -> None:
    made = IDS.new_handshake_id("ann")
    assert len(made) == 79
    assert SealedIds(KEY, "BBBBBBBB", 60.0).home_in(made, "ann") == "AAAAAAAA"


def test_an_id_is_of_one_principal_one_home_and_one_key() -> None:
    made = IDS.new_handshake_id("ann")
    assert IDS.home_in(made, "bob") is None
    assert IDS.home_in(made.replace("AAAAAAAA", "BBBBBBBB"), "ann") is None
    assert SealedIds(KEY[::-1], "AAAAAAAA", 60.0).home_in(made, "ann") is None


@given(st.text(max_size=200))
def test_no_other_text_is_an_id(text: str) -> None:
    assert IDS.home_in(text, "ann") is None
    assert IDS.home_in(f"cg2.{text}", "ann") is None


def test_every_changed_character_breaks_an_id() -> None:
    made = IDS.new_handshake_id("ann")
    for at in range(len(made)):
        other = "B" if made[at] != "B" else "C"
        changed = made[:at] + other + made[at + 1 :]
        # The last digit of a mac holds four bits that nothing says: only what decodes alike may pass.
        assert IDS.home_in(changed, "ann") is None, at
        assert IDS.home_in(made[:at], "ann") is None
    assert IDS.home_in(made + "A", "ann") is None
    assert IDS.home_in("cg2." + "A" * 8192, "ann") is None


def test_two_replicas_make_the_same_modern_id_without_talking() -> None:
    one, other = IDS.modern(PARTS, 3600.0), SealedIds(KEY, "BBBBBBBB", 1800.0).modern(PARTS, 5399.9)
    assert one == other
    assert IDS.modern(PARTS, 5400.0)[0] == one[0]
    assert IDS.modern(PARTS, 5400.0)[1] != one[1]


@pytest.mark.parametrize("at", range(len(PARTS)))
def test_each_part_makes_another_session(at: int) -> None:
    parts = tuple("other" if number == at else part for number, part in enumerate(PARTS))
    assert IDS.modern(parts, 0.0) != IDS.modern(PARTS, 0.0)


def test_no_part_can_pretend_to_be_two() -> None:
    assert joined(("a,1:b", None)) != joined(("a", "b", None))
    assert joined((None,)) != joined(("",)) != joined(("-",))


def test_the_directory_does_not_learn_the_id() -> None:
    made = IDS.new_handshake_id("ann")
    assert made.split(".")[2] not in directory_key(made)
