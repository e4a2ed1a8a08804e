"""Whatever comes back as `requestState` is hostile until its seal was checked."""

from hypothesis import given
from hypothesis import strategies as st

from callgate.wire.sealed_claims import StateClaims, StateSeal

SEAL = StateSeal(b"k" * 32)
CLAIMS = StateClaims("gate", "handle", "ann", 1_800_000_000.5, "d" * 32)


def test_what_was_sealed_is_read_back() -> None:
    assert SEAL.open(SEAL.seal(CLAIMS)) == CLAIMS


def test_another_key_opens_nothing() -> None:
    assert StateSeal(b"x" * 32).open(SEAL.seal(CLAIMS)) is None


@given(st.data())
def test_no_change_of_a_single_character_passes(data: st.DataObject) -> None:
    state = SEAL.seal(CLAIMS)
    at = data.draw(st.integers(0, len(state) - 1))
    other = data.draw(st.characters().filter(lambda character: character != state[at]))
    assert SEAL.open(state[:at] + other + state[at + 1 :]) is None


@given(st.text())
def test_no_text_of_anybody_else_is_a_state(text: str) -> None:
    assert SEAL.open(text) is None
    assert SEAL.open(f"cg1.{text}") is None


def test_a_state_past_all_measure_is_not_even_read() -> None:
    assert SEAL.open("cg1." + "A" * 10_000_000) is None
